"""When would my job start if …? The same trace is run twice, once with the change."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from definitions.errors import PerdureError
from policies.scheduling.model import WHOLE, Node, QueueRules, Quota
from simulator.admitting import CODE
from simulator.setting import Setting

FORM = "write queue=NAME,gpus=+8, or nodes=+1"
WHERE = "--what-if"


@dataclass(frozen=True, slots=True)
class Change:
    """`gpus` more for a queue: its guarantee, and its limit where it has one. Or so many `nodes` more, all like the
    last. Less than 0 takes away."""

    queue: str | None = None
    gpus: int = 0
    nodes: int = 0


def change_of(text: str) -> Change:
    """Raises PD-4015 for a text that is none of the two forms."""
    if found := re.fullmatch(r"queue=([^,=]+),gpus=([+-]\d{1,6})", text):
        return Change(queue=found[1], gpus=int(found[2]))
    if found := re.fullmatch(r"nodes=([+-]\d{1,6})", text):
        return Change(nodes=int(found[1]))
    raise PerdureError(CODE, f"{text!r} is no change that can be tried", where=WHERE, remedy=f"{FORM.capitalize()}.")


def changed(setting: Setting, change: Change) -> Setting:
    """The setting with the change made. Raises PD-4015 when it cannot be."""
    if change.queue is None:
        return replace(setting, nodes=_nodes(setting.nodes, change.nodes))
    if not setting.documented:
        what = "no queue has a quota, so none can get more of it"
        raise PerdureError(CODE, what, where=WHERE, remedy="Give documents of queues with -f, or write nodes=+1.")
    names = [queue.name for queue in setting.queues]
    if change.queue not in names:
        what = f"there is no queue {change.queue}; there are {', '.join(names)}"
        raise PerdureError(CODE, what, where=WHERE, remedy=f"{FORM.capitalize()}.")
    queues = [_more(queue, change.gpus) if queue.name == change.queue else queue for queue in setting.queues]
    return replace(setting, queues=tuple(queues))


def _nodes(nodes: Sequence[Node], more: int) -> tuple[Node, ...]:
    if more < 0:
        kept = nodes[: max(0, len(nodes) + more)]
        if not kept:
            raise PerdureError(CODE, "no node would be left", where=WHERE, remedy="Take fewer away.")
        return tuple(kept)
    return (*nodes, *(replace(nodes[-1], name=f"{nodes[-1].name}-more-{number}") for number in range(more)))


def _more(queue: QueueRules, gpus: int) -> QueueRules:
    """In what counts all GPUs where the queue has such a quota; else in each model's."""
    found = [resource for resource in queue.quotas if resource == "gpu"] or [
        resource for resource in queue.quotas if resource.startswith("gpu/")
    ]
    if not found:
        raise PerdureError(
            CODE, f"{queue.name} has no quota of GPUs", where=WHERE, remedy="Give it one in its document."
        )
    quotas = {**queue.quotas, **{resource: _raised(queue.quotas[resource], gpus * WHOLE) for resource in found}}
    return replace(queue, quotas=quotas)


def _raised(quota: Quota, by: int) -> Quota:
    limit = None if quota.limit is None else max(0, quota.limit + by)
    return replace(quota, guarantee=max(0, quota.guarantee + by), limit=limit)
