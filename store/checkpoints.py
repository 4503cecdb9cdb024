"""Checkpoints of jobs as they were judged. A folder that was deleted stays deleted, whatever arrives late."""

import re
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from definitions.attempt import CheckpointRecord
from store.paging import Page, cursor, cut, read_name
from store.tables_jobs import CheckpointRow, JobRow

FOLDER = re.compile(r"(?:.*/)?step-(?P<step>\d+)\.(?P<token>[^/]+)")


def page(
    session: Session, tenant: str, project: str, job: str, *, limit: int, after: str | None = None
) -> Page[CheckpointRow]:
    """Checkpoints that are there, by folder (that is, by step), at most `limit`; raises BadCursor."""
    query = _of(tenant, project, job)
    if after is not None:
        query = query.where(CheckpointRow.folder > read_name(after))
    rows = session.scalars(query.order_by(CheckpointRow.folder).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.folder))


def find(session: Session, tenant: str, project: str, job: str, step: int | None = None) -> CheckpointRow | None:
    """The complete checkpoint of a step, or of the newest step; the last saved one where several have it."""
    query = _of(tenant, project, job).where(CheckpointRow.complete)
    if step is not None:
        query = query.where(CheckpointRow.step == step)
    return session.scalar(query.order_by(CheckpointRow.step.desc(), CheckpointRow.saved_at.desc()).limit(1))


def record(session: Session, job: JobRow, records: Sequence[CheckpointRecord], judged_at: datetime) -> None:
    """Write judgements; the newest of each folder stands. `job` must be locked. Safe to repeat, and in any order."""
    for record in records:
        row = _row(session, job, record.folder)
        if row.verified_at is not None and row.verified_at >= judged_at:
            continue
        for name, value in record.model_dump(exclude={"folder"}).items():
            setattr(row, name, value)
        row.verified_at = judged_at


def settle(session: Session, job: JobRow, records: Sequence[CheckpointRecord], judged_at: datetime) -> None:
    """Write judgements of everything that is there: a folder that is not among them is gone, whoever removed it.

    `job` must be locked. Safe to repeat.
    """
    record(session, job, records, judged_at)
    present = {judged.folder for judged in records}
    for row in session.scalars(_of(job.tenant, job.project, job.id)):
        if row.folder not in present and (row.verified_at is None or row.verified_at < judged_at):
            row.deleted_at = judged_at


def mark_deleted(session: Session, job: JobRow, folders: Sequence[str], now: datetime) -> None:
    """Say that folders are gone, also those not recorded yet. `job` must be locked. Safe to repeat."""
    for folder in folders:
        row = _row(session, job, folder)
        row.deleted_at = row.deleted_at or now


def mark_all_deleted(session: Session, job: JobRow, now: datetime) -> None:
    """Say that everything the job saved is gone. Safe to repeat."""
    for row in session.scalars(_of(job.tenant, job.project, job.id)):
        row.deleted_at = now


def _row(session: Session, job: JobRow, folder: str) -> CheckpointRow:
    row = session.get(CheckpointRow, (job.id, folder))
    if row is None:
        named = FOLDER.fullmatch(folder)
        row = CheckpointRow(tenant=job.tenant, project=job.project, job=job.id, folder=folder)
        row.step, row.token = (int(named["step"]), named["token"]) if named else (0, "")
        row.attempt, row.complete, row.problem, row.bytes, row.files, row.metrics = 0, False, "", 0, 0, {}
        session.add(row)
        session.flush()
    return row


def _of(tenant: str, project: str, job: str) -> Select[CheckpointRow]:
    mine = (CheckpointRow.tenant == tenant, CheckpointRow.project == project, CheckpointRow.job == job)
    return select(CheckpointRow).where(*mine, CheckpointRow.deleted_at.is_(None))
