"""Reads and writes of the control plane itself, over all tenants. No route may call these, but for /metrics.

Everywhere else a function begins with the tenant; a test holds both rules.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, or_, select, tuple_, update
from sqlalchemy.orm import Session, aliased

from definitions.cluster import LOCAL_CLUSTER
from definitions.facts import Event
from definitions.ids import new_id
from definitions.states import FailureClass, Phase
from store import checkpoints, events, followers, jobs, snapshots
from store.base import Document
from store.paging import typed
from store.tables_access import IdempotencyRow, SecretRow
from store.tables_clusters import ClusterRow, InstallationRow
from store.tables_jobs import ArtifactRow, JobRow
from store.tables_library import ScheduleRow, SnapshotRow
from store.tables_scheduling import OutboxRow
from store.upsert import changed, chunks, delete_oldest, insert_missing

ONLY = 1  # the number of the one installation that a database has


@dataclass(frozen=True)
class Word:
    """A message that a job has ended. `begun`, `over`: whether the workflow of the job that it is for has begun, and
    whether that job has ended itself."""

    key: str
    target: str
    body: Document
    at: datetime
    begun: bool
    over: bool


def installation(session: Session, now: datetime) -> str:
    """The id of the control plane that has this database, made when it is asked for first; of many racers one makes it.

    A copy of the database has the same one: whoever runs a copy beside the original deletes the row first.
    """
    insert_missing(session, InstallationRow, [{"number": ONLY, "id": new_id(), "made_at": now}], ("number",))
    return session.get_one(InstallationRow, ONLY).id


def unacknowledged_starts(session: Session, limit: int, passing_over: Iterable[str] = ()) -> list[JobRow]:
    """Jobs whose workflow was never known to have started, oldest first, without those to be passed over."""
    query = select(JobRow).where(JobRow.start_acknowledged_at.is_(None), JobRow.deleted_at.is_(None))
    if others := list(passing_over):
        query = query.where(JobRow.id.not_in(others))
    return list(session.scalars(query.order_by(JobRow.created_at).limit(limit)))


def acknowledge_start(session: Session, job: str, now: datetime) -> bool:
    """Note that the engine has the job's workflow. Safe to repeat: the first time stands."""
    return acknowledge_starts(session, [job], now) == 1


def acknowledge_starts(session: Session, jobs: Iterable[str], now: datetime) -> int:
    """`acknowledge_start` for many; returns for how many it was news."""
    mine = (JobRow.id.in_(list(jobs)), JobRow.start_acknowledged_at.is_(None))
    return changed(session, update(JobRow).where(*mine).values(start_acknowledged_at=now))


def refuse_start(session: Session, job: str, now: datetime, event: Event) -> bool:
    """End a job that the engine will never take, with the event that says why. Safe to repeat: the first one counts."""
    row = session.get_one(JobRow, job, with_for_update=True)
    if row.start_acknowledged_at is not None:
        return False
    row.start_acknowledged_at = row.ended_at = now
    row.phase, row.failure, row.reason, row.live_name = Phase.FAILED, FailureClass.INFRASTRUCTURE, event.reason, None
    row.generation += 1
    session.flush()
    followers.tell(session, row)
    events.append(session, row.tenant, row.project, row.id, [event])
    return True


def words_of_ends(session: Session, limit: int, after: Word | None = None) -> list[Word]:
    """Messages that a job has ended and that are not known to have arrived, oldest first, from the one after `after`
    on."""
    place = (OutboxRow.created_at, OutboxRow.key)
    query = select(OutboxRow).where(OutboxRow.topic == followers.TOPIC, OutboxRow.delivered_at.is_(None))
    if after is not None:
        query = query.where(tuple_(*place) > typed(place, (after.at, after.key)))
    rows = session.scalars(query.order_by(*place).limit(limit)).all()
    known = _followers(session, {row.target.rpartition("/")[2] for row in rows})
    return [
        Word(row.key, row.target, row.body, row.created_at, *known.get(row.target.rpartition("/")[2], (True, True)))
        for row in rows
    ]


