"""What is free over time, on each node and of each limit: running gangs until their ends, planned placements, and nodes
that are claimed.

Exact seconds are the truth. A grid of slots, from now to the horizon, only rules out where a search need not look.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.asks import Asks, Claim
from policies.scheduling.kernels_asks import Work
from policies.scheduling.kernels_batch import free_now, plan
from policies.scheduling.kernels_gangs import (
    AGAIN,
    FORCE,
    KNOWN,
    LEAVE,
    LOOK,
    ROWS_PER_GANG,
    SEEK,
    START,
    TWIN,
    Batch,
)
from policies.scheduling.kernels_time import AMOUNTS, FULLEST, NEVER, NOW, ORIGIN, Ints, Table, forget, own
from policies.scheduling.limits import Limiting
from policies.scheduling.model import Pod, Promise, Request, Running
from policies.scheduling.nodes import Nodes
from policies.scheduling.quotas import Quotas
from policies.scheduling.time_rows import Row, batch_of, pods_of, seat, sizes_of
from policies.scheduling.time_table import empty_table, more_amounts, more_segments, work_for

DAY = 86_400


class Profile:
    """Places of gangs over time, on the nodes that are open.

    `step`, `horizon`: of the grid, in seconds; nothing is planned to start after the horizon. `quotas`: limits that
    gangs count against, with what those that run use of them now, and others for ever; None: there are none.
    `freed`: something became free since it was last set to False, so that a gang may start earlier than was promised.
    """

    def __init__(
        self,
        nodes: Nodes,
        now: int,
        running: Iterable[Running] = (),
        claims: Sequence[Claim] = (),
        *,
        step: int = 300,
        horizon: int = 4 * DAY,
        quotas: Quotas | None = None,
    ) -> None:
        self.nodes = nodes
        self.now = now
        self.step = step
        self.asks = Asks(nodes, claims)
        self.limits = Limiting(quotas, self.asks, now)
        self.running: dict[str, Row] = {}
        self.pins: dict[str, Row] = {}
        self.unseated: dict[str, tuple[Row, Promise, str]] = {}
        self.freed = True
        self._devices: dict[int, tuple[int, ...]] = {}
        self._table: Table = empty_table(nodes, self.asks.columns, now, step, horizon)
        self._work: Work = work_for(self._table, 0)
        claimed = {nodes.index[name] for claim in claims for name in claim.nodes if name in nodes.index}
        for node in sorted(claimed.union(np.flatnonzero(~nodes.open).tolist())):
            self._own(node)
        self._take_in(running, KNOWN)

    def row(self, request: Request, length: int | None, sizes: Sequence[int] | None = None) -> Row:
        """A gang without a place. `length` None: endless. With a limit that is its length, its end is declared."""
        declared = length is not None and request.limit is not None
        kind, (holder, line) = self.asks.number(request, sizes), self.limits.of(request.queue)
        twin = self.limits.twin(kind, holder)
        return Row(request, kind, NEVER if length is None else length, declared, twin, holder, line)

    def run(self, running: Iterable[Running]) -> None:
        """Gangs hold their nodes from now on; what was planned for them is given up."""
        self._take_in(running, FORCE)

    def end(self, ids: Iterable[str], at: int | None = None) -> None:
        """Running gangs have gone. `at`: when, if it is later than the profile's now and it has yet to advance."""
        self._remove([self.running.pop(identity) for identity in ids], at=at)

    def pin(self, request: Request, promise: Promise, length: int | None) -> bool:
        """Hold a planned placement. False, with nothing held, if its places are not free."""
        row = self.planned(request, promise, length)
        self.plan([row], [AGAIN])
        if row.placed:
            self.pins[request.id] = row
        return row.placed

    def unpin(self, ids: Iterable[str]) -> None:
        """Give planned placements up."""
        self._remove([self.pins.pop(identity) for identity in ids])

    def earliest(
        self, request: Request, length: int | None, sizes: Sequence[int] | None = None, *, not_after: int | None = None
    ) -> Promise | None:
        """The earliest start under all that is held, and its places; None if there is none before the horizon.

        Holds nothing. The request must not be pinned, or it is planned beside its own place.
        """
        row = self.row(request, length, sizes)
        self.plan([row], [SEEK])
        if not row.placed:
            return None
        found = self.promise(row)
        self._remove([row], freed=False)
        return None if not_after is not None and found.start > not_after else found

    def free_now(self, request: Request, length: int | None) -> NDArray[np.bool_]:
        """bool[N]: nodes on which a pod of the gang may start now and delay no placement that is held.

        One pod, not all: whether places found among them may be taken together, `may_start` tells.
        """
        row = self.row(request, length)
        self._grown()
        found = np.zeros(len(self.nodes.names), np.bool_)
        free_now(self._table, self.asks.arrays(), self._work, row.kind, row.length, found)
        return found

    def may_start(self, request: Request, pods: Sequence[Pod], length: int | None) -> bool:
        """Whether these places are free from now on for that long; where it is planned itself is no obstacle."""
        own = [self.pins[request.id]] if request.id in self.pins else []
        self._remove(own, freed=False)
        row = self._seated(self.row(request, length, sizes_of(request, pods)), pods, self.now)
        self.plan([row], [LOOK])
        self.plan(own, [AGAIN] * len(own))
        return row.firm

    def advance(self, now: int) -> None:
        """Time goes on to `now`.

        A running gang whose end has passed counts as ending after as long again as it is late, at least a slot. What
        was planned in its way loses its place, and so does what was due and has not started: see `unseated`.
        """
        self.now = now
        head = self._table.head
        if now - head[ORIGIN] >= self.step:
            forget(self._table, now)
            self.limits.forget(now)
            self._work.twin[:, 0] = 0
        head[NOW] = now
        late = {identity: row for identity, row in self.running.items() if row.end <= now}
        for identity, row in late.items():
            end = now + max(self.step, now - row.due)
            self._unseat(f"{identity} runs past its end", row.nodes, end)
            self._remove([row], freed=False)
            row.start, row.end, row.declared, row.late = now, end, False, True
        self.plan(list(late.values()), [FORCE] * len(late))
        for identity in [identity for identity, row in self.pins.items() if row.start < now]:
            row = self._give_up(identity, "it did not start when it was due")
            row.start, row.told = now, None

    def changed(self, node: str) -> None:
        """`nodes.open` of that node is another. What was planned on a closed one loses its place: see `unseated`."""
        number = self.nodes.index[node]
        if not self.nodes.open[number]:
            self._unseat(f"{node} takes no pods", np.array([number]), NEVER)
        self._own(number)
        self.freed |= bool(self.nodes.open[number])
        self._work.twin[:, 0] = 0

    def plan(self, rows: Sequence[Row], modes: Sequence[int]) -> None:
        """Place the rows in order; see `Batch` for the modes. Their places are written into them."""
        if not rows:
            return
        self._grown()
        batch = batch_of(self.asks.kinds, rows, modes)
        self._treat(batch)
        for at, (start, end, sure, firm, first, last) in enumerate(batch.gang[:, START:TWIN].tolist()):
            row = rows[at]
            if row.told is not None and (row.told.start, row.told.end, row.told.firm) != (start, _end(end), bool(firm)):
                row.told = None
            row.start, row.end, row.sure, row.firm = start, end, sure, bool(firm)
            if row.placed:
                row.nodes, row.bits = batch.node[first:last], batch.bits[first:last]

    def planned(self, request: Request, promise: Promise, length: int | None) -> Row:
        """A row that stands for a promise, without its places held."""
        row = self._seated(self.row(request, length, sizes_of(request, promise.pods)), promise.pods, promise.start)
        row.told = promise
        return row

    def promise(self, row: Row) -> Promise:
        """What a placed row says."""
        if row.told is None:
            pods = pods_of(row, self.asks.kinds[row.kind], self.nodes, self._devices)
            row.told = Promise(row.request.id, row.start, _end(row.end), pods, row.firm)
        return row.told

    def _take_in(self, running: Iterable[Running], mode: int) -> None:
        gangs = [gang for gang in running if any(pod.node in self.nodes.index for pod in gang.pods)]
        pins = {name: self.pins.pop(name) for gang in gangs if (name := gang.request.id) in self.pins}
        self._remove(list(pins.values()), freed=False)
        rows = {gang.request.id: self._run(gang) for gang in gangs}
        self.plan(list(rows.values()), [mode] * len(rows))
        self.running |= rows
        self.freed |= any(not rows[name].covers(pin) for name, pin in pins.items())

    def _run(self, gang: Running) -> Row:
        """Until it is over: its limit or else its estimate after its start, or soon if it was told to go."""
        request = gang.request
        pods: Sequence[Pod] = gang.pods
        if not all([pod.node in self.nodes.index for pod in pods]):
            pods = [pod for pod in pods if pod.node in self.nodes.index]
        seconds = request.seconds
        row = self._seated(self.row(request, seconds, sizes_of(request, pods)), pods, self.now)
        if seconds is not None:
            row.end = gang.since + seconds
        if gang.leaving:
            row.end, row.declared = min(row.end, self.now + self.step), False
        row.due = row.end
        if row.end <= self.now:
            row.end, row.declared, row.late = self.now + max(self.step, self.now - row.due), False, True
        return row

    def _seated(self, row: Row, pods: Sequence[Pod], start: int) -> Row:
        seat(row, pods, start, self.asks.kinds[row.kind], self.nodes)
        return row

    def _own(self, node: int) -> None:
        """Say for all time to come whose the node is."""
        name = self.nodes.names[node]
        claims = [claim for claim in self.asks.claims if name in claim.nodes]
        self._grown(2 * len(claims))
        own(self._table, node, self.now, NEVER, 0)
        for claim in sorted(claims, key=lambda claim: claim.reservation is None):
            owner = -1 if claim.reservation is None else self.asks.owners[claim.reservation]
            own(self._table, node, claim.start, claim.end, owner)
        if not self.nodes.open[node]:
            own(self._table, node, self.now, NEVER, -1)

    def _unseat(self, why: str, nodes: Ints, until: int) -> None:
        """Take back what is planned to start on these nodes before `until`."""
        for identity, row in list(self.pins.items()):
            if row.start < until and np.isin(row.nodes, nodes).any():
                self._give_up(identity, why)

    def _give_up(self, identity: str, why: str) -> Row:
        row = self.pins[identity]
        self.unseated[identity] = (row, self.promise(row), why)
        self.unpin([identity])
        return row

    def _remove(self, rows: Sequence[Row], *, freed: bool = True, at: int | None = None) -> None:
        if rows:
            self._treat(batch_of(self.asks.kinds, rows, [LEAVE] * len(rows)))
            self._work.twin[:, 0] = 0
            now = self.now if at is None else at
            self.freed |= freed and any(row.end > now or row.sure > now for row in rows)

    def _grown(self, segments: int = 0) -> None:
        """Make the arrays large enough for all kinds, and for so many more segments of a node."""
        if self._table.head[AMOUNTS] < self.asks.columns:
            self._table = more_amounts(self._table, self.asks.columns)
            self._work = work_for(self._table, 0)
        while self._table.head[FULLEST] + segments + ROWS_PER_GANG > self._table.segment.shape[1]:
            self._table = more_segments(self._table)
        if len(self._work.twin) < self.limits.twins:
            self._work = work_for(self._table, 2 * self.limits.twins)

    def _treat(self, batch: Batch) -> None:
        done = 0
        while done < len(batch.gang):
            done = plan(self._table, self.asks.arrays(), self.limits.arrays(), batch, self._work, done)
            if done == len(batch.gang):
                return
            if self._table.head[FULLEST] + ROWS_PER_GANG > self._table.segment.shape[1]:
                self._table = more_segments(self._table)
            else:
                self.limits.more_pieces()


def _end(end: int) -> int | None:
    return None if end >= NEVER else end
