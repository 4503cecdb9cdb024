"""The tree that Queue documents form, and the quotas of each queue in it.

A queue that does not say what it is guaranteed is guaranteed what the queues below it are together, and of GPUs of all
flavors at least what it is of each.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from definitions.quantities import format_cpus, format_size
from definitions.queue import CpuQuota, GpuQuota, MemoryQuota, Queue
from definitions.scheduling_types import spelled_gpus
from definitions.spec_fields import Loc
from policies.scheduling.model import Quota

Stated = GpuQuota | CpuQuota | MemoryQuota
QUOTAS: Loc = ("spec", "quotas")


class Resource(NamedTuple):
    """What a quota is about, by its place in the document."""

    loc: Loc  # below the document

    def key(self, models: Mapping[str, str]) -> str:
        """As the scheduler counts it. `models`: flavors to models of GPU."""
        last = str(self.loc[-1])
        if self.loc[-2] == "flavors":
            return f"gpu/{models[last]}"
        return {"cpus": "cpu", "gpus": "gpu"}.get(last, last)

    def spelled(self, amount: int) -> str:
        last = self.loc[-1]
        if last == "cpus":
            return f"{format_cpus(amount)} processors"
        if last == "memory":
            return f"{format_size(amount)} of memory"
        of = f" of {last}" if self.loc[-2] == "flavors" else ""
        return f"{spelled_gpus(amount)} GPUs{of}"


ALL_GPUS = Resource((*QUOTAS, "gpus"))


def stated(queue: Queue) -> dict[Resource, Stated]:
    """The quotas that a document gives."""
    quotas = queue.spec.quotas
    found: dict[Resource, Stated] = {}
    for name, quota in (("cpus", quotas.cpus), ("memory", quotas.memory), ("gpus", quotas.gpus)):
        if quota is not None:
            found[Resource((*QUOTAS, name))] = quota
    for flavor, of_flavor in quotas.flavors.items():
        found[Resource((*QUOTAS, "flavors", flavor))] = of_flavor
    return found


def children(queues: Sequence[Queue]) -> dict[str, list[Queue]]:
    """Queues by the one directly above them."""
    found: dict[str, list[Queue]] = {queue.metadata.name: [] for queue in queues}
    for queue in queues:
        if queue.spec.parent is not None:
            found[queue.spec.parent].append(queue)
    return found


def parents_first(queues: Sequence[Queue]) -> Iterator[Queue]:
    """Every queue after the one above it, siblings in the order of the documents."""
    below = children(queues)
    waiting = [queue for queue in queues if queue.spec.parent is None]
    for queue in waiting:  # grows on the way
        yield queue
        waiting += below[queue.metadata.name]


def guarantees(queues: Sequence[Queue]) -> dict[str, dict[Resource, int]]:
    """What each queue is guaranteed, said or by the queues below it, by resource."""
    below = children(queues)
    found: dict[str, dict[Resource, int]] = {}
    for queue in reversed(list(parents_first(queues))):
        own: dict[Resource, int] = {}
        for child in below[queue.metadata.name]:
            for resource, amount in found[child.metadata.name].items():
                own[resource] = own.get(resource, 0) + amount
        said = {resource: quota.guarantee for resource, quota in stated(queue).items() if quota.guarantee is not None}
        own |= said
        of_flavors = sum(amount for resource, amount in own.items() if resource.loc[-2] == "flavors")
        if of_flavors and ALL_GPUS not in said:
            own[ALL_GPUS] = max(of_flavors, own.get(ALL_GPUS, 0))
        found[queue.metadata.name] = own
    return found


def quotas_of(queues: Sequence[Queue], models: Mapping[str, str]) -> dict[str, dict[str, Quota]]:
    """The quotas of each queue, in the scheduler's words. `models`: flavors to models of GPU."""
    owed = guarantees(queues)
    found = {}
    for queue in queues:
        said, own = stated(queue), owed[queue.metadata.name]
        found[queue.metadata.name] = {
            resource.key(models): _quota(said.get(resource), own.get(resource, 0)) for resource in {**said, **own}
        }
    return found


def _quota(said: Stated | None, guarantee: int) -> Quota:
    if said is None:
        return Quota(guarantee)
    return Quota(guarantee, said.limit, said.borrowing, said.lending)