def _followers(session: Session, ids: Iterable[str]) -> dict[str, tuple[bool, bool]]:
    """Of each job that is there: whether its workflow has begun, and whether it has ended."""
    found: dict[str, tuple[bool, bool]] = {}
    for some in chunks(sorted(ids)):
        query = select(JobRow.id, JobRow.start_acknowledged_at, JobRow.ended_at).where(JobRow.id.in_(some))
        found |= {job: (begun is not None, ended is not None) for job, begun, ended in session.execute(query)}
    return found


def active_jobs(session: Session, cluster: str, limit: int, after: str = "") -> list[JobRow]:
    """Jobs of a cluster that have not ended, by id, from the one after `after` on."""
    mine = (JobRow.cluster == cluster, JobRow.ended_at.is_(None), JobRow.deleted_at.is_(None), JobRow.id > after)
    query = select(JobRow).where(*mine)
    return list(session.scalars(query.order_by(JobRow.id).limit(limit)))


def schedule_generations(session: Session, deleted_since: datetime) -> dict[tuple[str, str, str], int]:
    """(tenant, project, name) of every schedule -> its generation; of the deleted ones only the recently deleted."""
    key = (ScheduleRow.tenant, ScheduleRow.project, ScheduleRow.name)
    recent = or_(ScheduleRow.deleted_at.is_(None), ScheduleRow.deleted_at >= deleted_since)
    found = session.execute(select(*key, ScheduleRow.generation).where(recent))
    return {(tenant, project, name): generation for tenant, project, name, generation in found}


def ended_unplanned(session: Session, limit: int) -> list[JobRow]:
    """Ended jobs for which nobody has worked out yet when they and their artifacts go."""
    query = select(JobRow).where(JobRow.cleanup_planned_at.is_(None), JobRow.ended_at.is_not(None))
    return list(session.scalars(query.order_by(JobRow.ended_at).limit(limit)))


def plan_cleanup(
    session: Session, job: str, now: datetime, expires_at: datetime | None, artifacts_expire_at: datetime | None
) -> None:
    """Store when an ended job and its artifacts go. Safe to repeat: the first plan stands."""
    mine = (JobRow.id == job, JobRow.cleanup_planned_at.is_(None))
    plan = {"cleanup_planned_at": now, "expires_at": expires_at, "artifacts_expire_at": artifacts_expire_at}
    changed(session, update(JobRow).where(*mine).values(**plan))


def expired_jobs(session: Session, now: datetime, limit: int, after: JobRow | None = None) -> list[JobRow]:
    """Jobs past their time that are not deleted, by id, from the one after `after` on."""
    query = select(JobRow).where(JobRow.expires_at <= now, JobRow.deleted_at.is_(None))
    return _jobs_after(session, query, limit, after)


def deleted_jobs(session: Session, cluster: str, limit: int, after: JobRow | None = None) -> list[JobRow]:
    """Deleted jobs of a cluster whose remains have not been removed yet, by id, from the one after `after` on."""
    query = select(JobRow).where(JobRow.cluster == cluster, *_to_purge())
    return _jobs_after(session, query, limit, after)


def orphans(session: Session, limit: int, after: JobRow | None = None) -> list[JobRow]:
    """Ended jobs of deleted arrays, not deleted themselves, by id, from the one after `after` on."""
    array = aliased(JobRow)
    mine = and_(array.tenant == JobRow.tenant, array.project == JobRow.project, array.id == JobRow.parent)
    gone = (array.deleted_at.is_not(None), array.purged_at.is_(None))
    query = select(JobRow).join(array, mine).where(*gone, JobRow.deleted_at.is_(None), JobRow.phase.in_(jobs.FINAL))
    return _jobs_after(session, query, limit, after)


