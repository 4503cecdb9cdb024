"""Brings the engine's schedules to what the rows say: rows are the wish, and this loop is the only one that tells the
engine. A schedule is therefore accepted when its row is committed, also while the engine is away."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from temporalio.service import RPCError, RPCStatusCode

from activities.clock import utc_now
from activities.effects import effect
from activities.schedules import Tick
from definitions.schedule import Schedule
from definitions.schedule_record import StoredSchedule
from store import schedules, system
from store.engine import reading
from workers.pausing import rounds
from workers.schedule_backend import TemporalSchedules

PERIOD = timedelta(seconds=1)
DELETIONS_KEPT = timedelta(days=30)  # a deletion is told again after a restart for so long
log = logging.getLogger(__name__)
Key = tuple[str, str, str]


class ScheduleSync:
    """One loop per control worker; two at once do no harm, since both tell the same."""

    def __init__(
        self,
        engine: Engine,
        backend: TemporalSchedules,
        *,
        period: timedelta = PERIOD,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._backend = backend
        self._period = period.total_seconds()
        self._now = now
        self._told: dict[Key, int] = {}  # generations that the engine has; empty at the start: all are told again

    async def run(self, stop: asyncio.Event) -> None:
        """Tell what is new, now and then every period, until `stop` is set."""
        await rounds(stop, self._period, self.sweep, (RPCError, RuntimeError, SQLAlchemyError), _away)

    async def sweep(self) -> int:
        """Tell the engine of every schedule that changed since it was last told; returns how many. Safe to repeat."""
        present = await asyncio.to_thread(self._generations)
        changed = {key: generation for key, generation in present.items() if self._told.get(key) != generation}
        for key, generation in changed.items():
            try:
                await self._tell(key)
            except ValueError as error:  # pydantic's too
                log.error("schedule %s cannot be read, so it does not fire: %s", "/".join(key), error)
            except RPCError as error:
                if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                    raise
                log.error("schedule %s is refused by the engine, so it does not fire: %s", "/".join(key), error)
            self._told[key] = generation
        return len(changed)

    async def _tell(self, key: Key) -> None:
        """The row is read now, so that what is told is never older than the generation that is noted."""
        tenant, project, name = key
        tick = Tick(tenant=tenant, project=project, schedule=name)
        wanted = await asyncio.to_thread(self._wanted, tick)
        with effect("tell-schedule"):
            if wanted is None:
                await self._backend.delete(tick)
            else:
                schedule, paused = wanted
                await self._backend.apply(tick, schedule, paused=paused)

    def _generations(self) -> dict[Key, int]:
        with reading(self._engine) as session:
            return system.schedule_generations(session, self._now() - DELETIONS_KEPT)

    def _wanted(self, tick: Tick) -> tuple[Schedule, bool] | None:
        with reading(self._engine) as session:
            row = schedules.get(session, tick.tenant, tick.project, tick.schedule)
        if row is None:
            return None
        stored = StoredSchedule.model_validate(row.document)
        return Schedule.model_validate(stored.document), row.paused


def _away(error: Exception) -> None:
    log.warning("the engine or the database is away; changed schedules wait: %s", error)
