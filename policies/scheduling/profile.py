"""What is free on each node over time: running gangs until their ends, planned placements, and nodes that are claimed.

Exact seconds are the truth. A grid of slots, from now to the horizon, only rules out where a search need not look.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.asks import Asks, Claim
from policies.scheduling.kernels_batch import AGAIN, FORCE, ROWS_PER_GANG, SEEK, Batch, free_now, plan, remove, vacant
from policies.scheduling.kernels_room import Work
from policies.scheduling.kernels_time import FULLEST, NEVER, NOW, ORIGIN, Ints, Table, forget, own
from policies.scheduling.model import Pod, Promise, Request, Running
from policies.scheduling.nodes import Nodes
from policies.scheduling.time_table import empty_table, more_amounts, more_segments, work_for

DAY = 86_400


@dataclass(slots=True)
class Row:
    """A gang's places in the profile. `sure`: when they are free again even if only declared ends come."""

    request: Request
    kind: int
    length: int
    declared: bool
    start: int = NEVER
    end: int = NEVER
    sure: int = NEVER
    firm: bool = False
    nodes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    bits: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    due: int = NEVER  # when it should have ended
    late: bool = False  # it has not
    told: Promise | None = None  # its placement as a promise

    @property
    def placed(self) -> bool:
        return self.start < NEVER


