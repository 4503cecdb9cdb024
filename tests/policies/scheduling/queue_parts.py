"""Small queues and gangs for the tests of quotas, shares and order."""

from collections.abc import Mapping, Sequence

from policies.scheduling.demands import demand
from policies.scheduling.model import QueueRules, Quota, Request, Role, Shape
from policies.scheduling.order import Round
from policies.scheduling.quotas import Quotas
from policies.scheduling.shares import Past, nothing
from policies.scheduling.waiting import Waiting

GPU = 1000  # parts


def queue(name: str, parent: str | None = None, weight: float = 1.0, **quotas: Quota) -> QueueRules:
    """Resources by keyword; `a100` stands for `gpu/a100`."""
    named = {name if name in ("cpu", "memory", "gpu") else f"gpu/{name}": quota for name, quota in quotas.items()}
    return QueueRules(name, parent, weight, named)


def gang(
    name: str, to: str, cpu: int = 0, gpus: int = 0, *, memory: int = 0, pods: int = 1, priority: int = 0, at: int = 0
) -> Request:
    """`cpu`, `memory` and `gpus` of each pod, in the tests' own units: whole processors are not needed here."""
    return Request(name, to, (Role("main", pods, Shape(cpu, memory, gpus)),), submitted=at, priority=priority)


def start_all(waiting: Waiting, quotas: Quotas, running: dict[str, Request], past: Past = nothing) -> list[str]:
    """One round in a pool where everything that is within limits finds room. What starts leaves `waiting`."""
    made = Round(waiting, quotas, past)
    started = []
    for number in made:
        request = waiting.request(number)
        made.started(number)
        running[request.id] = request
        started.append(request.id)
    for name in started:
        waiting.remove(name)
    return started


def used(quotas: Quotas, names: Sequence[str], resource: str) -> list[int]:
    return [quotas.used(name, resource) for name in names]


def end(quotas: Quotas, running: dict[str, Request], name: str) -> None:
    request = running.pop(name)
    quotas.remove(request.queue, demand(request))


def limits(amount: int, resource: str = "cpu") -> Mapping[str, Quota]:
    return {resource: Quota(limit=amount)}
