"""Jobs: submit, look, list, wait, delete."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api.accept import accept, accepted, applied, compared, planned
from api.access import Caller, Needs
from api.arrays import array_row, is_array, job_views, whole_view
from api.body import JOB_BODY, JobBody
from api.idempotency import Once, Reply, once
from api.job_access import check_etag, job_row, matches
from api.negotiate import Accept, one
from api.parameters import UNCHANGED, Cursor, DryRun, IfMatch, IfNoneMatch, JobPath, Limit, aware
from api.prepare import prepare, read_job
from api.views import etag, rendered
from api.why import explain
from definitions.api_jobs import Applied, JobPage, JobView, Why
from definitions.api_submit import Diff, Plan, Rendered, Validation
from definitions.errors import PerdureError
from definitions.facts import Event
from definitions.principal import Action, ResourceKind
from definitions.states import Phase
from policies.array_moves import with_its_array
from policies.selectors import parse_selector
from store import arrays, jobs
from store.tables import JobRow

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
DELETED_AT_ONCE = 1_000  # jobs of an array; the sweeper sees to the others
FIRST_PAUSE, PAUSE_GROWS = 0.05, 1.3  # of a long poll, in seconds: short jobs are not kept waiting for a look

Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.JOB))]
Lister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.JOB))]
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.JOB))]
Deleter = Annotated[Caller, Depends(Needs(Action.DELETE, ResourceKind.JOB))]


@router.post(
    "",
    name="jobs.submit",
    status_code=201,
    response_model=JobView,
    openapi_extra=JOB_BODY,
    responses={200: {"model": Plan, "description": "With `dryRun=true`: what a submit would do."}},
)
def submit(caller: Creator, body: JobBody, request: Once, dry_run: DryRun = False) -> Any:
    """Accept a job. It is accepted when this answers; it starts by itself shortly after."""
    parsed = read_job(caller, body)
    if dry_run:
        with caller.reading() as session:
            plan = planned(caller, session, prepare(caller, session, parsed, body, uploaded=False))
        return Reply.of(200, plan).send()

    def work(session: Session) -> Reply:
        return accepted(caller, session, accept(caller, session, prepare(caller, session, parsed, body)))

    return once(caller, request, work).send()


@router.post(":validate", name="jobs.validate", response_model=Validation, openapi_extra=JOB_BODY)
def validate(caller: Creator, body: JobBody) -> Any:
    """Check a document as a submit would."""
    with caller.reading() as session:
        job = prepare(
            caller,
            session,
            read_job(caller, body),
            body,
            uploaded=False,
            open_snapshot=True,
        )
    return Validation(name=job.name, warnings=list(job.warnings))


@router.post(":render", name="jobs.render", response_model=Rendered, openapi_extra=JOB_BODY)
def render(caller: Creator, body: JobBody) -> Any:
    """Fill in every default and template parameter."""
    with caller.reading() as session:
        job = prepare(
            caller,
            session,
            read_job(caller, body),
            body,
            uploaded=False,
            open_snapshot=True,
        )
    return rendered(job.job)


@router.post(":diff", name="jobs.diff", response_model=Diff, openapi_extra=JOB_BODY)
def diff(caller: Reader, body: JobBody) -> Any:
    """Compare a document with the newest job of its name."""
    with caller.reading() as session:
        job = prepare(
            caller,
            session,
            read_job(caller, body),
            body,
            Action.READ,
            uploaded=False,
            open_snapshot=True,
        )
        return compared(caller, session, job)


@router.post(
    ":apply",
    name="jobs.apply",
    response_model=Applied,
    openapi_extra=JOB_BODY,
    responses={201: {"model": Applied, "description": "A job was created."}},
)
def apply(caller: Creator, body: JobBody, request: Once) -> Any:
    """Submit unless the live job of that name has this very document.

    A live job with another document is a conflict that lists the fields.
    """
    parsed = read_job(caller, body)
    reply = once(caller, request, lambda session: applied(caller, session, prepare(caller, session, parsed, body)))
    return reply.send()


@router.get("", name="jobs.list", response_model=JobPage)
def list_(
    caller: Lister,
    phase: Annotated[list[Phase] | None, Query(description="Only these phases.", examples=[["Running"]])] = None,
    selector: Annotated[
        str | None, Query(description="Labels: `team=vision,stage!=test,gpu,!draft`.", examples=["team=vision"])
    ] = None,
    owner: Annotated[str | None, Query(description="Only jobs of this person.", examples=["ada"])] = None,
    since: Annotated[
        datetime | None, Query(description="Only jobs accepted at or after.", examples=["2026-11-29T00:00:00Z"])
    ] = None,
    template: Annotated[str | None, Query(description="Only jobs of this template.", examples=["finetune"])] = None,
    schedule: Annotated[str | None, Query(description="Only jobs of this schedule.", examples=["nightly"])] = None,
    name: Annotated[str | None, Query(description="Only jobs of this name.", examples=["digits"])] = None,
    cluster: Annotated[str | None, Query(description="Only jobs on this cluster.", examples=["north-1"])] = None,
    array: Annotated[
        str | None, Query(description="Only jobs of this array, by name or id.", examples=["sweep"])
    ] = None,
    children: Annotated[
        bool, Query(description="Jobs of arrays too; they are left out unless they are named.")
    ] = False,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """Jobs, newest first. An array stands for its jobs."""
    alone = not children and array is None and name is None
    wanted = jobs.JobFilter(
        phases=tuple(phase or ()),
        selector=parse_selector(selector or ""),
        owner=owner,
        since=aware(since),
        template=template,
        schedule=schedule,
        name=name,
        cluster=cluster,
        without_parent=alone,
    )
    settings = caller.deps.settings
    with caller.reading() as session:
        if array is not None:
            wanted = wanted.model_copy(update={"parent": array_row(caller, session, array).id})
        page = jobs.page(
            session, caller.tenant, caller.project, wanted, limit=limit or settings.limits.default_page, after=cursor
        )
        return JobPage(items=job_views(session, page.items, settings), next=page.next)


@router.get("/{job}", name="jobs.get", response_model=JobView, responses=UNCHANGED)
def get(caller: Reader, job: JobPath, if_none_match: IfNoneMatch = None, accept: Accept = "") -> Any:
    """One job by id, or the newest one by name."""
    with caller.reading() as session:
        row = job_row(caller, session, job)
        tag = {"ETag": etag(row)}
        if if_none_match is not None and matches(etag(row), if_none_match):
            return Response(status_code=304, headers=tag)
        return one(whole_view(session, row, caller.deps.settings), accept, tag)


@router.get("/{job}/children", name="jobs.children", response_model=JobPage)
def children(
    caller: Lister,
    job: JobPath,
    phase: Annotated[list[Phase] | None, Query(description="Only these phases.", examples=[["Failed"]])] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """The jobs of an array, by index."""
    settings = caller.deps.settings
    with caller.reading() as session:
        row = array_row(caller, session, job)
        most = limit or settings.limits.default_page
        page = arrays.page(session, row.tenant, row.project, row.id, tuple(phase or ()), limit=most, after=cursor)
        return JobPage(items=job_views(session, page.items, settings), next=page.next)


@router.get("/{job}/why", name="jobs.why", response_model=Why)
def why(caller: Reader, job: JobPath, accept: Accept = "") -> Any:
    """Why the job is where it is."""
    with caller.reading() as session:
        return one(explain(caller, session, job_row(caller, session, job)), accept)


@router.get("/{job}/wait", name="jobs.wait", response_model=JobView)
async def wait(
    caller: Reader,
    job: JobPath,
    seconds: Annotated[
        float, Query(alias="timeout", description="Seconds to wait at most.", examples=[30], ge=0, le=60)
    ] = 30,
) -> Any:
    """Answer when the job has ended, or after `timeout` with the job as it then is."""
    deps = caller.deps
    until = deps.now() + timedelta(seconds=seconds)
    row = await run_in_threadpool(_look, caller, job)
    pause = FIRST_PAUSE
    while not row.phase.is_final and (left := (until - deps.now()).total_seconds()) > 0:
        await deps.sleep(min(pause, left))
        pause = min(pause * PAUSE_GROWS, deps.settings.poll.total_seconds())
        row = await run_in_threadpool(_look, caller, row.id)  # by id: a name may come to mean a newer job
    return one(await run_in_threadpool(_whole, caller, row), "", {"ETag": etag(row)})


@router.delete("/{job}", name="jobs.delete", status_code=204)
def delete(caller: Deleter, job: JobPath, if_match: IfMatch = None) -> None:
    """Delete an ended job with its logs, checkpoints and artifacts; an array with its jobs, the last of many later."""
    now, actor = caller.deps.now(), caller.principal.name

    def work(session: Session) -> None:
        row = job_row(caller, session, job)
        check_etag(row, if_match)
        event = Event(key="deleted", at=now, actor=actor, kind="deleted", reason=f"deleted by {actor}")
        if not jobs.delete(session, row.tenant, row.project, row.id, now, event):
            raise PerdureError("PD-2016", f"job {row.name!r} is {row.phase}", data={"phase": row.phase})
        if is_array(row):
            gone = with_its_array(now, actor)
            arrays.delete_some(session, row.tenant, row.project, row.id, now, gone, DELETED_AT_ONCE)

    caller.writing(work)


def _whole(caller: Caller, row: JobRow) -> JobView:
    with caller.reading() as session:
        return whole_view(session, row, caller.deps.settings)


def _look(caller: Caller, job: str) -> JobRow:
    with caller.reading() as session:
        return job_row(caller, session, job)
