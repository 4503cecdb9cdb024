"""Deciding for a pool: who runs where from now on. One activity, on a task queue of its own, one at a time.

Snapshot, decide, commit, notify. A process that dies after the commit has decided: what it did not deliver is delivered
with the next decision. One that dies before has done nothing.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from temporalio import activity

from activities.clock import utc_now
from activities.effects import beating, effect
from activities.job import port_errors
from activities.ports import PortError
from activities.scheduling_facts import JobSignals, News, Pools, Turn
from definitions.errors import PerdureError
from definitions.wire import Wire
from store.verdicts import Committed

if TYPE_CHECKING:
    from activities.scheduling_round import Pool

AT_ONCE = 500  # messages
PLAIN_LOOPS = "NUMBA_DISABLE_JIT"  # of the environment
AGAIN = 5.0  # seconds until what could not be delivered is tried again


class Decided(Wire):
    """`wake_after`: seconds until the next decision is due; None: not before there are news. `decision`: the pool's
    last. The others count gangs: that got places or were told to go now, and that wait."""

    wake_after: float | None = None
    decision: int = 0
    placed: int = 0
    told: int = 0
    waiting: int = 0


class SchedulerActivities:
    """Served by one thread: what is kept of a pool between two decisions belongs to it."""

    def __init__(
        self,
        pools: Pools,
        jobs: JobSignals,
        now: Callable[[], datetime] = utc_now,
        resize_every: timedelta | None = None,
        compile_from: int = 0,
    ) -> None:
        """`resize_every`: how often the scheduler may change an elastic job's size; None: its own measure.
        `compile_from`: nodes from which on the loops are compiled."""
        self._pools = pools
        self._jobs = jobs
        self._now = now
        self._resize_every = resize_every
        self._compile_from = compile_from
        self._kept: dict[str, Pool] = {}

    @activity.defn
    def decide(self, pool: str) -> Decided:
        """Decide once. Safe to repeat: what was committed is news to the next decision, and every message is heard
        once."""
        with beating(), port_errors():
            with effect("schedule-take"):
                turn = self._pools.take(pool)
            decided = self._decide(turn)
            if not self._deliver(pool):
                soon = AGAIN if decided.wake_after is None else min(AGAIN, decided.wake_after)
                return decided.model_copy(update={"wake_after": soon})
        return decided

    def _decide(self, turn: Turn) -> Decided:
        now = self._now()
        kept = self._kept.pop(turn.pool, None)  # whatever fails from here on, it is not used again
        if kept is not None and not kept.continues(turn):
            kept = None
        with effect("schedule-read"):
            marks = None if kept is None else kept.world.marks
            news = self._pools.news(turn.pool, marks, watched=kept is None or kept.watches(now))
        if kept is None or not kept.follow(turn, news, now):
            kept = self._built(turn, news, now)
        draft = kept.decide(news, now)
        verdict, done = draft.verdict, Committed(turn.decision)
        if verdict.decides or verdict.seen or verdict.past:
            with effect("schedule-commit"):
                done = self._pools.commit(turn, verdict, now)
        kept.settle(draft, done, now)
        self._kept[turn.pool] = kept
        return Decided(
            wake_after=kept.wake_after(draft, done, news, now),
            decision=done.decision,
            placed=len(done.given),
            told=len(verdict.told),
            waiting=kept.waiting,
        )

    def _built(self, turn: Turn, news: News, now: datetime) -> Pool:
        with effect("schedule-read"), _lasting():
            if news.watched is None:
                news = self._pools.news(turn.pool, None, watched=True)
            whole = self._pools.whole(turn.pool)  # after the changes: what comes in between is seen twice
        choose_loops(len(whole.nodes), self._compile_from)
        from activities.scheduling_round import Pool  # arrays and kernels are loaded when they are needed first

        try:
            with _lasting():
                return Pool(turn, whole, news, now, self._resize_every)
        except PerdureError as error:
            raise PortError(
                f"the scheduler's documents cannot be used: {error.detail}", code=error.code.code
            ) from error

    def _deliver(self, pool: str) -> bool:
        """Tell jobs what was decided, now or before; False when some were not reached."""
        while True:
            with effect("schedule-notify"):
                messages = self._pools.messages(pool, AT_ONCE)
                arrived = self._jobs.tell(messages) if messages else frozenset()
            if arrived:
                with effect("schedule-delivered"):
                    self._pools.delivered(arrived)
            if len(arrived) < len(messages):
                return False
            if len(messages) < AT_ONCE:
                return True


def choose_loops(nodes: int, compile_from: int) -> None:
    """Have the scheduler's loops run uncompiled in this process for fewer nodes than that: a few are decided for sooner
    than a compiler is done. Of no effect once they are loaded, or where the environment has the choice made."""
    if nodes < compile_from and "numba" not in sys.modules:
        os.environ.setdefault(PLAIN_LOOPS, "1")


@contextmanager
def _lasting() -> Iterator[None]:
    """What is made here is left alone by the collector of garbage: a pool of 100,000 pods is made of millions of
    objects without circles, over which it would walk again and again, now and for as long as they are kept."""
    gc.collect()  # so that no garbage is kept with them
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
