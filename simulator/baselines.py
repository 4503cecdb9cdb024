"""What the scheduler is compared with: FIFO, strict priority, first-fit and EASY backfill.

They place gangs on the first nodes with room, displace nobody, and know no quotas. A gang's length is its declared
limit, else its estimate; without either it counts as endless.
"""

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from policies.scheduling.model import Decision, Node, Pod, Promise, Request, Start
from simulator.pool import Pool
from simulator.shadow import Ahead, earliest


@dataclass(frozen=True, slots=True)
class Waiting:
    """A gang in its place: `key` orders, `kind` is the same number for gangs that ask for the same."""

    key: tuple[int, ...]
    request: Request
    kind: int

    def __lt__(self, other: "Waiting") -> bool:
        return self.key < other.key


class Baseline:
    """The part that all share: the queue, and the room on nodes. `depth`: how many behind the first are looked at."""

    def __init__(self, nodes: Sequence[Node], *, by_priority: bool = False, depth: int | None = None) -> None:
        self.by_priority = by_priority
        self.depth = depth
        self.pool = Pool(nodes)
        self.waiting: list[Waiting] = []
        self.ahead = Ahead()
        self._running: dict[str, tuple[Request, tuple[Pod, ...]]] = {}
        self._kinds: dict[object, int] = {}
        self._number = 0

    def submit(self, request: Request) -> None:
        self._number += 1
        first = (-request.priority,) if self.by_priority else ()
        kind = self._kinds.setdefault(request.roles, len(self._kinds))
        insort(self.waiting, Waiting((*first, request.submitted, self._number), request, kind))

    def ended(self, identity: str, now: int) -> None:
        request, pods = self._running.pop(identity)
        self.ahead.remove(identity)
        self.pool.give(request, pods)

    def left(self, identity: str, now: int) -> None:
        self.ended(identity, now)

    def node(self, node: Node) -> None:
        self.pool.open[self.pool.index[node.name]] = node.open

    def lost(self, name: str) -> None:
        self.pool.open[self.pool.index[name]] = False

    def wakes(self) -> int | None:
        return None

    def plan(self, now: int) -> Decision:
        """Start from the front as far as it goes; who may pass the first that does not fit is up to the policy."""
        pool = self.pool.copy()
        starts: list[Start] = []
        for at, each in enumerate(self.waiting):
            pods = pool.place(each.request)
            if pods is None:
                return self._behind(now, pool, at, starts)
            starts.append(Start(each.request.id, pods))
        return Decision(starts=tuple(starts))

    def apply(self, decision: Decision, now: int) -> None:
        started = {start.request: start.pods for start in decision.starts}
        for each in self._leave_queue(started):
            request, pods = each.request, started[each.request.id]
            self.pool.take(request, pods)
            self._running[request.id] = (request, pods)
            self.ahead.add(self.pool, request, pods, None if request.seconds is None else now + request.seconds)

    def _behind(self, now: int, pool: Pool, first: int, starts: list[Start]) -> Decision:
        """The decision, once the gang at place `first` has not fitted into what is left in `pool`."""
        return Decision(starts=tuple(starts))

    def _further(self, first: int) -> Sequence[Waiting]:
        end = None if self.depth is None else first + 1 + self.depth
        return self.waiting[first + 1 : end]

    def _leave_queue(self, started: dict[str, tuple[Pod, ...]]) -> Iterator[Waiting]:
        left = len(started)
        at = 0
        while left:
            if self.waiting[at].request.id in started:
                left -= 1
                yield self.waiting.pop(at)
            else:
                at += 1


class Fifo(Baseline):
    """Who came first starts first, and whoever does not fit holds up all behind."""


class StrictPriority(Baseline):
    """The same in order of priority, then of arrival."""

    def __init__(self, nodes: Sequence[Node], *, depth: int | None = None) -> None:
        super().__init__(nodes, by_priority=True, depth=depth)


class FirstFit(Baseline):
    """In order of arrival, and whatever fits may pass whatever does not. Large gangs may wait for ever."""

    def _behind(self, now: int, pool: Pool, first: int, starts: list[Start]) -> Decision:
        failed = {self.waiting[first].kind}
        for each in self._further(first):
            if each.kind in failed:
                continue
            pods = pool.place(each.request)
            if pods is None:
                failed.add(each.kind)
            else:
                starts.append(Start(each.request.id, pods))
        return Decision(starts=tuple(starts))


class Easy(Baseline):
    """Order of arrival; the first that does not fit is promised the earliest start, and others pass if they keep it."""

    def _behind(self, now: int, pool: Pool, first: int, starts: list[Start]) -> Decision:
        head = self.waiting[first]
        begun = [
            (each.request, start.pods, each.request.seconds) for each, start in zip(self.waiting, starts, strict=False)
        ]
        found = earliest(pool, self.ahead.with_new(pool, begun, now), head.request, now)
        if found is None:  # it waits for a lost node or an endless gang, and nobody who starts now can delay it
            starts += self._passing(now, pool, first, None, None)
            return Decision(starts=tuple(starts))
        start, then, pods, firm = found
        starts += self._passing(now, pool, first, start, then)
        end = None if head.request.seconds is None else start + head.request.seconds
        return Decision(starts=tuple(starts), promises=(Promise(head.request.id, start, end, pods, firm),))

    def _passing(self, now: int, pool: Pool, first: int, start: int | None, then: Pool | None) -> Iterator[Start]:
        """Those who end before `start`, or leave the first gang its room in `then`, which is what is free by then."""
        head = self.waiting[first]
        failed, late = {head.kind}, set[int]()
        for each in self._further(first):
            in_time = start is None or (each.request.seconds is not None and now + each.request.seconds <= start)
            if each.kind in failed or (not in_time and each.kind in late):
                continue
            pods = pool.place(each.request)
            if pods is None:
                failed.add(each.kind)
            elif in_time or (then is not None and _keeps(then, head.request, each.request, pods)):
                yield Start(each.request.id, pods)
            else:
                late.add(each.kind)
                pool.give(each.request, pods)


def _keeps(then: Pool, head: Request, other: Request, pods: Sequence[Pod]) -> bool:
    """Whether the head still fits later when the other runs on; if so, the other's room is gone from `then`."""
    then.take(other, pods)
    placed = then.place(head)
    if placed is None:
        then.give(other, pods)
        return False
    then.give(head, placed)
    return True


BASELINES: dict[str, Callable[[Sequence[Node]], Baseline]] = {
    "fifo": Fifo,
    "priority": StrictPriority,
    "easy": Easy,
    "first-fit": FirstFit,
}
