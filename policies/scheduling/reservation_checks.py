"""Faults of reservations among the documents around them: windows that clash, and more kept than there is or may be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from definitions.cluster import LOCAL_CLUSTER
from definitions.node_pool import NodePool, SimulatedNodes
from definitions.queue import Queue
from definitions.reservation import Reservation, ReservationSpec
from definitions.scheduling_types import WHOLE_GPU
from definitions.spec_errors import SpecIssue
from definitions.spec_fields import Loc
from policies.scheduling.queue_tree import ALL_GPUS, QUOTAS, Resource, stated
from policies.scheduling.windows import Window, clashes, windows

Fault = tuple[int, SpecIssue]
LOOKED_AT = 400  # windows of each reservation; a rule without end has no last one
CAPACITY: Loc = ("spec", "capacity")


@dataclass(frozen=True, slots=True)
class Kept:
    """A reservation, the index of its document, and its first windows. `made`: nodes of its pool, if simulated."""

    index: int
    document: Reservation
    windows: tuple[Window, ...]
    made: SimulatedNodes | None

    @property
    def name(self) -> str:
        return self.document.metadata.name

    @property
    def place(self) -> Loc:
        """Of the field that says how much."""
        capacity = self.document.spec.capacity
        if capacity.gpus is not None:
            return (*CAPACITY, "gpus")
        return (*CAPACITY, "nodes" if capacity.nodes is not None else "nodeNames")

    @property
    def flavor(self) -> str | None:
        return self.document.spec.capacity.flavor or (self.made.flavor if self.made is not None else None)

    @property
    def gpus(self) -> int | None:
        """How many GPUs it keeps; None when that depends on nodes that are not described."""
        capacity = self.document.spec.capacity
        if capacity.gpus is not None:
            return capacity.gpus
        if self.made is None:
            return None
        return (capacity.nodes or len(capacity.node_names)) * self.made.gpus


def reservation_faults(documents: Sequence[tuple[int, object]]) -> Iterator[Fault]:
    """Every such fault. `documents`: with their indices; names in them are known to be right."""
    pools = {each.metadata.name: each.spec.simulated for _, each in documents if isinstance(each, NodePool)}
    kept = [
        Kept(index, each, _first_windows(each.spec), pools.get(each.spec.pool or ""))
        for index, each in documents
        if isinstance(each, Reservation)
    ]
    queues = {each.metadata.name: each for _, each in documents if isinstance(each, Queue)}
    for each in kept:
        yield from _unnamed(each)
        yield from _own_windows(each)
        yield from _not_in_pool(each)
        yield from _beyond_limits(each, queues)
    yield from _named_twice(kept)
    for pool, made in pools.items():
        if made is not None:
            yield from _too_much(pool, made, [each for each in kept if each.document.spec.pool == pool])


def _unnamed(kept: Kept) -> Iterator[Fault]:
    if kept.document.spec.users.without_naming:
        what = "jobs that name no reservation do not run in one here"
        fix = f"remove it, and write reservation: {kept.name} in the jobs"
        yield _fault("PD-1619", kept, ("spec", "users", "withoutNaming"), what, fix)


@lru_cache(
    maxsize=1024
)  # documents are checked together whenever they are read, which is far more often than they change
def _first_windows(spec: ReservationSpec) -> tuple[Window, ...]:
    return tuple(windows(spec, most=LOOKED_AT))


def _own_windows(kept: Kept) -> Iterator[Fault]:
    last: Loc = ("spec", "end" if kept.document.spec.end is not None else "length")
    if not kept.windows:
        yield _fault("PD-1617", kept, ("spec", "start"), "clocks jump over all of it", "choose another start")
    for one, following in pairwise(kept.windows):
        if following.begins < one.ends:
            what = f"the window of {one.shown_begin} ends {one.shown_end}, and the next begins {following.shown_begin}"
            yield _fault("PD-1617", kept, last, what, "make it shorter, or repeat it less often")
            return


def _not_in_pool(kept: Kept) -> Iterator[Fault]:
    capacity, made = kept.document.spec.capacity, kept.made
    if made is None:
        return
    pool, cluster = kept.document.spec.pool, kept.document.spec.cluster
    if cluster not in (None, LOCAL_CLUSTER):
        what = f"nodes of {pool} are made up, and stand for those of this machine, not of {cluster}"
        yield _fault("PD-1618", kept, ("spec", "cluster"), what, "remove cluster, or name another pool")
    elif capacity.flavor is not None and capacity.flavor != made.flavor:
        there = f"GPUs of {made.flavor}" if made.flavor else "no GPUs"
        what = f"nodes of {pool} have {there}, not of {capacity.flavor}"
        yield _fault("PD-1618", kept, (*CAPACITY, "flavor"), what, "correct flavor, or name another pool")
    elif capacity.gpus is not None and not made.gpus:
        yield _fault(
            "PD-1618", kept, kept.place, f"nodes of {pool} have no GPUs", "reserve nodes, or name another pool"
        )
    names = {f"{pool}-{number:04}" for number in range(made.count)} if capacity.node_names else set()
    for at, name in enumerate(capacity.node_names):
        if name not in names:
            what = f"{pool} has no node {name}"
            fix = f"its nodes are {pool}-0000 to {pool}-{made.count - 1:04}"
            yield _fault("PD-1618", kept, (*CAPACITY, "nodeNames", at), what, fix)


def _beyond_limits(kept: Kept, queues: dict[str, Queue]) -> Iterator[Fault]:
    """More GPUs than the queue, or one above it, may ever use."""
    if not kept.gpus:
        return
    asked = {ALL_GPUS: kept.gpus * WHOLE_GPU}
    if kept.flavor is not None:
        asked[Resource((*QUOTAS, "flavors", kept.flavor))] = kept.gpus * WHOLE_GPU
    queue: Queue | None = queues[kept.document.spec.queue]
    while queue is not None:
        said = stated(queue)
        for resource, amount in asked.items():
            limit = said[resource].limit if resource in said else None
            if limit is not None and amount > limit:
                name = queue.metadata.name
                what = f"it keeps {resource.spelled(amount)}, and {name} may have at most {resource.spelled(limit)}"
                yield _fault("PD-1618", kept, kept.place, what, f"keep less, or raise the limit of {name}")
                return
        queue = queues[queue.spec.parent] if queue.spec.parent is not None else None


def _named_twice(kept: Sequence[Kept]) -> Iterator[Fault]:
    for at, each in enumerate(kept):
        for other in kept[:at]:
            shared = set(each.document.spec.capacity.node_names) & set(other.document.spec.capacity.node_names)
            clash = next(iter(clashes(each.windows, other.windows)), None) if shared else None
            if clash is not None:
                ours, theirs = clash
                what = (
                    f"{min(shared)} is reserved by {other.name} from {theirs.shown_begin} to {theirs.shown_end}, "
                    f"and here from {ours.shown_begin} to {ours.shown_end}"
                )
                yield _fault("PD-1617", each, each.place, what, "reserve other nodes, or another time")


def _too_much(pool: str, made: SimulatedNodes, kept: Sequence[Kept]) -> Iterator[Fault]:
    """The first moment at which more of the pool is reserved than it has."""
    whole, word = (made.count * made.gpus, "GPUs") if made.gpus else (made.count, "nodes")
    steps = [
        (at, starts, number, window)
        for number, each in enumerate(kept)
        for window in each.windows
        for at, starts in ((window.begins, True), (window.ends, False))
    ]
    held: dict[int, int] = {}
    for _, starts, number, window in sorted(steps, key=lambda step: step[:3]):
        if not starts:
            held.pop(number, None)
            continue
        capacity = kept[number].document.spec.capacity
        held[number] = kept[number].gpus or 0 if made.gpus else capacity.nodes or len(capacity.node_names)
        if sum(held.values()) > whole:
            parts = ", ".join(f"{kept[each].name} {amount}" for each, amount in held.items())
            what = (
                f"from {window.shown_begin} on {sum(held.values())} {word} are reserved of {pool}'s {whole} ({parts})"
            )
            yield _fault("PD-1617", kept[number], kept[number].place, what, "keep less, or choose another time")
            return


def _fault(code: str, kept: Kept, loc: Loc, what: str, fix: str) -> Fault:
    return kept.index, SpecIssue(code=code, loc=loc, what=what, fix=fix)
