"""The event loop: virtual time jumps from one event to the next, and at each the planner is asked once.

Events of one moment are handled in a fixed order (ends, departures, nodes that are lost, nodes that come back,
arrivals, the round's timer, what the planner waits for), so that a run depends on its inputs alone.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from policies.scheduling.model import Decision, Node
from simulator.ledger import Gang, Ledger
from simulator.planner import Planner
from simulator.series import Series
from simulator.trace import Job, Trace

Progress = Callable[[int, int], None]  # jobs that are over, jobs in all


@dataclass(frozen=True, slots=True)
class Rules:
    """How the simulated cluster behaves, in seconds. A gang that is told to go is gone `drain` later."""

    drain: int = 60
    checkpoint_every: int = 1800
    round_every: int | None = None  # while gangs wait, the planner is also asked so often; None: at events only


USUAL = Rules()


@dataclass(frozen=True, slots=True)
class Outage:
    """A node is lost, and comes back empty (None: it does not)."""

    node: str
    lost: int
    back: int | None


class Kind(IntEnum):
    END = 0
    LEFT = 1
    LOST = 2
    BACK = 3
    ARRIVAL = 4
    TIMER = 5
    WAKE = 6


@dataclass(frozen=True, slots=True)
class Ran:
    """What a simulation left behind. `nowhere`: jobs that no node of the cluster could ever hold."""

    ledger: Ledger
    series: Series
    nowhere: tuple[str, ...]
    rounds: int
    end: int


class Loop:
    """One simulation. `planner` must know the same nodes."""

    def __init__(
        self,
        nodes: Sequence[Node],
        trace: Trace,
        planner: Planner,
        *,
        rules: Rules = USUAL,
        outages: Sequence[Outage] = (),
        progress: Progress = lambda done, total: None,
    ) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.trace = trace
        self.planner = planner
        self.rules = rules
        self.ledger = Ledger(tuple(nodes), rules.checkpoint_every)
        self.series = Series(trace, tuple(nodes))
        self._progress = progress
        self._events: list[tuple[int, Kind, int, object]] = []
        self._number = 0
        self._over = 0
        self._timer = False
        self._wake: int | None = None
        self._nowhere: list[str] = []
        self._possible: dict[object, bool] = {}
        for job in trace.jobs:
            self._at(job.request.submitted, Kind.ARRIVAL, job)
        for outage in outages:
            self._at(outage.lost, Kind.LOST, outage.node)
            if outage.back is not None:
                self._at(outage.back, Kind.BACK, outage.node)
        self._handlers: dict[Kind, Callable[[Any, int], bool]] = {
            Kind.END: self._end,
            Kind.LEFT: self._left,
            Kind.LOST: self._lost,
            Kind.BACK: self._back,
            Kind.ARRIVAL: self._arrive,
            Kind.TIMER: self._tick,
            Kind.WAKE: self._woken,
        }

    def run(self) -> Ran:
        """Until every job is over, or nothing will happen any more. Raises Overbooked when a plan cannot be."""
        now = rounds = 0
        while self._events and self._over + len(self._nowhere) < len(self.trace.jobs):
            now = self._events[0][0]
            if self._happens(now):
                decision = self.planner.plan(now)
                self.planner.apply(decision, now)
                self._carry_out(decision, now)
                rounds += 1
            self.series.note(now, self.ledger)
            self._arm(now)
        return Ran(self.ledger, self.series, tuple(self._nowhere), rounds, now)

    def _happens(self, now: int) -> bool:
        """Handle all events of this moment. False when none of them was of any account."""
        counts = False
        while self._events and self._events[0][0] == now:
            _, kind, _, what = heapq.heappop(self._events)
            counts |= self._handlers[kind](what, now)
        return counts

    def _carry_out(self, decision: Decision, now: int) -> None:
        if decision.growths or any(eviction.keep is not None for eviction in decision.evictions):
            raise ValueError("gangs of a trace have one size: none can grow or shrink")
        for start in decision.starts:
            gang = self.ledger.start(start.request, start.pods, now)
            self._at(now + gang.length, Kind.END, (gang, gang.runs))
        for eviction in decision.evictions:
            gang = self.ledger.evict(eviction.victim, now)
            self._at(now + self.rules.drain, Kind.LEFT, (gang, gang.runs))
        for promise in decision.promises:
            self.ledger.promise(promise, now)

    def _arm(self, now: int) -> None:
        if self.rules.round_every and self.ledger.waiting and self._events and not self._timer:
            self._timer = True
            self._at(now + self.rules.round_every, Kind.TIMER, None)
        wake = self.planner.wakes()
        if wake is not None and wake > now and (self._wake is None or wake < self._wake):
            self._wake = wake
            self._at(wake, Kind.WAKE, None)

    def _at(self, when: int, kind: Kind, what: object) -> None:
        self._number += 1
        heapq.heappush(self._events, (when, kind, self._number, what))

    def _end(self, what: tuple[Gang, int], now: int) -> bool:
        gang, run = what
        if gang.since is None or gang.runs != run or gang.leaving is not None:
            return False  # it was displaced before its end
        self.ledger.end(gang, now)
        self.planner.ended(gang.job.request.id, now)
        self._over += 1
        self._progress(self._over, len(self.trace.jobs))
        return True

    def _left(self, what: tuple[Gang, int], now: int) -> bool:
        gang, run = what
        if gang.since is None or gang.runs != run:
            return False  # its node was lost before it had gone
        self.ledger.gone(gang, now)
        self._again(gang, now)
        return True

    def _lost(self, name: str, now: int) -> bool:
        hit = self.ledger.on(name)
        self.ledger.pool.open[self.ledger.pool.index[name]] = False
        self.planner.lost(name)
        for gang in hit:
            self.ledger.broken(gang, now)
            self._again(gang, now)
        return True

    def _back(self, name: str, now: int) -> bool:
        self.ledger.pool.open[self.ledger.pool.index[name]] = True
        self.planner.node(self.nodes[name])
        return True

    def _arrive(self, job: Job, now: int) -> bool:
        roles = job.request.roles
        if roles not in self._possible:
            self._possible[roles] = self.ledger.pool.could_ever(job.request)
        if not self._possible[roles]:
            self._nowhere.append(job.request.id)
            return False
        self.planner.submit(self.ledger.arrive(job).request)
        return True

    def _tick(self, what: None, now: int) -> bool:
        self._timer = False
        return True

    def _woken(self, what: None, now: int) -> bool:
        self._wake = None
        return True

    def _again(self, gang: Gang, now: int) -> None:
        self.planner.left(gang.job.request.id, now)
        self.planner.submit(gang.request)
