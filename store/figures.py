"""Numbers about a tenant's jobs, counted by the database. What only ever grows includes deleted jobs.

An array is no job beside those that it makes: it runs nothing itself.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Float, case, cast, extract, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from definitions.wire import Wire
from store.tables_jobs import AttemptRow, JobRow


class JobCount(Wire):
    project: str
    phase: str
    failure: str | None
    count: int


class AttemptCount(Wire):
    project: str
    failure: str | None
    count: int


class Times(Wire):
    """How long something took: `cumulative[i]` of `count` jobs at most `bounds[i]` seconds, all together `seconds`."""

    project: str
    bounds: tuple[int, ...]
    cumulative: tuple[int, ...]
    count: int
    seconds: float


def jobs_by_phase(session: Session, tenant: str) -> list[JobCount]:
    key = (JobRow.project, JobRow.phase, JobRow.failure)
    query = select(*key, func.count()).where(JobRow.tenant == tenant, JobRow.deleted_at.is_(None), _runs())
    return [
        JobCount(project=project, phase=phase, failure=failure, count=count)
        for project, phase, failure, count in session.execute(query.group_by(*key))
    ]


def attempts_by_failure(session: Session, tenant: str) -> list[AttemptCount]:
    """Ended attempts, those of deleted jobs too: a counter must not fall."""
    key = (AttemptRow.project, AttemptRow.failure)
    query = select(*key, func.count()).where(AttemptRow.tenant == tenant, AttemptRow.ended_at.is_not(None))
    return [
        AttemptCount(project=project, failure=failure, count=count)
        for project, failure, count in session.execute(query.group_by(*key))
    ]


def queue_times(session: Session, tenant: str, bounds: Sequence[int]) -> list[Times]:
    """From acceptance to the first start, of jobs that have started."""
    return _times(session, tenant, JobRow.created_at, JobRow.started_at, bounds)


def run_times(session: Session, tenant: str, bounds: Sequence[int]) -> list[Times]:
    """From the first start to the end, of jobs that have ended."""
    return _times(session, tenant, JobRow.started_at, JobRow.ended_at, bounds)


Moment = InstrumentedAttribute[object]


def _times(session: Session, tenant: str, begin: Moment, end: Moment, bounds: Sequence[int]) -> list[Times]:
    seconds = _seconds(session, begin, end)
    within = [func.sum(case((seconds <= bound, 1), else_=0)) for bound in bounds]
    query = select(JobRow.project, func.count(), func.sum(seconds), *within)
    query = query.where(JobRow.tenant == tenant, begin.is_not(None), end.is_not(None), _runs())
    return [
        Times(project=project, bounds=tuple(bounds), cumulative=tuple(cumulative), count=count, seconds=float(total))
        for project, count, total, *cumulative in session.execute(query.group_by(JobRow.project))
    ]


def _runs() -> ColumnElement[bool]:
    """Whether a job has pods of its own: no other names it as its array. An array that has made none yet counts as one.

    Not NOT IN: PostgreSQL compares each job with each one of an array once these are too many for its memory.
    """
    child = aliased(JobRow)
    of_it = (child.tenant == JobRow.tenant, child.project == JobRow.project, child.parent == JobRow.id)
    return ~select(child.id).where(*of_it).exists()


def _seconds(session: Session, begin: Moment, end: Moment) -> ColumnElement[Any]:
    """SQLite keeps times as microseconds, PostgreSQL as timestamps."""
    if session.get_bind().dialect.name == "sqlite":
        return (cast(end, Float) - cast(begin, Float)) / 1_000_000
    return cast(extract("epoch", end) - extract("epoch", begin), Float)