def abandoned_jobs(session: Session, limit: int, after: JobRow | None = None) -> list[JobRow]:
    """Deleted jobs, not yet purged, of clusters that were removed: nobody can look there any more."""
    there = select(ClusterRow.name)
    gone = (JobRow.cluster != LOCAL_CLUSTER, JobRow.cluster.not_in(there))
    query = select(JobRow).where(*gone, *_to_purge())
    return _jobs_after(session, query, limit, after)


def mark_purged(session: Session, job: JobRow, now: datetime) -> None:
    """Say that everything a deleted job left is gone; its rows stay as a trace. Safe to repeat."""
    row = session.get_one(JobRow, job.id, with_for_update=True)
    checkpoints.mark_all_deleted(session, row, now)
    gone = update(ArtifactRow).where(ArtifactRow.job == row.id, ArtifactRow.deleted_at.is_(None))
    changed(session, gone.values(deleted_at=now))
    followers.forget(session, row.tenant, row.id)
    row.purged_at = row.purged_at or now


def expired_artifacts(
    session: Session, now: datetime, limit: int, after: ArtifactRow | None = None
) -> list[ArtifactRow]:
    """Artifacts past their time, of jobs that are not deleted, in a fixed order, from the one after `after` on."""
    key = (ArtifactRow.job, ArtifactRow.path, ArtifactRow.attempt)
    due = (JobRow.artifacts_expire_at <= now, JobRow.deleted_at.is_(None), ArtifactRow.deleted_at.is_(None))
    query = select(ArtifactRow).join(JobRow, ArtifactRow.job == JobRow.id).where(*due)
    if after is not None:
        query = query.where(tuple_(*key) > typed(key, (after.job, after.path, after.attempt)))
    return list(session.scalars(query.order_by(*key).limit(limit)))


def unused_snapshots(
    session: Session, since: datetime, limit: int, after: SnapshotRow | None = None
) -> list[SnapshotRow]:
    """Snapshots that no job names any more and nobody touched since, in a fixed order, from the one after `after` on.

    Look again under lock (`snapshots.lock_unused`) before removing one.
    """
    key = (SnapshotRow.tenant, SnapshotRow.project, SnapshotRow.sha256)
    query = select(SnapshotRow).where(*snapshots.unused(since))
    if after is not None:
        query = query.where(tuple_(*key) > typed(key, (after.tenant, after.project, after.sha256)))
    return list(session.scalars(query.order_by(*key).limit(limit)))


def forget_requests(session: Session, before: datetime, limit: int) -> int:
    """Remove idempotency rows from before then, at most so many; how many."""
    return delete_oldest(session, IdempotencyRow, IdempotencyRow.created_at, before, limit)


def secrets_sealed_otherwise(
    session: Session, key_id: str, limit: int, after: SecretRow | None = None
) -> list[SecretRow]:
    """Secrets that another key than this one sealed: those to reseal before that key is thrown away."""
    key = (SecretRow.tenant, SecretRow.project, SecretRow.name, SecretRow.version)
    query = select(SecretRow).where(SecretRow.key_id != key_id, SecretRow.deleted_at.is_(None))
    if after is not None:
        query = query.where(tuple_(*key) > typed(key, (after.tenant, after.project, after.name, after.version)))
    return list(session.scalars(query.order_by(*key).limit(limit)))


def _to_purge() -> tuple[ColumnElement[bool], ...]:
    """An array stays until its jobs are deleted: they are found by it."""
    child = aliased(JobRow)
    of_it = (child.tenant == JobRow.tenant, child.project == JobRow.project, child.parent == JobRow.id)
    keeps = select(child.id).where(*of_it, child.deleted_at.is_(None)).exists()
    return (JobRow.deleted_at.is_not(None), JobRow.purged_at.is_(None), ~keeps)


def _jobs_after(session: Session, query: Select[JobRow], limit: int, after: JobRow | None) -> list[JobRow]:
    if after is not None:
        query = query.where(JobRow.id > after.id)
    return list(session.scalars(query.order_by(JobRow.id).limit(limit)))
