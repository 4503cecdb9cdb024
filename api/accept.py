"""Accepting jobs: one transaction with the row, its first event and the answer. The engine is asked for nothing."""

import secrets as random
from typing import Any

from sqlalchemy.orm import Session

from api.access import Caller
from api.arrays import whole_view
from api.capacity import sites_of
from api.idempotency import Reply
from api.order import awaited
from api.prepare import Prepared, complete, job_from_data
from api.scheduling_documents import stored
from api.views import etag
from definitions.api_base import View
from definitions.api_jobs import Applied, ApplyOutcome
from definitions.api_submit import Change, CloneJob, Diff, Plan
from definitions.cluster import LOCAL_CLUSTER
from definitions.errors import PerdureError
from definitions.ids import new_id
from definitions.principal import Action, ResourceKind
from definitions.submission import JobSubmission
from policies.document_diff import changes, merged
from policies.job_figures import plan
from policies.scheduling.asking import Asked, Shapes, Words, shape_of
from policies.scheduling.documents import scheduling
from policies.scheduling.fitting import cannot_hold
from store import intake, jobs, snapshots
from store.tables import JobRow


def accept(
    caller: Caller, session: Session, job: Prepared, *, cloned_from: str | None = None, schedule: str | None = None
) -> JobRow:
    """Insert the job. Raises NameTaken while a live job of the project has the name."""
    template, version = job.template or (None, None)
    from_ = intake.Origin(
        id=new_id(),
        tenant=caller.tenant,
        owner=caller.principal.name,
        seed=random.token_hex(16),
        template=template,
        template_version=version,
        request_id=caller.request_id,
        cloned_from=cloned_from,
        schedule=schedule,
    )
    caller.log["job"] = from_.id
    return intake.accept(session, job.job, job.submission, from_, caller.deps.now())


def accepted(caller: Caller, session: Session, row: JobRow, view: View | None = None) -> Reply:
    """201 with the job's place and version."""
    shown = whole_view(session, row, caller.deps.settings)
    return Reply.of(201, view or shown, Location=f"/v1/jobs/{row.id}?project={row.project}", ETag=etag(row))


def planned(caller: Caller, session: Session, job: Prepared) -> Plan:
    """What accepting the job would do. A job that is to wait is held against the nodes of today."""
    digest = job.job.spec.workdir.snapshot
    stored = snapshots.get(session, caller.tenant, job.project, digest) if digest else None
    return plan(
        job.job,
        job.document,
        (*job.warnings, *_in_vain(caller, session, job)),
        job.place,
        job.submission.ticket,
        awaited(job.submission),
        template=f"{job.template[0]}@{job.template[1]}" if job.template else None,
        snapshot_bytes=stored.bytes if stored else None,
        snapshot_files=stored.files if stored else None,
    )


def compared(caller: Caller, session: Session, job: Prepared) -> Diff:
    """The document against the newest job of its name."""
    row = _newest(caller, session, job)
    if row is None:
        return Diff(job=None, live=False, changes=changes({}, job.document))
    return Diff(job=row.id, live=row.live_name is not None, changes=changes(row.spec, job.document))


def applied(caller: Caller, session: Session, job: Prepared) -> Reply:
    """Accept the job unless the live one of that name is the same. Raises PD-2012 when it differs."""
    row = _newest(caller, session, job)
    differences = changes(row.spec, job.document) if row else []
    if row is None or row.live_name is None:
        new = accept(caller, session, job)
        view = whole_view(session, new, caller.deps.settings)
        return accepted(caller, session, new, Applied(outcome=ApplyOutcome.CREATED, job=view, changes=differences))
    if differences:
        raise _conflict(row, differences)
    view = whole_view(session, row, caller.deps.settings)
    return Reply.of(200, Applied(outcome=ApplyOutcome.UNCHANGED, job=view), ETag=etag(row))


def cloned(caller: Caller, session: Session, row: JobRow, body: CloneJob) -> Reply:
    """Accept the stored document and submission again, changed as asked."""
    document: dict[str, Any] = merged(row.spec, body.overrides)
    if body.from_step is not None:
        source = {"spec": {"checkpoints": {"resume": "auto", "from": {"job": row.id, "step": body.from_step}}}}
        document = merged(document, source)
    if body.name is not None:
        document = merged(document, {"metadata": {"name": body.name}})
    job = job_from_data(document, cluster=caller.deps.settings.default_cluster)
    caller.require(Action.CREATE, ResourceKind.JOB, project=job.metadata.project)
    submission = JobSubmission.model_validate(row.submission)
    return accepted(
        caller, session, accept(caller, session, complete(caller, session, job, submission), cloned_from=row.id)
    )


def _in_vain(caller: Caller, session: Session, job: Prepared) -> list[str]:
    """A warning when the job would wait for nodes that are not there."""
    ticket, spec = job.submission.ticket, job.job.spec
    if ticket is None:
        return []
    documents = scheduling(stored(session))
    request = Shapes(Words(models=documents.models)).request(Asked("", ticket.queue, shape_of(spec)))
    said = cannot_hold(spec.cluster or LOCAL_CLUSTER, sites_of(caller, session, documents), request)
    return [] if said is None else [f"{said}; it would wait until there are such nodes"]


def _newest(caller: Caller, session: Session, job: Prepared) -> JobRow | None:
    """The live job of the name, or else the newest ended one; an id that is spelled like the name is none."""
    live = jobs.get_live(session, caller.tenant, job.project, job.name)
    if live is not None:
        return live
    newest = jobs.get(session, caller.tenant, job.project, job.name)
    return newest if newest is not None and newest.name == job.name else None


def _conflict(row: JobRow, differences: list[Change]) -> PerdureError:
    shown = [
        PerdureError("PD-2012", f"is {change.before!r}, would be {change.after!r}", where=change.path)
        for change in differences
    ]
    fields = f"{len(differences)} field{'' if len(differences) == 1 else 's'}"
    return PerdureError(
        "PD-2012",
        f"job {row.name!r} ({row.id}, {row.phase}) differs in {fields}",
        errors=shown,
        data={
            "job": row.id,
            "phase": row.phase,
            "changes": [change.model_dump(mode="json", by_alias=True) for change in differences],
        },
    )
