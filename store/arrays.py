"""Jobs of arrays: making them with word to their array, counting them, and removing them with it.

A job's id derives from its array and its index, so that it is made once, whatever comes twice. The array's row is held
meanwhile: who ends or deletes the array comes before, and then nothing is made, or comes after.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from definitions.errors import PerdureError
from definitions.facts import Event
from definitions.job import Job
from definitions.states import Phase
from definitions.submission import JobSubmission
from store import intake, jobs, snapshots
from store.errors import SnapshotMissing
from store.intake import Origin
from store.paging import Page, cursor, cut, read_number
from store.tables_jobs import EventRow, JobFollowerRow, JobRow
from store.upsert import chunks, insert_missing_many


class Offer(NamedTuple):
    """A job that an array makes. Its origin names the array and the index."""

    job: Job
    submission: JobSubmission
    origin: Origin


def hold(session: Session, tenant: str, project: str, array: str) -> JobRow | None:
    """The array's row by id, locked until the transaction is over."""
    mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.id == array)
    return session.scalar(select(JobRow).where(*mine).with_for_update().execution_options(populate_existing=True))


def insert(session: Session, array: JobRow, offers: Sequence[Offer], now: datetime) -> int:
    """Insert those of some jobs that are not there, with their first events, and let the array follow them. Returns how
    many were new. `array`: held. One that has ended or was deleted makes none.

    Jobs that cannot be accepted now (the cluster or the snapshot is gone, the name is another job's) are there all the
    same, failed: each index has a job, and says why it did not run.
    """
    if array.phase.is_final or array.deleted_at is not None or not offers:
        return 0
    known = _there(session, array, offers)
    fresh = [offer for offer in offers if offer.origin.id not in known]
    if not fresh:
        return 0
    refused = _refusal(session, fresh[0], now)
    made = set() if refused is not None else _accept(session, array, fresh, now)
    for offer in fresh:
        if offer.origin.id not in made:
            why = refused or _taken(offer.job.metadata.name)
            intake.refuse(session, offer.job, offer.submission, offer.origin, now, why)
    return len(fresh)


def counts(session: Session, tenant: str, project: str, arrays: Sequence[str]) -> dict[str, dict[Phase, int]]:
    """How many jobs of each array are in each phase, the deleted ones too. Arrays without jobs are left out."""
    found: dict[str, dict[Phase, int]] = {}
    for some in chunks(sorted(set(arrays))):
        mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.parent.in_(some))
        query = select(JobRow.parent, JobRow.phase, func.count()).where(*mine).group_by(JobRow.parent, JobRow.phase)
        for parent, phase, count in session.execute(query):
            found.setdefault(parent or "", {})[phase] = count
    return found


def failed(session: Session, tenant: str, project: str, array: str, limit: int) -> list[int]:
    """The lowest indexes whose jobs failed, at most `limit`."""
    mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.parent == array, JobRow.phase == Phase.FAILED)
    query = select(JobRow.array_index).where(*mine).order_by(JobRow.array_index).limit(limit)
    return [index for index in session.scalars(query) if index is not None]


def page(
    session: Session,
    tenant: str,
    project: str,
    array: str,
    phases: Sequence[Phase] = (),
    *,
    limit: int,
    after: str | None = None,
) -> Page[JobRow]:
    """Jobs of an array that are not deleted, by index, at most `limit`. `after` is the cursor of the page before;
    raises BadCursor."""
    mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.parent == array)
    query = select(JobRow).where(*mine, JobRow.deleted_at.is_(None))
    if phases:
        query = query.where(JobRow.phase.in_(phases))
    if after is not None:
        query = query.where(JobRow.array_index > read_number(after))
    rows = session.scalars(query.order_by(JobRow.array_index).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.array_index or 0))


def delete_some(session: Session, tenant: str, project: str, array: str, now: datetime, event: Event, most: int) -> int:
    """Delete ended jobs of an array, at most `most`; returns how many. The array itself is another's business."""
    mine = (JobRow.tenant == tenant, JobRow.project == project, JobRow.parent == array, JobRow.deleted_at.is_(None))
    query = select(JobRow.id).where(*mine, JobRow.phase.in_(jobs.FINAL)).order_by(JobRow.array_index).limit(most)
    found = session.scalars(query).all()
    return sum(jobs.delete(session, tenant, project, job, now, event) for job in found)


def _there(session: Session, array: JobRow, offers: Sequence[Offer]) -> set[str]:
    """Ids of those jobs that have a row."""
    mine = (JobRow.tenant == array.tenant, JobRow.project == array.project)
    ids = [offer.origin.id for offer in offers]
    return {
        found for some in chunks(ids) for found in session.scalars(select(JobRow.id).where(*mine, JobRow.id.in_(some)))
    }


def _refusal(session: Session, offer: Offer, now: datetime) -> PerdureError | None:
    """Why none of the jobs can be accepted: they name the same cluster and the same snapshot."""
    try:
        intake.found_cluster(session, offer.job, hold=True)
    except PerdureError as error:
        return error
    digest, project = offer.job.spec.workdir.snapshot, offer.job.metadata.project
    if digest and not snapshots.touch(session, offer.origin.tenant, project, digest, now):
        return SnapshotMissing(digest)
    return None


def _accept(session: Session, array: JobRow, offers: Sequence[Offer], now: datetime) -> set[str]:
    """Insert jobs whose names are free, in one go; returns the ids of those that are there now."""
    news = [jobs.fresh(intake.new_job(offer.job, offer.submission, offer.origin, now)) for offer in offers]
    insert_missing_many(session, JobRow, news, ("tenant", "project", "live_name"))
    made = _there(session, array, offers)
    mine = [offer.origin for offer in offers if offer.origin.id in made]
    where = {"tenant": array.tenant, "project": array.project}
    told = [where | {"job": one.id} | intake.first_event(one, now).model_dump() for one in mine]
    insert_missing_many(session, EventRow, told, ("job", "key"))
    follows = [where | {"job": one.id, "follower": array.id} for one in mine]
    insert_missing_many(session, JobFollowerRow, follows, ("job", "follower"))
    return made


def _taken(name: str) -> PerdureError:
    return PerdureError("PD-2201", f"job {name!r} of the project has not ended, and this one would have its name")
