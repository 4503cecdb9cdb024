"""Attempts of a job, with the evidence of their ranks."""

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from definitions.attempt import AttemptObservation
from definitions.facts import AttemptSummary
from store.paging import Page, cursor, cut, read_number
from store.tables_jobs import AttemptRow, JobRow

EMPTY = {"nodes": [], "last_lines": [], "ranks": [], "event_count": -1}


def get(session: Session, tenant: str, project: str, job: str, number: int) -> AttemptRow | None:
    return session.scalar(_of(tenant, project, job).where(AttemptRow.number == number))


def newest(session: Session, tenant: str, project: str, job: str) -> AttemptRow | None:
    return session.scalar(_of(tenant, project, job).order_by(AttemptRow.number.desc()).limit(1))


def page(
    session: Session, tenant: str, project: str, job: str, *, limit: int, after: str | None = None
) -> Page[AttemptRow]:
    """Attempts from the first on, at most `limit`. `after` is the cursor of the page before; raises BadCursor."""
    query = _of(tenant, project, job).where(AttemptRow.number > (read_number(after) if after is not None else 0))
    rows = session.scalars(query.order_by(AttemptRow.number).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.number))


def record(session: Session, job: JobRow, summary: AttemptSummary, event_count: int) -> None:
    """Write what is known of an attempt; knowledge older than the row's (by event_count) changes nothing.

    `job` must be locked by this transaction. Safe to repeat, and in any order.
    """
    row = _row(session, job, summary.number, summary.token)
    if event_count < row.event_count:
        return
    for name, value in summary.model_dump(exclude={"number", "displaced"}).items():
        setattr(row, name, list(value) if isinstance(value, tuple) else value)
    row.event_count = event_count


def record_evidence(session: Session, job: JobRow, observation: AttemptObservation) -> None:
    """Keep what the runtime saw of each rank; the newest observation stands. `job` must be locked. Safe to repeat."""
    row = _row(session, job, observation.ref.number, observation.ref.token)
    if row.observed_at is not None and row.observed_at >= observation.at:
        return
    row.ranks = [rank.model_dump(mode="json") for rank in observation.ranks]
    row.observed_at = observation.at


def _row(session: Session, job: JobRow, number: int, token: str) -> AttemptRow:
    row = session.get(AttemptRow, (job.id, number))
    if row is None:
        row = AttemptRow(tenant=job.tenant, project=job.project, job=job.id, number=number, token=token, **EMPTY)
        row.reason, row.counted = "", True
        session.add(row)
        session.flush()
    return row


def _of(tenant: str, project: str, job: str) -> Select[AttemptRow]:
    return select(AttemptRow).where(AttemptRow.tenant == tenant, AttemptRow.project == project, AttemptRow.job == job)
