"""Who is next: reservation, then priority, then fair share, then age, in an order that changes as gangs start.

One `Round` asks for the next gang, tries to place it, and says `started` or `failed`. Gangs that stay within their
queue's guarantee come before all that borrow, whatever their priority: what is guaranteed and asked for is not lent.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.alike import Alike
from policies.scheduling.kernels_order import FAILED, PASSED, STARTED, WAITING, Line, drain, open_band, step
from policies.scheduling.kernels_share import refresh, refresh_all, select, use
from policies.scheduling.model import Cause
from policies.scheduling.quota_tree import ENDLESS
from policies.scheduling.quotas import Quotas, Shortage
from policies.scheduling.shares import Leaves, Past, make_tree, nothing
from policies.scheduling.turns import Bands, Dominant
from policies.scheduling.waiting import SUBMITTED, Waiting


@dataclass(frozen=True, slots=True)
class Skipped:
    """Why the order did not offer a gang, or not again.

    `CAPACITY`: it failed, or one of its kind did (`behind`, itself included), and what that one was told holds for it.
    `LIMIT`: `shortage`. `ORDER`: its queue is strict and `behind` waits. `STOPPED`: the queue is.
    """

    cause: Cause
    behind: int = -1
    shortage: Shortage | None = None


def places(waiting: Waiting, quotas: Quotas, past: Past = nothing) -> NDArray[np.int64]:
    """Of every number of `waiting`, which place its gang has in the order as it stands now, from 1.

    As if each started in its turn and limits let it; 0 for numbers not given and gangs of stopped queues.
    """
    made = Round(waiting, quotas.copy(), past)
    found = np.zeros(len(waiting.sorted), np.int64)
    turns = np.array(made.turns, np.int64).reshape(-1, 2)
    drain(made.tree, made.line._replace(bounded=False), turns[:, 0].copy(), turns[:, 1].copy(), found)
    by_number = np.zeros(len(waiting.requests), np.int64)
    by_number[waiting.sorted] = found
    return by_number


class Round:
    """One round over what waits. Every gang is offered at most once; none that would break a limit is.

    `quotas` is the round's own scratch (`Quotas.copy`): what starts is added to it here and nowhere else. `past`: queue
    -> what it used in the past, as `Usage.past` tells. Gangs are named by their number in `waiting`, which must not
    change while the round lasts. Errors: KeyError for a gang of an unknown queue.
    """

    def __init__(self, waiting: Waiting, quotas: Quotas, past: Past = nothing) -> None:
        waiting.settle()
        self.waiting, self.quotas = waiting, quotas
        self.tries = 0
        self._asks = waiting.amounts(quotas)
        self._leaves = Leaves(quotas)
        self.tree = make_tree(quotas, self._leaves, past)
        self._bands = Bands(waiting, self._leaves)
        self.line = self._line()
        self._alike = Alike(waiting, quotas, self._leaves, self.line)
        self._place = np.full(len(waiting.requests), -1, np.int64)
        self._place[waiting.sorted] = np.arange(len(waiting.sorted))
        self._failed_first: dict[int, int] = {}  # kind -> the gang that failed for all of it
        self._lacking: dict[tuple[tuple[int, ...], int], Shortage | None] = {}  # by bounds and kind, at a version
        self._lacking_at = -1
        self._dominant = Dominant(self._asks, waiting.kind[waiting.sorted], self.tree.total)
        self.turns = self._bands.turns(int(self.tree.depth.max()), bool(self.tree.guarantee.any()))
        self._turn = -1
        self._saturate()

    def next(self) -> int | None:
        """The gang whose turn it is, until it is said what became of it; None: nobody else can start in this round."""
        while self._turn < len(self.turns):
            leaf = select(self.tree) if self._turn >= 0 else -1
            if leaf < 0:
                self._turn += 1
                self._open()
                continue
            found = self._offer(leaf)
            if found is not None:
                self.tries += 1
                return found
        return None

    def __iter__(self) -> Iterator[int]:
        while (found := self.next()) is not None:
            yield found

    def started(self, number: int, demand: Mapping[str, int] | None = None) -> None:
        """It has its place. `demand`: what it takes, if that is not what its smallest size asks."""
        at = self._at(number)
        request, kind = self.waiting.request(number), int(self.line.kind[at])
        holders = (request.queue, *self.waiting.besides[self.line.beside[at]])
        taken = self.waiting.asks[kind] if demand is None else demand
        self.quotas.add(holders, taken)
        leaf = self._leaves.row[request.queue]
        use(self.tree, leaf, self.vector(taken) if demand is not None else self._asks[kind])
        self.line.state[at] = STARTED
        self.line.left[self._bands.of(int(self.waiting.keys[at])), leaf] -= 1
        self._dominant.start(kind)
        if not self._saturate():
            self._again(leaf)

    def failed(self, number: int, *, whole_shape: bool = False) -> None:
        """It has no place. `whole_shape`: nor has any of its kind, in any queue, until something is freed."""
        at = self._at(number)
        kind = int(self.line.kind[at])
        self.line.state[at] = FAILED
        if whole_shape and not self.line.dead[kind]:
            self.line.dead[kind] = True
            self._failed_first[kind] = number
            self._dominant.fail(kind)
            if self._saturate():
                return
        self._again(self._leaves.row[self.waiting.request(number).queue])

    def pass_over(self, number: int, but: Container[str]) -> None:
        """It failed because it would delay somebody, and so would each of its kind that runs as long and has the same
        bounds above it: none of them is offered. `but`: gangs that have places of their own, and may start there."""
        ids, ordered, state = self.waiting.ids, self.waiting.sorted, self.line.state
        for at in self._alike.as_long(number).tolist():
            if state[at] == WAITING and ids[ordered[at]] not in but:
                state[at] = PASSED

    def freed(self, queue: str, demand: Mapping[str, int]) -> None:
        """A gang of `queue` was told to go: its amounts are free, and whatever failed is offered again."""
        self.quotas.remove(queue, demand)
        use(self.tree, self._leaves.row[queue], -self.vector(demand))
        self.line.state[self.line.state != STARTED] = WAITING
        self.line.dead[:] = False
        self._failed_first.clear()
        self._alike.start_again()
        self._dominant.revive()
        self.line.beside_room[:] = ENDLESS
        self._turn = -1
        self._saturate()

    def why(self, number: int) -> Skipped | None:
        """Of a gang that has not started, once nobody is next. None: no bound of the order keeps it from starting."""
        at = self._at(number)
        request, kind = self.waiting.request(number), int(self.line.kind[at])
        if self._leaves.stopped[request.queue]:
            return Skipped(Cause.STOPPED)
        if self.line.state[at] == FAILED:
            return Skipped(Cause.CAPACITY, behind=number)
        if self.line.dead[kind]:
            return Skipped(Cause.CAPACITY, behind=self._failed_first[kind])
        holders = (request.queue, *self.waiting.besides[self.line.beside[at]])
        shortage = self._shortage(holders, kind)
        if shortage is not None:
            return Skipped(Cause.LIMIT, shortage=shortage)
        first = self._first_of(request.queue)
        return Skipped(Cause.ORDER, behind=first) if first not in (None, number) else None

    def whys(self, numbers: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Skipped | None]]:
        """What `why` says of all of them, said once of each group of which it is the same. Gangs of strict and of
        stopped queues are in groups with those of their queue only."""
        waiting = self.waiting
        if not len(numbers):
            return
        at, code = self._place[numbers], self._alike.groups(numbers)
        firsts = [first for name in waiting.queues if (first := self._first_of(name)) is not None]
        alone = (self.line.state[at] == FAILED) | np.isin(numbers, firsts)
        code[alone] = -1 - numbers[alone]
        ordered = np.argsort(code, kind="stable")
        for group in np.split(numbers[ordered], np.flatnonzero(np.diff(code[ordered])) + 1):
            yield group, self.why(int(group[0]))

    def row_of(self, queue: str) -> int:
        """Of a queue's own gangs in `tree`."""
        return self._leaves.row[queue]

    def left(self) -> NDArray[np.int64]:
        """Numbers of all that have not started, in the order of `Waiting.sorted`."""
        left: NDArray[np.int64] = self.waiting.sorted[self.line.state != STARTED]
        return left

    def _shortage(self, holders: tuple[str, ...], kind: int) -> Shortage | None:
        """What keeps gangs of a kind out of these queues: thousands may wait that ask for the same, in queues without
        bounds of their own."""
        if self._lacking_at != self.quotas.version:
            self._lacking, self._lacking_at = {}, self.quotas.version
        key = tuple(map(self.quotas.bounding, holders)), kind
        if key not in self._lacking:
            self._lacking[key] = self.quotas.fits(holders, self.waiting.asks[kind])
        return self._lacking[key]

    def _line(self) -> Line:
        waiting, rows = self.waiting, len(self.tree.parent)
        columns = len(self.quotas.resources)
        strict = [self.quotas.rules(name).strict if name else False for name in self._leaves.queue]
        return Line(
            kind=waiting.kind[waiting.sorted],
            beside=waiting.beside[waiting.sorted],
            submitted=waiting.keys & ((1 << SUBMITTED) - 1),
            state=np.zeros(len(waiting.sorted), np.int8),
            asks=self._asks,
            dead=np.zeros(len(waiting.kinds), np.bool_),
            bounded=True,
            room=np.full(columns, ENDLESS, np.int64),
            beside_room=np.full((len(waiting.besides), columns), ENDLESS, np.int64),
            begin=self._bands.begin,
            end=self._bands.end,
            left=self._bands.end - self._bands.begin,
            cursor=np.zeros(rows, np.int64),
            strict=np.array(strict, np.bool_),
        )

    def _open(self) -> None:
        if self._turn < len(self.turns):
            band, levels = self.turns[self._turn]
            open_band(self.tree, self.line, band, levels)

    def _offer(self, leaf: int) -> int | None:
        """The leaf's next gang, or None after the shares were brought up to date with what kept it from being next."""
        band, levels = self.turns[self._turn]
        age = self.tree.age[leaf]
        at = step(self.tree, self.line, band, leaf, levels)
        if at < 0 or self.tree.age[leaf] != age:
            refresh(self.tree, leaf)
            return None
        beside = int(self.line.beside[at])
        if beside:
            room = self.quotas.room(self.waiting.besides[beside])[: self._asks.shape[1]]
            self.line.beside_room[beside] = room
            if (self._asks[self.line.kind[at]] > room).any():
                return None
        return int(self.waiting.sorted[at])

    def _again(self, leaf: int) -> None:
        if 0 <= self._turn < len(self.turns):
            band, levels = self.turns[self._turn]
            step(self.tree, self.line, band, leaf, levels)
            refresh(self.tree, leaf)

    def _saturate(self) -> bool:
        """Note which resources nobody can get more of; true if that has changed, and then all shares are new."""
        saturated = self._dominant.saturated(self.tree.used[0], self.tree.total)
        if (saturated == self.tree.saturated).all():
            return False
        self.tree.saturated[:] = saturated
        if 0 <= self._turn < len(self.turns):
            self._open()
        else:
            refresh_all(self.tree)
        return True

    def _at(self, number: int) -> int:
        at = int(self._place[number])
        if at < 0:
            raise KeyError(number)
        return at

    def vector(self, demand: Mapping[str, int]) -> NDArray[np.int64]:
        """Amounts of the resources that count here, by column."""
        vector = np.zeros(self._asks.shape[1], np.int64)
        for resource, amount in demand.items():
            column = self.quotas.tree.column(resource)
            if column < len(vector):  # else nobody who waits asks for it, nor does any rule name it
                vector[column] = amount
        return vector

    def _first_of(self, queue: str) -> int | None:
        """The first of a strict queue that has not started."""
        leaf = self._leaves.row[queue]
        if not self.line.strict[leaf]:
            return None
        for band in range(len(self.line.begin)):
            for at in range(self.line.begin[band, leaf], self.line.end[band, leaf]):
                if self.line.state[at] != STARTED:
                    return int(self.waiting.sorted[at])
        return None
