"""Jobs as people see them: every function begins with the tenant, and none sees a job of another one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_, update
from sqlalchemy.orm import Session

from definitions.cluster import LOCAL_CLUSTER
from definitions.facts import Event
from definitions.ids import is_id
from definitions.selectors import Operator, Requirement, Selector
from definitions.states import FailureClass, Mode, Phase
from definitions.wire import Wire
from store import events, snapshots
from store.base import Document
from store.errors import NameTaken, SnapshotMissing
from store.paging import Page, cursor, cut, read_time_and_id, typed
from store.tables_jobs import AttemptRow, JobRow
from store.upsert import changed, chunks, insert_missing

FINAL = tuple(phase for phase in Phase if phase.is_final)


class NewJob(Wire):
    """What a submit writes. `spec` is the whole accepted document; `seed` makes the attempts' tokens."""

    id: str
    tenant: str
    project: str
    name: str
    owner: str
    labels: dict[str, str]
    mode: Mode = Mode.BATCH
    type: str
    spec: Document
    spec_sha256: str
    submission: Document
    seed: str
    nodes: int = 1
    ranks: int = 1
    gpus: int = 0
    asked_nodes: int | None = None
    cluster: str = LOCAL_CLUSTER
    template: str | None = None
    template_version: int | None = None
    schedule: str | None = None
    snapshot: str | None = None
    cloned_from: str | None = None
    request_id: str | None = None
    parent: str | None = None
    array_index: int | None = None
    created_at: datetime


class JobFilter(Wire):
    """Which jobs a list shows. What is left out filters nothing."""

    phases: tuple[Phase, ...] = ()
    selector: Selector = ()
    owner: str | None = None
    since: datetime | None = None  # created then or later
    template: str | None = None
    schedule: str | None = None
    name: str | None = None
    name_prefix: str = ""
    cluster: str | None = None
    parent: str | None = None  # only jobs of this array, by id
    without_parent: bool = False  # only jobs that no array made


def insert(session: Session, job: NewJob, first_events: Sequence[Event] = ()) -> JobRow:
    """Accept a job: once this is committed the job exists, and the starter starts its workflow.

    Raises NameTaken while a live job of the project has the name (of many racers one gets it), SnapshotMissing when its
    files are not stored.
    """
    if job.snapshot and not snapshots.touch(session, job.tenant, job.project, job.snapshot, job.created_at):
        raise SnapshotMissing(job.snapshot)
    if not insert_missing(session, JobRow, [fresh(job)], ("tenant", "project", "live_name")):
        raise _taken(session, job)
    row = session.get_one(JobRow, job.id)
    events.append(session, job.tenant, job.project, job.id, first_events)
    return row


def fresh(job: NewJob) -> dict[str, Any]:
    """The row of a job that is being accepted."""
    begins = dict(live_name=job.name, phase=Phase.PENDING, reason="submitted", attempt=0, event_count=0, generation=1)
    return job.model_dump() | begins


def insert_ended(
    session: Session, job: NewJob, phase: Phase, reason: str, failure: FailureClass, told: Sequence[Event]
) -> JobRow:
    """A job that is over before it began: nothing starts it, and its name is free. Its id must be new."""
    over = dict(live_name=None, attempt=0, event_count=0, generation=1)
    row = JobRow(**job.model_dump(), **over, phase=phase, reason=reason, failure=failure)
    row.start_acknowledged_at = row.ended_at = job.created_at
    session.add(row)
    session.flush()
    events.append(session, job.tenant, job.project, job.id, told)
    return row


def get(session: Session, tenant: str, project: str, reference: str) -> JobRow | None:
    """The job with this id, or else the newest of this name. Deleted jobs are not found."""
    shown = select(JobRow).where(_in(tenant, project), JobRow.deleted_at.is_(None))
    if is_id(reference) and (row := session.scalar(shown.where(JobRow.id == reference))):
        return row
    newest = shown.where(JobRow.name == reference).order_by(JobRow.created_at.desc(), JobRow.id.desc())
    return session.scalar(newest.limit(1))


def get_live(session: Session, tenant: str, project: str, name: str) -> JobRow | None:
    """The job that holds the name now: neither final nor deleted."""
    return session.scalar(select(JobRow).where(_in(tenant, project), JobRow.live_name == name))


def page(
    session: Session, tenant: str, project: str, wanted: JobFilter, *, limit: int, after: str | None = None
) -> Page[JobRow]:
    """Jobs newest first, at most `limit`. `after` is the cursor of the page before; raises BadCursor."""
    query = select(JobRow).where(_in(tenant, project), JobRow.deleted_at.is_(None), *_conditions(wanted))
    if after is not None:
        key = (JobRow.created_at, JobRow.id)
        query = query.where(tuple_(*key) < typed(key, read_time_and_id(after)))
    query = query.order_by(JobRow.created_at.desc(), JobRow.id.desc()).limit(limit + 1)
    return cut(session.scalars(query).all(), limit, lambda row: cursor(row.created_at, row.id))


