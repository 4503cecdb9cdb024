"""Accepting a job from its document: what every way in shares (a submit, a clone, a schedule)."""

from datetime import datetime

from sqlalchemy.orm import Session

from definitions.attempt import SeedCheckpoint
from definitions.cluster import LOCAL_CLUSTER
from definitions.errors import PerdureError
from definitions.facts import Event
from definitions.job import Job
from definitions.job_checkpoints import CheckpointSource
from definitions.job_document import digest_of, document_of, gpus_of, ranks_of
from definitions.places import Ticket
from definitions.states import FailureClass, Phase
from definitions.submission import JobSubmission
from definitions.wire import Wire
from store import array_names, checkpoints, clusters, job_order, jobs, reservations
from store.tables_clusters import ClusterRow
from store.tables_jobs import JobRow


class Origin(Wire):
    """Whose job it is and where it comes from. `id` and `seed` are made by whoever accepts it."""

    id: str
    tenant: str
    owner: str
    seed: str
    template: str | None = None
    template_version: int | None = None
    schedule: str | None = None
    cloned_from: str | None = None
    request_id: str | None = None
    parent: str | None = None  # the array that makes it
    array_index: int | None = None


def accept(session: Session, job: Job, submission: JobSubmission, origin: Origin, now: datetime) -> JobRow:
    """Insert a settled job with its first event. Raises NameTaken, SnapshotMissing, PD-2101 for an unknown cluster,
    PD-2190 for an unknown job that it is to wait for, PD-2200 to PD-2202 for names of arrays' jobs.

    The cluster's row is held meanwhile: it is not removed under a job that is being accepted. So are those of the jobs
    that it waits for: their ends are told to it, or known by now.
    """
    found_cluster(session, job, hold=True)
    project = job.metadata.project
    array_names.check_names(session, origin.tenant, project, job)
    awaited = job_order.found(session, origin.tenant, project, job.spec.after)
    after = job_order.follow(session, origin.tenant, project, awaited, origin.id)
    submission = submission.model_copy(update={"after": after})
    return jobs.insert(session, new_job(job, submission, origin, now), [first_event(origin, now)])


def refuse(
    session: Session, job: Job, submission: JobSubmission, origin: Origin, now: datetime, why: PerdureError
) -> JobRow:
    """Insert a job that nobody can be told about now, ended before it began, so that it is seen with the reason."""
    new = new_job(job, submission, origin, now).model_copy(update={"snapshot": None})
    reason = f"not accepted: {why.detail} [{why.code.code}]"
    refused = Event(
        key="refused", at=now, actor=origin.owner, kind="refused", reason=reason, data={"phase": Phase.FAILED.value}
    )
    told = [first_event(origin, now), refused]
    return jobs.insert_ended(session, new, Phase.FAILED, reason, FailureClass.DEPENDENCY, told)


def new_job(job: Job, submission: JobSubmission, origin: Origin, now: datetime) -> jobs.NewJob:
    """What is written of a settled job."""
    spec = job.spec
    document = document_of(job)
    return jobs.NewJob(
        **origin.model_dump(),
        project=job.metadata.project,
        name=job.metadata.name,
        labels=dict(job.metadata.labels),
        mode=spec.mode,
        type=spec.type,
        spec=document,
        spec_sha256=digest_of(document),
        submission=submission.model_dump(mode="json"),
        nodes=spec.nodes,
        ranks=ranks_of(spec),
        gpus=gpus_of(spec),
        asked_nodes=spec.nodes if spec.elastic else None,
        cluster=spec.cluster or LOCAL_CLUSTER,
        snapshot=spec.workdir.snapshot,
        created_at=now,
    )


def found_cluster(session: Session, job: Job, *, hold: bool = False) -> ClusterRow | None:
    """The cluster that the job names; None for this machine. Raises PD-2101 listing those there are."""
    name = job.spec.cluster or LOCAL_CLUSTER
    if name == LOCAL_CLUSTER:
        return None
    row = clusters.hold(session, name) if hold else clusters.get(session, name)
    if row is None:
        there = ", ".join([LOCAL_CLUSTER, *clusters.names(session)])
        raise PerdureError("PD-2101", f"there is no cluster {name!r}; there are: {there}", where="spec.cluster")
    return row


def check_reservation(session: Session, ticket: Ticket | None) -> None:
    """Raises PD-2161 when nothing of the reservation that a job is to run in can come any more."""
    if ticket is None or ticket.reservation is None:
        return
    life = reservations.named(session, ticket.reservation)
    if life is not None and life.ended_at is not None:
        detail = f"reservation {life.name!r} ended {life.ended_at:%Y-%m-%d %H:%M} UTC"
        raise PerdureError("PD-2161", detail, where="spec.reservation")


def found_source(session: Session, tenant: str, job: Job) -> tuple[Job, SeedCheckpoint | None]:
    """The job with `checkpoints.from` by id and exact step, so that it means the same for ever, and what it points to.

    Raises PD-2017 when there is no verified checkpoint, PD-2108 when the job could not read it where it runs.
    """
    source = job.spec.checkpoints.from_
    if source is None:
        return job, None
    other = jobs.get(session, tenant, job.metadata.project, source.job)
    found = checkpoints.find(session, tenant, job.metadata.project, other.id, source.step) if other else None
    if other is None or found is None:
        step = "" if source.step is None else f" of step {source.step}"
        detail = f"job {source.job!r} has no verified checkpoint{step}"
        raise PerdureError("PD-2017", detail, where="spec.checkpoints.from")
    here = job.spec.cluster or LOCAL_CLUSTER
    if other.cluster != here:
        detail = f"job {source.job!r} keeps its checkpoints on {other.cluster}, and this job is to run on {here}"
        raise PerdureError("PD-2108", detail, where="spec.checkpoints.from")
    exact = job.spec.checkpoints.model_copy(update={"from_": CheckpointSource(job=other.id, step=found.step)})
    spec = job.spec.model_copy(update={"checkpoints": exact})
    return job.model_copy(update={"spec": spec}), SeedCheckpoint(job=other.id, folder=found.folder, step=found.step)


def first_event(origin: Origin, now: datetime) -> Event:
    """With which the history of an accepted job begins."""
    how = f"submitted by {origin.owner}"
    if origin.cloned_from:
        how = f"cloned from {origin.cloned_from} by {origin.owner}"
    if origin.schedule:
        how = f"submitted by schedule {origin.schedule} of {origin.owner}"
    if origin.parent:
        how = f"made by array {origin.parent} of {origin.owner}"
    data = {"phase": "Pending", "attempt": 0}
    return Event(key="accepted", at=now, actor=origin.owner, kind="accepted", reason=how, data=data)
