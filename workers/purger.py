"""Removes what deleted jobs of one cluster left: what its runtime keeps of them, and their objects.

Runs where that cluster's runtime is. Outside things go first and the row says so afterwards, so that what a crash
leaves half done is found again. Every step is safe to repeat, also by two purgers at once.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from activities.clock import utc_now
from activities.ports import ObjectStore, Runtime
from definitions.attempt import AttemptRef
from definitions.object_keys import job_prefix
from policies.job_steps import attempt_token
from store import system
from store.tables import JobRow
from workers.pausing import rounds
from workers.row_walk import RowWalk, passing_over

PERIOD = timedelta(minutes=1)
log = logging.getLogger(__name__)


class Purger:
    """One per cluster; more do no harm."""

    def __init__(
        self,
        engine: Engine,
        runtime: Runtime,
        objects: ObjectStore,
        cluster: str,
        *,
        period: timedelta = PERIOD,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._rows = RowWalk(engine)
        self._runtime = runtime
        self._objects = objects
        self._cluster = cluster
        self._period = period
        self._now = now

    @property
    def halted(self) -> Callable[[], bool]:
        return self._rows.halted

    @halted.setter
    def halted(self, asked: Callable[[], bool]) -> None:
        self._rows.halted = asked

    async def run(self, stop: asyncio.Event) -> None:
        """Purge now and then every period, until `stop` is set; what is under way then ends after its present job."""
        self.halted = stop.is_set
        period = self._period.total_seconds()
        await rounds(stop, period, lambda: asyncio.to_thread(self.purge), (SQLAlchemyError,), _complain)

    def purge(self) -> int:
        """Everything that is due once; returns how many jobs were settled. Raises SQLAlchemyError."""
        now = self._now()
        purged = 0
        for row in self._rows.walk(system.deleted_jobs, self._cluster):
            with passing_over(f"job {row.id}"):
                self._runtime.forget(last_attempt(row))
                drop_objects(self._objects, row)
                self._rows.write(system.mark_purged, row, now)
                purged += 1
        return purged


def _complain(error: Exception) -> None:
    log.warning("nothing can be purged this time: %s", type(error).__name__)


def drop_objects(objects: ObjectStore, job: JobRow) -> None:
    """Remove every object of a job. Raises PortError."""
    prefix = job_prefix(job.tenant, job.project, job.id)
    last: str | None = None
    while found := objects.list(prefix, after=last):
        for info in found:
            objects.delete(info.key)
        last = found[-1].key


def last_attempt(row: JobRow) -> AttemptRef:
    token = attempt_token(row.seed, row.attempt)
    return AttemptRef(tenant=row.tenant, project=row.project, job=row.id, number=row.attempt, token=token)
