"""Stored snapshots. Upload order: `touch`; if there is none, put the object (whole, over whatever is there), `record`.

Cleanup removes object and row under the row's lock (`lock_unused`), so a touch either comes first and protects the
snapshot, or comes after and finds nothing: nobody relies on bytes that are being removed.
"""

from datetime import datetime

from sqlalchemy import ColumnElement, delete, exists, select, update
from sqlalchemy.orm import Session

from store.base import Document
from store.tables_jobs import JobRow
from store.tables_library import ScheduleRow, SnapshotRow
from store.upsert import changed, insert_missing

SCHEDULED_SNAPSHOT = ("document", "spec", "job", "spec", "workdir", "snapshot")  # in a schedule's row


def touch(session: Session, tenant: str, project: str, sha256: str, now: datetime) -> bool:
    """Whether the snapshot is stored; if so, it is safe from cleanup for a while. Needs a write session."""
    statement = update(SnapshotRow).where(*_is(tenant, project, sha256)).values(last_used_at=now)
    return changed(session, statement) == 1


def get(session: Session, tenant: str, project: str, sha256: str) -> SnapshotRow | None:
    return session.get(SnapshotRow, (tenant, project, sha256))


def record(
    session: Session,
    tenant: str,
    project: str,
    sha256: str,
    *,
    bytes: int,
    files: int,
    object_key: str,
    git: Document | None = None,
    now: datetime,
) -> None:
    """Say that the object is stored. Safe to repeat: the first record stands, and counts as used now."""
    row = dict(tenant=tenant, project=project, sha256=sha256, bytes=bytes, files=files, object_key=object_key, git=git)
    times = dict(created_at=now, last_used_at=now)
    if not insert_missing(session, SnapshotRow, [row | times], ("tenant", "project", "sha256")):
        touch(session, tenant, project, sha256, now)


def lock_unused(session: Session, tenant: str, project: str, sha256: str, unused_since: datetime) -> SnapshotRow | None:
    """The snapshot, locked, if still no job or schedule that is not deleted names it and nobody touched it since."""
    query = select(SnapshotRow).where(*_is(tenant, project, sha256), *unused(unused_since))
    return session.scalar(query.with_for_update())


def forget(session: Session, tenant: str, project: str, sha256: str) -> None:
    """Remove the row, after the object. Safe to repeat."""
    session.execute(delete(SnapshotRow).where(*_is(tenant, project, sha256)))


def unused(since: datetime) -> tuple[ColumnElement[bool], ...]:
    """The conditions under which a snapshot may go."""
    named = exists().where(
        JobRow.tenant == SnapshotRow.tenant,
        JobRow.project == SnapshotRow.project,
        JobRow.snapshot == SnapshotRow.sha256,
        JobRow.deleted_at.is_(None),
    )
    # A schedule may fire for the first time, or again, long after its folder was uploaded.
    scheduled = exists().where(
        ScheduleRow.tenant == SnapshotRow.tenant,
        ScheduleRow.project == SnapshotRow.project,
        ScheduleRow.document[SCHEDULED_SNAPSHOT].as_string() == SnapshotRow.sha256,
        ScheduleRow.deleted_at.is_(None),
    )
    return SnapshotRow.last_used_at < since, ~named, ~scheduled


def _is(tenant: str, project: str, sha256: str) -> tuple[ColumnElement[bool], ...]:
    return SnapshotRow.tenant == tenant, SnapshotRow.project == project, SnapshotRow.sha256 == sha256