def update_progress(session: Session, tenant: str, project: str, job: str, progress: Document) -> bool:
    """Replace what is shown live. Leaves the generation alone. False when there is no such job."""
    return _change(session, tenant, project, job, progress=progress)


def delete(session: Session, tenant: str, project: str, job: str, now: datetime, event: Event) -> bool:
    """Take a final job out of every list; the sweeper then removes what it left. Safe to repeat: the first one counts.

    False when the job is not there, deleted already, or not final.
    """
    gone = _change(
        session,
        tenant,
        project,
        job,
        JobRow.phase.in_(FINAL),
        JobRow.deleted_at.is_(None),
        deleted_at=now,
        live_name=None,
        generation=JobRow.generation + 1,
    )
    if gone:
        events.append(session, tenant, project, job, [event])
    return gone


def count_by_template(session: Session, tenant: str, project: str) -> dict[str, int]:
    """How many jobs were made from each template, deleted ones included."""
    query = select(JobRow.template, func.count()).where(_in(tenant, project), JobRow.template.is_not(None))
    return {name: count for name, count in session.execute(query.group_by(JobRow.template)) if name}


def count_active(session: Session, tenant: str, cluster: str) -> int:
    """How many jobs of the tenant are on a cluster and have not ended."""
    mine = (JobRow.tenant == tenant, JobRow.cluster == cluster, JobRow.ended_at.is_(None), JobRow.deleted_at.is_(None))
    return session.scalar(select(func.count()).select_from(JobRow).where(*mine)) or 0


def placed(session: Session, tenant: str, projects: Sequence[str], cluster: str) -> list[tuple[JobRow, list[Document]]]:
    """The tenant's jobs of those projects (none given: of all) that run on a cluster, with what was seen of their
    ranks."""
    present = and_(AttemptRow.job == JobRow.id, AttemptRow.number == JobRow.attempt)
    query = select(JobRow, AttemptRow.ranks).join(AttemptRow, present)
    query = query.where(JobRow.tenant == tenant, JobRow.cluster == cluster, JobRow.ended_at.is_(None))
    if projects:
        query = query.where(JobRow.project.in_(list(projects)))
    return [(row, ranks) for row, ranks in session.execute(query.order_by(JobRow.id))]


def names(session: Session, tenant: str, projects: Sequence[str], ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Project and name of those of some jobs that are the tenant's and in those projects (none given: in any)."""
    found: dict[str, tuple[str, str]] = {}
    for some in chunks(sorted(set(ids))):
        query = select(JobRow.id, JobRow.project, JobRow.name).where(JobRow.tenant == tenant, JobRow.id.in_(some))
        if projects:
            query = query.where(JobRow.project.in_(list(projects)))
        found |= {job: (project, name) for job, project, name in session.execute(query)}
    return found


def _taken(session: Session, job: NewJob) -> NameTaken:
    holder = get_live(session, job.tenant, job.project, job.name)
    who = f"{holder.id}, {holder.phase}" if holder else "which has just ended"
    return NameTaken(
        f"job {job.name!r} of project {job.project!r} has not ended ({who})",
        holder=holder.id if holder else None,
        remedy=f"Choose another name, or cancel the job first: perdure jobs cancel {job.name}",
    )


def _in(tenant: str, project: str) -> ColumnElement[bool]:
    return and_(JobRow.tenant == tenant, JobRow.project == project)


def _conditions(wanted: JobFilter) -> list[ColumnElement[bool]]:
    found = [_labelled(requirement) for requirement in wanted.selector]
    if wanted.phases:
        found.append(JobRow.phase.in_(wanted.phases))
    if wanted.owner is not None:
        found.append(JobRow.owner == wanted.owner)
    if wanted.since is not None:
        found.append(JobRow.created_at >= wanted.since)
    if wanted.template is not None:
        found.append(JobRow.template == wanted.template)
    if wanted.schedule is not None:
        found.append(JobRow.schedule == wanted.schedule)
    if wanted.name is not None:
        found.append(JobRow.name == wanted.name)
    if wanted.cluster is not None:
        found.append(JobRow.cluster == wanted.cluster)
    if wanted.parent is not None:
        found.append(JobRow.parent == wanted.parent)
    if wanted.without_parent:
        found.append(JobRow.parent.is_(None))
    if wanted.name_prefix:
        # Not LIKE, which ignores case in SQLite.
        found.append(func.substr(JobRow.name, 1, len(wanted.name_prefix)) == wanted.name_prefix)
    return found


def _labelled(requirement: Requirement) -> ColumnElement[bool]:
    value: ColumnElement[str | None] = JobRow.labels[requirement.key].as_string()
    match requirement.operator:
        case Operator.EQUALS:
            return value == requirement.value
        case Operator.DIFFERS:
            return or_(value.is_(None), value != requirement.value)
        case Operator.EXISTS:
            return value.is_not(None)
        case Operator.ABSENT:
            return value.is_(None)


def _change(
    session: Session, tenant: str, project: str, job: str, *conditions: ColumnElement[bool], **values: Any
) -> bool:
    statement = update(JobRow).where(_in(tenant, project), JobRow.id == job, *conditions).values(**values)
    return changed(session, statement) == 1