class Profile:
    """Places of gangs over time, on the nodes that are open.

    `step`, `horizon`: of the grid, in seconds; nothing is planned to start after the horizon. `freed`: something became
    free since it was last set to False, so that a gang may start earlier than it was promised.
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
    ) -> None:
        self.nodes = nodes
        self.now = now
        self.step = step
        self.asks = Asks(nodes, claims)
        self.running: dict[str, Row] = {}
        self.pins: dict[str, Row] = {}
        self.unseated: dict[str, tuple[Row, Promise, str]] = {}
        self.freed = True
        self._devices: dict[int, tuple[int, ...]] = {}
        self._table: Table = empty_table(nodes, self.asks.columns, now, step, horizon)
        self._work: Work = work_for(self._table, 0)
        for node in range(len(nodes.names)):
            self._own(node)
        self.run(running)

    def row(self, request: Request, length: int | None, sizes: Sequence[int] | None = None) -> Row:
        """A gang without a place. `length` None: endless. With a limit that is its length, its end is declared."""
        declared = length is not None and request.limit is not None
        return Row(request, self.asks.number(request, sizes), NEVER if length is None else length, declared)

    def run(self, running: Iterable[Running]) -> None:
        """Gangs hold their nodes from now on; what was planned for them is given up."""
        gangs = [gang for gang in running if any(pod.node in self.nodes.index for pod in gang.pods)]
        self.unpin(gang.request.id for gang in gangs if gang.request.id in self.pins)
        rows = [self._run(gang) for gang in gangs]
        self.plan(rows, [FORCE] * len(rows))
        self.running.update((row.request.id, row) for row in rows)

    def end(self, ids: Iterable[str]) -> None:
        """Running gangs have gone."""
        self._remove([self.running.pop(identity) for identity in ids])

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
        row = self._seated(self.row(request, length, _sizes(request, pods)), pods, self.now)
        self._grown()
        found = bool(vacant(self._table, self.asks.arrays(), self._batch([row], [AGAIN]), self._work))
        self.plan(own, [AGAIN] * len(own))
        return found

    def advance(self, now: int) -> None:
        """Time goes on to `now`.

        A running gang whose end has passed counts as ending after as long again as it is late, at least a slot. What
        was planned in its way loses its place, and so does what was due and has not started: see `unseated`.
        """
        self.now = now
        clock = self._table.clock
        if now - clock[ORIGIN] >= self.step:
            forget(self._table, now)
            self._work.used[:] = 0
        clock[NOW] = now
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
        self._work.used[:] = 0

    def plan(self, rows: Sequence[Row], modes: Sequence[int]) -> None:
        """Place the rows in order; see `Batch` for the modes. Their places are written into them."""
        if not rows:
            return
        self._grown()
        batch = self._batch(rows, modes)
        done = 0
        while True:
            done = plan(self._table, self.asks.arrays(), batch, self._work, done)
            if done == len(rows):
                break
            self._table = more_segments(self._table)
        first, starts, ends = batch.first.tolist(), batch.start.tolist(), batch.end.tolist()
        sures, firms = batch.sure.tolist(), batch.firm.tolist()
        for at, row in enumerate(rows):
            if modes[at] == SEEK or row.start != starts[at] or row.firm != firms[at]:
                row.told = None
            row.start, row.end, row.sure, row.firm = starts[at], ends[at], sures[at], bool(firms[at])
            if row.placed:
                row.nodes, row.bits = batch.node[first[at] : first[at + 1]], batch.bits[first[at] : first[at + 1]]

    def planned(self, request: Request, promise: Promise, length: int | None) -> Row:
        """A row that stands for a promise, without its places held."""
        return self._seated(self.row(request, length, _sizes(request, promise.pods)), promise.pods, promise.start)

    def promise(self, row: Row) -> Promise:
        """What a placed row says."""
        if row.told is not None:
            return row.told
        names, devices, pods = self.nodes.names, self._devices, []
        nodes, bits = row.nodes.tolist(), row.bits.tolist()
        at = 0
        for ask in self.asks.kinds[row.kind].asks:
            for place in range(at, at + ask.pods):
                held = bits[place]
                if held not in devices:
                    devices[held] = tuple(number for number in range(held.bit_length()) if held >> number & 1)
                pods.append(Pod(ask.role, names[nodes[place]], devices[held]))
            at += ask.pods
        pods.sort(key=lambda pod: pod.role)
        end = None if row.end >= NEVER else row.end
        row.told = Promise(row.request.id, row.start, end, tuple(pods), row.firm)
        return row.told

    def _run(self, gang: Running) -> Row:
        """Until it is over: its limit or else its estimate after its start, or soon if it was told to go."""
        request = gang.request
        pods = [pod for pod in gang.pods if pod.node in self.nodes.index]
        length = request.limit if request.limit is not None else request.estimate
        row = self._seated(self.row(request, length, _sizes(request, pods)), pods, self.now)
        if length is not None:
            row.end = gang.since + length
        if gang.leaving:
            row.end, row.declared = min(row.end, self.now + self.step), False
        row.due = row.end
        if row.end <= self.now:
            row.end, row.declared, row.late = self.now + max(self.step, self.now - row.due), False, True
        return row

    def _seated(self, row: Row, pods: Sequence[Pod], start: int) -> Row:
        """The row with these places, in the order of its kind's roles."""
        index, gpus = self.nodes.index, self.nodes.gpus
        roles: dict[int, list[Pod]] = {}
        for pod in pods:
            roles.setdefault(pod.role, []).append(pod)
        ordered = [pod for ask in self.asks.kinds[row.kind].asks for pod in roles[ask.role]]
        row.start = start
        row.nodes = np.array([index[pod.node] for pod in ordered], np.int64)
        held = [sum(1 << number for number in pod.devices if number < gpus[index[pod.node]]) for pod in ordered]
        row.bits = np.array(held, np.int64)
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

    def _remove(self, rows: Sequence[Row], *, freed: bool = True) -> None:
        if rows:
            remove(self._table, self.asks.arrays(), self._batch(rows, [AGAIN] * len(rows)))
            self._work.used[:] = 0
            self.freed |= freed and any(row.end > self.now or row.sure > self.now for row in rows)

    def _grown(self, segments: int = 0) -> None:
        """Make the arrays large enough for all kinds, and for so many more segments of a node."""
        if self._table.amount.shape[3] < self.asks.columns:
            self._table = more_amounts(self._table, self.asks.columns)
            self._work = work_for(self._table, 0)
        while self._table.clock[FULLEST] + segments + ROWS_PER_GANG > self._table.time.shape[1]:
            self._table = more_segments(self._table)
        if self._work.used.size < len(self.asks.kinds):
            self._work = work_for(self._table, 2 * len(self.asks.kinds))

    def _batch(self, rows: Sequence[Row], modes: Sequence[int]) -> Batch:
        kinds = self.asks.kinds
        counts = np.array([kinds[row.kind].pods for row in rows], np.int64)
        first = np.concatenate(([0], np.cumsum(counts)))
        node, bits = np.zeros(first[-1], np.int64), np.zeros(first[-1], np.int64)
        for at, row in enumerate(rows):
            if row.nodes.size:
                node[first[at] : first[at + 1]], bits[first[at] : first[at + 1]] = row.nodes, row.bits
        values = [(r.kind, r.length, r.declared, r.start, r.end, r.sure, r.firm) for r in rows]
        kind, length, declared, start, end, sure, firm = np.array(values, np.int64).reshape(len(rows), 7).T.copy()
        mode, floor = np.array(modes, np.int64), np.full(len(rows), self.now, np.int64)
        return Batch(kind, mode, length, declared, floor, start, end, sure, firm, first, node, bits)


def _sizes(request: Request, pods: Sequence[Pod]) -> tuple[int, ...]:
    """How many of the pods are of each role."""
    roles = [pod.role for pod in pods]
    return tuple(roles.count(number) for number in range(len(request.roles)))
