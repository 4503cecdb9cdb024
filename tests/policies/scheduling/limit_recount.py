"""A slow second opinion on limits: what each queue uses at every moment, with none of the scheduler's own code."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from policies.scheduling.model import WHOLE, Node, QueueRules, Quota
from tests.policies.scheduling.recount import Placed

Used = dict[str, int]  # by queue, its own gangs alone


def over_limits(
    queues: Sequence[QueueRules], nodes: Sequence[Node], placed: Iterable[Placed], resources: Sequence[str]
) -> list[str]:
    """Every moment at which a queue, or the pool for what is never lent, has more than it may."""
    rows = list(placed)
    moments = sorted({row.start for row in rows})
    return [
        f"at {moment}: {text}"
        for moment in moments
        for resource in resources
        for text in _over(queues, nodes, [row for row in rows if row.start <= moment < row.over], resource)
    ]


def amount(row: Placed, resource: str, models: Mapping[str, str]) -> int:
    """What a gang's pods take of a resource where they are."""
    total = 0
    for pod in row.pods:
        shape = row.request.roles[pod.role].shape
        gpu = shape.gpus * shape.share
        total += {"cpu": shape.cpu, "gpu": gpu, f"gpu/{models[pod.node]}": gpu}.get(resource, 0)
    return total


def _over(queues: Sequence[QueueRules], nodes: Sequence[Node], live: Sequence[Placed], resource: str) -> Iterator[str]:
    models, own = {node.name: node.model for node in nodes}, defaultdict[str, int](int)
    for row in live:
        own[row.request.queue] += amount(row, resource, models)
    for queue in queues:
        quota = queue.quotas.get(resource, Quota())
        used = sum(own[name] for name in _below(queues, queue.name))
        if quota.limit is not None and used > quota.limit:
            yield f"{queue.name} uses {used} of {quota.limit} {resource}"
        guarantee, inner = _sum(queues, queue, resource), _occupied_below(queues, queue.name, resource, own)
        most = [] if quota.borrowing is None else [guarantee + quota.borrowing]
        most += [] if quota.limit is None else [quota.limit]
        felt = own[queue.name] + inner
        if most and felt > max(min(most), _kept(queues, queue, resource)):
            yield f"{felt} {resource} of {min(most)} are used or kept in {queue.name}"
    kept = sum(_kept(queues, queue, resource) for queue in _children(queues, None))
    capacity = sum({"cpu": node.cpu, "gpu": node.gpus * WHOLE}.get(resource, 0) for node in nodes)
    occupied = _occupied_below(queues, None, resource, own)
    if kept and resource in ("cpu", "gpu") and occupied > max(capacity, kept):
        yield f"{occupied} {resource} of {capacity} are used or kept"


def _children(queues: Sequence[QueueRules], name: str | None) -> list[QueueRules]:
    return [queue for queue in queues if queue.parent == name]


def _below(queues: Sequence[QueueRules], name: str) -> list[str]:
    return [name, *(each for child in _children(queues, name) for each in _below(queues, child.name))]


def _sum(queues: Sequence[QueueRules], queue: QueueRules, resource: str) -> int:
    """Its guarantee, or those of the queues below it, whichever is more."""
    below = sum(_sum(queues, child, resource) for child in _children(queues, queue.name))
    return max(queue.quotas.get(resource, Quota()).guarantee, below)


def _kept(queues: Sequence[QueueRules], queue: QueueRules, resource: str) -> int:
    """The part of its guarantee that it never lends, or what those below it keep."""
    lending = queue.quotas.get(resource, Quota()).lending
    mine = 0 if lending is None else max(0, _sum(queues, queue, resource) - lending)
    return max(mine, sum(_kept(queues, child, resource) for child in _children(queues, queue.name)))


def _occupied_below(queues: Sequence[QueueRules], name: str | None, resource: str, own: Mapping[str, int]) -> int:
    return sum(
        max(_kept(queues, child, resource), own[child.name] + _occupied_below(queues, child.name, resource, own))
        for child in _children(queues, name)
    )
