"""Finds the jobs that a job is to wait for, when it is accepted, and lets it follow those that have not ended."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from definitions.errors import PerdureError
from definitions.job_order import Awaited
from definitions.job_relations import Dependency
from definitions.spec_errors import did_you_mean
from definitions.states import Phase
from store import followers, jobs
from store.tables_jobs import JobRow
from store.upsert import chunks

NAMES = 1000  # of newest jobs, among which a misspelled name is looked for


def found(session: Session, tenant: str, project: str, after: Sequence[Dependency]) -> tuple[Awaited, ...]:
    """The jobs that these entries name, in their order: by id, or the newest of a name. With how they have ended, if
    they have.

    Raises PD-2190 for one that is not there in the project or deleted, PD-2191 for one that is named twice.
    """
    rows = [jobs.get(session, tenant, project, entry.job) for entry in after]
    faults = [
        _unknown(session, tenant, project, entry.job, at)
        for at, (entry, row) in enumerate(zip(after, rows, strict=True))
        if row is None
    ]
    if len(faults) == 1:
        raise faults[0]
    if faults:
        named = ", ".join(sorted({entry.job for entry, row in zip(after, rows, strict=True) if row is None}))
        raise PerdureError("PD-2190", f"there are no jobs {named} in project {project!r}", errors=faults)
    there = [row for row in rows if row is not None]
    _check_distinct(there)
    return tuple(_awaited(entry, row) for entry, row in zip(after, there, strict=True))


def follow(session: Session, tenant: str, project: str, awaited: Sequence[Awaited], job: str) -> tuple[Awaited, ...]:
    """Let `job` be told of the ends that are awaited. Returns them with how those have ended that have, of which nobody
    tells any more. Holds their rows, by id, until the transaction is over. Safe to repeat."""
    ends = {one.job: followers.follow(session, tenant, project, one.job, job) for one in _by_id(awaited)}
    return tuple(
        one if (end := ends[one.job]) is None else one.model_copy(update={"phase": end.phase, "failure": end.failure})
        for one in awaited
    )


def phases(session: Session, tenant: str, project: str, ids: Sequence[str]) -> dict[str, Phase]:
    """Where some jobs are, the deleted ones too."""
    known: dict[str, Phase] = {}
    for some in chunks(sorted(set(ids))):
        mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.id.in_(some))
        known |= {job: phase for job, phase in session.execute(select(JobRow.id, JobRow.phase).where(*mine))}
    return known


def _unknown(session: Session, tenant: str, project: str, name: str, at: int) -> PerdureError:
    mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.deleted_at.is_(None))
    newest = select(JobRow.name).where(*mine).order_by(JobRow.created_at.desc(), JobRow.id.desc()).limit(NAMES)
    close = did_you_mean(name, session.scalars(newest))
    detail = f"there is no job {name!r} in project {project!r}"
    remedy = f"Did you mean {close}?" if close else None
    return PerdureError("PD-2190", detail, where=f"spec.after[{at}].job", remedy=remedy)


def _check_distinct(rows: Sequence[JobRow]) -> None:
    seen: dict[str, int] = {}
    for at, row in enumerate(rows):
        if row.id in seen:
            detail = f"job {row.name} ({row.id}) is named in entry {seen[row.id]} already"
            raise PerdureError("PD-2191", detail, where=f"spec.after[{at}].job")
        seen[row.id] = at


def _awaited(entry: Dependency, row: JobRow) -> Awaited:
    over = row.phase.is_final
    return Awaited(
        job=row.id,
        name=row.name,
        outcome=entry.outcome,
        phase=row.phase if over else None,
        failure=row.failure if over else None,
    )


def _by_id(awaited: Sequence[Awaited]) -> list[Awaited]:
    """So that two who follow the same jobs never wait for each other."""
    return sorted(awaited, key=lambda one: one.job)
