"""From the body of a submit to a job that can be accepted: parsed, settled, and everything it names found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from api.access import Caller
from api.clusters import settings_of_row, warnings_of
from definitions import documents
from definitions.api_submit import Submission, SubmitJob, TemplateUse
from definitions.cluster import LOCAL_CLUSTER
from definitions.errors import PerdureError
from definitions.job import Job
from definitions.job_document import document_of, named
from definitions.job_relations import MOST_AWAITED, Dependency
from definitions.principal import Action, ResourceKind
from definitions.refusals import refused_fields
from definitions.spec_errors import raise_issues
from definitions.submission import GitFacts, JobSubmission
from definitions.template import Template, render
from policies.cluster_place import Place, place_of
from policies.job_settle import settle
from policies.scheduling.admission import ticket_from
from store import intake, job_order, scheduling_documents, secrets, snapshots, templates
from store.errors import SnapshotMissing


@dataclass(frozen=True)
class Prepared:
    """A job that leaves nothing open, and its document as it will be stored."""

    job: Job
    document: dict[str, Any]
    submission: JobSubmission
    warnings: tuple[str, ...]
    place: Place
    template: tuple[str, int] | None = None

    @property
    def name(self) -> str:
        return self.job.metadata.name

    @property
    def project(self) -> str:
        return self.job.metadata.project


def read_job(caller: Caller, body: SubmitJob, cluster: str | None = None) -> Job | TemplateUse:
    """Parse what does not need the store. `cluster`: of a job that names none, else the usual one.

    Raises SpecError with every fault and its place.
    """
    cluster = cluster or caller.deps.settings.default_cluster
    if body.template is not None:
        return body.template
    source = body.source or "document"
    if body.text is not None:
        return documents.parse_job(body.text, source, cluster=cluster)
    return job_from_data(body.document, body.source or "", cluster)


def job_from_data(data: object, source: str = "", cluster: str = LOCAL_CLUSTER) -> Job:
    found = documents.from_data(data, source=source, cluster=cluster)
    if not isinstance(found, Job):
        raise PerdureError("PD-2022", f"one Job is expected, and it is a {found.kind}", where="document.kind")
    return found


def prepare(
    caller: Caller,
    session: Session,
    parsed: Job | TemplateUse,
    body: SubmitJob,
    action: Action = Action.CREATE,
    *,
    uploaded: bool = True,
    open_snapshot: bool = False,
) -> Prepared:
    """Render, name, place and settle the job, and find what it refers to. Reads only.

    `action` is what the caller means to do with it, and must be allowed to do in the document's project.
    Clients look before they upload: `uploaded` False does not ask whether the snapshot that is named is there,
    `open_snapshot` does not even ask for one to be named.
    Raises PerdureError naming the field, the secret, the snapshot or the checkpoint that is at fault.
    """
    template = None
    if isinstance(parsed, TemplateUse):
        parsed, template = _rendered(caller, session, parsed)
    if body.name is not None:
        parsed = named(parsed, body.name)
    if body.after:
        parsed = _waiting_for(parsed, body.after)
    placed = place(caller, parsed, action)
    submission = submission_of(body.submission)
    return complete(caller, session, placed, submission, template, uploaded=uploaded, open_snapshot=open_snapshot)


def complete(
    caller: Caller,
    session: Session,
    job: Job,
    submission: JobSubmission,
    template: tuple[str, int] | None = None,
    *,
    uploaded: bool = True,
    open_snapshot: bool = False,
) -> Prepared:
    """Settle a job that has its name and project, and find how it waits."""
    job, seed = intake.found_source(session, caller.tenant, job)
    after = job_order.found(session, caller.tenant, job.metadata.project, job.spec.after)
    submission = submission.model_copy(update={"seed_checkpoint": seed, "after": after})
    settled = settle(job, submission, open_snapshot=open_snapshot)
    ticket = ticket_from(scheduling_documents.held(session), settled.job.spec)
    intake.check_reservation(session, ticket)
    row = intake.found_cluster(session, settled.job)
    here = caller.deps.settings.local_jobs
    place = place_of(settled.job.spec, settings_of_row(row) if row else None, here=here)
    if uploaded:
        _check_snapshot(session, caller.tenant, settled.job)
    _check_secrets(session, caller.tenant, settled.job)
    return Prepared(
        job=settled.job,
        document=document_of(settled.job),
        submission=submission.model_copy(update={"ticket": ticket}),
        warnings=(*settled.warnings, *warnings_of(row, caller.deps.now())),
        place=place,
        template=template,
    )


def place(caller: Caller, job: Job, action: Action = Action.CREATE) -> Job:
    """The job in its project: the one the request names, or else the document's. Two that differ are refused."""
    declared = job.metadata.project if "project" in job.metadata.model_fields_set else None
    if declared is not None and caller.named and declared != caller.project:
        raise PerdureError(
            "PD-2022",
            f"the document says project {declared!r}, the request {caller.project!r}",
            where="metadata.project",
            remedy="Leave one of the two out, or make them the same.",
        )
    project = declared or caller.project
    caller.require(action, ResourceKind.JOB, project=project)
    return job.model_copy(update={"metadata": job.metadata.model_copy(update={"project": project})})


def submission_of(sent: Submission) -> JobSubmission:
    env = {name: value for name, value in sent.base_env.model_dump(by_alias=True).items() if value is not None}
    git = GitFacts.model_validate(sent.git.model_dump()) if sent.git else None
    return JobSubmission(base_env=env, cwd=sent.cwd, git=git, snapshot=sent.snapshot)


def _rendered(caller: Caller, session: Session, use: TemplateUse) -> tuple[Job, tuple[str, int]]:
    row = templates.get(session, caller.tenant, caller.project, use.name, use.version)
    if row is None:
        raise caller.missing(ResourceKind.TEMPLATE, use.name if use.version is None else f"{use.name}@{use.version}")
    cluster = caller.deps.settings.default_cluster
    job = render(Template.model_validate(row.document), use.values, cluster)
    raise_issues(refused_fields(job.spec))
    return job, (row.name, row.version)


def _waiting_for(job: Job, after: Sequence[Dependency]) -> Job:
    """The job with further jobs to wait for."""
    whole = (*job.spec.after, *after)
    if len(whole) > MOST_AWAITED:
        detail = f"the job would wait for {len(whole)} others, {len(after)} of them named beside its document"
        raise PerdureError("PD-2192", detail, where="after")
    return job.model_copy(update={"spec": job.spec.model_copy(update={"after": whole})})


def _check_snapshot(session: Session, tenant: str, job: Job) -> None:
    digest = job.spec.workdir.snapshot
    if digest is not None and snapshots.get(session, tenant, job.metadata.project, digest) is None:
        raise SnapshotMissing(digest)


def _check_secrets(session: Session, tenant: str, job: Job) -> None:
    asked = {f"spec.env.{name}": entry.secret for name, entry in job.spec.env.items() if entry.secret is not None}
    asked |= {f"spec.secretFiles[{at}]": file.secret for at, file in enumerate(job.spec.secret_files)}
    missing = {name for name in set(asked.values()) if secrets.get(session, tenant, job.metadata.project, name) is None}
    faults = [
        PerdureError(
            "PD-3722",
            f"there is no secret {name!r} in project {job.metadata.project!r}",
            where=where,
            remedy=f"Create it with `perdure secrets create {name}`, or correct the name.",
        )
        for where, name in asked.items()
        if name in missing
    ]
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise PerdureError("PD-3722", f"secrets are missing: {', '.join(sorted(missing))}", errors=faults)
