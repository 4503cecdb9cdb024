"""Wakes the scheduler of every pool that has news, or messages that were not delivered."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError

from activities.clock import utc_now
from activities.effects import effect
from definitions.ids import POOL_PREFIX, pool_workflow_id
from store import outbox, pools
from store.engine import reading
from workers.pausing import rounds
from workflows.scheduler import SchedulerInput, SchedulerWorkflow

PAUSE, AWAY_PAUSE = 0.1, 1.0  # seconds
SPACING = 0.3  # seconds between two wakings of a pool: news that come at once are one
AGAIN = 5.0  # seconds after which a pool is woken for the same news again
LATE = timedelta(seconds=5)  # a message that is older was left behind
AWAY = (RPCError, RuntimeError, OSError, SQLAlchemyError)
log = logging.getLogger(__name__)


class PoolWaker:
    """One loop per control worker; two at once do no harm, since a pool has one workflow and news are counted once."""

    def __init__(
        self,
        engine: Engine,
        client: Client,
        *,
        task_queue: str,
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`task_queue`: where workflows are served. `clock`: seconds, for the spacing of wakings."""
        self._engine = engine
        self._client = client
        self._queue = task_queue
        self._now = now
        self._clock = clock
        self._woken: dict[str, tuple[int, float]] = {}  # pool -> its newest change then, and when

    async def run(self, stop: asyncio.Event) -> None:
        """Wake pools until `stop` is set."""
        await rounds(stop, PAUSE, self.sweep, AWAY, _away, after_fault=AWAY_PAUSE)

    async def sweep(self) -> int:
        """Wake every pool that has news now; returns how many were woken. Safe to repeat: news are seen once."""
        waiting = await asyncio.to_thread(self._waiting)
        due = [pool for pool in sorted(waiting) if self._is_due(pool, waiting[pool])]
        for pool in due:
            await self._wake(pool, first=pool not in self._woken)
            self._woken[pool] = (waiting[pool], self._clock())
        return len(due)

    def _is_due(self, pool: str, newest: int) -> bool:
        known, at = self._woken.get(pool, (-1, float("-inf")))
        return self._clock() - at >= (SPACING if newest > known else AGAIN)

    async def _wake(self, pool: str, *, first: bool) -> None:
        with effect("wake-pool"):
            await self._client.start_workflow(
                SchedulerWorkflow.run,
                SchedulerInput(pool=pool),
                id=pool_workflow_id(pool),
                task_queue=self._queue,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                start_signal="restarted" if first else "changed",  # the first that this process sends
                static_summary=f"scheduler of pool {pool}",
            )

    def _waiting(self) -> Mapping[str, int]:
        """Pools to be woken -> their newest change, 0 for those that only have messages left."""
        with reading(self._engine) as session:
            late = outbox.topics(session, self._now() - LATE)
            left = {topic.removeprefix(POOL_PREFIX): 0 for topic in late if topic.startswith(POOL_PREFIX)}
            return left | pools.waiting_pools(session)


def _away(error: Exception) -> None:
    log.warning("the engine or the database is away; pools are decided for later: %s", error)
