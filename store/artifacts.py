"""Files that attempts left, as they lie in the object store. What was deleted stays deleted."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, select, tuple_
from sqlalchemy.orm import Session

from definitions.attempt import ArtifactRecord
from store.paging import Page, cursor, cut, read_name_and_number, typed
from store.tables_jobs import ArtifactRow, JobRow
from store.upsert import insert_or_newer


def get(
    session: Session, tenant: str, project: str, job: str, path: str, attempt: int | None = None
) -> ArtifactRow | None:
    """The file of this path that an attempt left; without a number, the last attempt that left one."""
    query = _of(tenant, project, job).where(ArtifactRow.path == path)
    if attempt is not None:
        query = query.where(ArtifactRow.attempt == attempt)
    return session.scalar(query.order_by(ArtifactRow.attempt.desc()).limit(1))


def page(
    session: Session, tenant: str, project: str, job: str, *, limit: int, after: str | None = None
) -> Page[ArtifactRow]:
    """Artifacts by path and attempt, at most `limit`. `after` is the cursor of the page before; raises BadCursor."""
    query, key = _of(tenant, project, job), (ArtifactRow.path, ArtifactRow.attempt)
    if after is not None:
        query = query.where(tuple_(*key) > typed(key, read_name_and_number(after)))
    rows = session.scalars(query.order_by(*key).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.path, row.attempt))


def record(session: Session, job: JobRow, attempt: int, files: Sequence[ArtifactRecord], now: datetime) -> None:
    """Write which files an attempt left. Safe to repeat, and in any order: the newest record of a file stands."""
    common = {"tenant": job.tenant, "project": job.project, "job": job.id, "attempt": attempt, "created_at": now}
    rows = [common | file.model_dump() for file in files]
    written = ("created_at", "bytes", "sha256", "object_key")
    insert_or_newer(session, ArtifactRow, rows, ("job", "path", "attempt"), written)


def mark_deleted(session: Session, row: ArtifactRow, now: datetime) -> None:
    """Say that the object is gone; do so after removing it. Safe to repeat."""
    found = session.get(ArtifactRow, (row.job, row.path, row.attempt))
    if found is not None:
        found.deleted_at = found.deleted_at or now


def _of(tenant: str, project: str, job: str) -> Select[ArtifactRow]:
    mine = (ArtifactRow.tenant == tenant, ArtifactRow.project == project, ArtifactRow.job == job)
    return select(ArtifactRow).where(*mine, ArtifactRow.deleted_at.is_(None))
