"""Removes what has outlived its time: jobs, artifacts, snapshots, answers. Looks once a minute.

Outside things go first and the row says so afterwards, so what a crash leaves half done is found again. Every step is
safe to repeat, also by two sweepers at once. What cannot be removed is logged, passed over, and tried at the next look.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from pydantic import ValidationError
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from activities.clock import utc_now
from activities.ports import ObjectStore, Runtime
from definitions.cluster import LOCAL_CLUSTER
from definitions.facts import Event
from definitions.job import Job
from policies.array_moves import with_its_array
from policies.cleanup import CleanupRules, Expiry, expiry, why_expired
from policies.job_steps import SYSTEM
from store import artifacts, decisions, jobs, outbox, snapshots, system
from store.engine import session
from store.tables import JobRow, SnapshotRow
from workers.pausing import rounds
from workers.purger import PERIOD, Purger, drop_objects
from workers.row_walk import PAGE, RowWalk, passing_over

log = logging.getLogger(__name__)


class Sweeper:
    """One per control worker; more do no harm."""

    def __init__(
        self,
        engine: Engine,
        runtime: Runtime,
        objects: ObjectStore,
        *,
        rules: CleanupRules | None = None,
        period: timedelta = PERIOD,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._rows = RowWalk(engine)
        self._purger = Purger(engine, runtime, objects, LOCAL_CLUSTER, now=now)
        self._objects = objects
        self._rules = rules or CleanupRules()
        self._period = period
        self._now = now

    async def run(self, stop: asyncio.Event) -> None:
        """Sweep now and then every period, until `stop` is set; a sweep under way then ends after its present item."""
        self._rows.halted = self._purger.halted = stop.is_set
        period = self._period.total_seconds()
        await rounds(stop, period, lambda: asyncio.to_thread(self.sweep), (SQLAlchemyError,), _complain)

    def sweep(self) -> int:
        """Do everything that is due once; returns how many things were settled. Raises SQLAlchemyError."""
        now = self._now()
        cleaning = (self._purge, self._abandon, self._drop_artifacts, self._drop_snapshots, self._forget)
        steps = (self._plan, self._expire, self._follow_arrays, *cleaning)
        settled = {step.__name__.lstrip("_"): step(now) for step in steps}
        if any(settled.values()):
            log.info("swept", extra=settled)
        return sum(settled.values())

    def _plan(self, now: datetime) -> int:
        """Work out, for jobs that have ended, when they and their artifacts go."""
        planned = 0
        while rows := self._rows.read(system.ended_unplanned, PAGE):
            for row in rows:
                if self._rows.halted():
                    return planned
                times = _expiry(row)
                self._rows.write(system.plan_cleanup, row.id, now, times.job, times.artifacts)
                planned += 1
        return planned

    def _expire(self, now: datetime) -> int:
        """Delete jobs whose time is over, as a person would."""
        return sum(
            self._rows.write(jobs.delete, row.tenant, row.project, row.id, now, _expired(row, now))
            for row in self._rows.walk(system.expired_jobs, now)
        )

    def _follow_arrays(self, now: datetime) -> int:
        """Delete jobs whose array was deleted."""
        return sum(
            self._rows.write(jobs.delete, row.tenant, row.project, row.id, now, with_its_array(now))
            for row in self._rows.walk(system.orphans)
        )

    def _purge(self, now: datetime) -> int:
        """Remove what deleted jobs of this machine left. Other clusters' workers see to theirs."""
        return self._purger.purge()

    def _abandon(self, now: datetime) -> int:
        """Remove the objects of deleted jobs whose cluster was removed. What is left there is out of reach."""
        purged = 0
        for row in self._rows.walk(system.abandoned_jobs):
            with passing_over(f"job {row.id}"):
                drop_objects(self._objects, row)
                self._rows.write(system.mark_purged, row, now)
                purged += 1
        return purged

    def _drop_artifacts(self, now: datetime) -> int:
        dropped = 0
        for row in self._rows.walk(system.expired_artifacts, now):
            with passing_over(f"artifact {row.path} of job {row.job}"):
                self._objects.delete(row.object_key)
                self._rows.write(artifacts.mark_deleted, row, now)
                dropped += 1
        return dropped

    def _drop_snapshots(self, now: datetime) -> int:
        since = now - self._rules.snapshots
        dropped = 0
        for row in self._rows.walk(system.unused_snapshots, since):
            with passing_over(f"snapshot {row.sha256}"):
                dropped += self._drop_snapshot(row, since)
        return dropped

    def _drop_snapshot(self, row: SnapshotRow, since: datetime) -> int:
        """Object and row go while the row is locked: a submit that comes meanwhile waits, and finds the truth."""
        place = (row.tenant, row.project, row.sha256)
        with session(self._engine) as active:
            if snapshots.lock_unused(active, *place, since) is None:
                return 0
            self._objects.delete(row.object_key)
            snapshots.forget(active, *place)
        return 1

    def _forget(self, now: datetime) -> int:
        return (
            self._rows.forget(system.forget_requests, now - self._rules.requests)
            + self._rows.forget(decisions.forget, now - self._rules.decisions)
            + self._rows.forget(outbox.forget, now - self._rules.messages)
        )


def _complain(error: Exception) -> None:
    log.warning("nothing can be swept this time: %s", type(error).__name__)


def _expiry(row: JobRow) -> Expiry:
    """What the job's own document says. One that cannot be read any more is kept until someone deletes the job."""
    assert row.ended_at is not None
    try:
        spec = Job.model_validate(row.spec).spec
    except ValidationError as error:
        log.warning("job %s is kept: its document cannot be read (%d faults)", row.id, error.error_count())
        return Expiry()
    return expiry(row.ended_at, spec.ttl_after_finished, spec.artifacts.keep_for)


def _expired(row: JobRow, now: datetime) -> Event:
    assert row.ended_at is not None
    assert row.expires_at is not None
    reason = why_expired(row.ended_at, row.expires_at)
    return Event(key="deleted", at=now, actor=SYSTEM, kind="deleted", reason=reason)
