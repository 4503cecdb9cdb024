"""A job's history: lines are added, never changed. `seq` is the order in which they arrived."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from definitions.facts import Event
from store.paging import Page, cursor, cut, read_number
from store.tables_jobs import EventRow, JobRow
from store.upsert import insert_missing


def append(session: Session, tenant: str, project: str, job: str, new: Sequence[Event]) -> int:
    """Add the events whose keys the job does not have yet; returns how many. Safe to repeat.

    Writers of one job take turns: otherwise a reader that waits for what follows the last `seq` it saw would miss a
    lower number that is committed later.
    """
    if not new:
        return 0
    session.execute(select(JobRow.id).where(JobRow.id == job).with_for_update())
    rows = [{"tenant": tenant, "project": project, "job": job} | event.model_dump() for event in new]
    return insert_missing(session, EventRow, rows, ("job", "key"))


def after(session: Session, tenant: str, project: str, job: str, seq: int, limit: int) -> list[EventRow]:
    """Events that arrived after number `seq`, oldest first."""
    query = _of(tenant, project, job).where(EventRow.seq > seq).order_by(EventRow.seq).limit(limit)
    return list(session.scalars(query))


def tail(session: Session, tenant: str, project: str, job: str, limit: int) -> list[EventRow]:
    """The last events, oldest of them first."""
    query = _of(tenant, project, job).order_by(EventRow.seq.desc()).limit(limit)
    return list(session.scalars(query))[::-1]


def page(
    session: Session,
    tenant: str,
    project: str,
    job: str,
    *,
    limit: int,
    after: str | None = None,
    since: datetime | None = None,
) -> Page[EventRow]:
    """Events oldest first, at most `limit`. `after` is the cursor of the page before; raises BadCursor."""
    query = _of(tenant, project, job).where(EventRow.seq > (read_number(after) if after is not None else 0))
    if since is not None:
        query = query.where(EventRow.at >= since)
    rows = session.scalars(query.order_by(EventRow.seq).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.seq))


def _of(tenant: str, project: str, job: str) -> Select[EventRow]:
    return select(EventRow).where(EventRow.tenant == tenant, EventRow.project == project, EventRow.job == job)
