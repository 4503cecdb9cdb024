"""Schedules: jobs submitted by the clock. Rows say what is wanted; a loop beside the store tells the engine."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from sqlalchemy.orm import Session

from api.accept import accept, accepted
from api.access import Caller, Needs
from api.body import SCHEDULE_BODY, ScheduleBody
from api.idempotency import Once, Reply, once
from api.negotiate import Accept, one
from api.parameters import Cursor, DryRun, Limit, NamePath
from api.prepare import complete
from api.schedules import RUNS_SHOWN, prepare_schedule, run_of, schedule_view
from definitions.api_catalog import SchedulePage, ScheduleView
from definitions.api_jobs import JobView
from definitions.principal import Action, ResourceKind
from store import jobs, schedules
from store.tables import ScheduleRow

router = APIRouter(prefix="/v1/schedules", tags=["schedules"])

Lister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.SCHEDULE))]
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.SCHEDULE))]
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.SCHEDULE))]
Operator = Annotated[Caller, Depends(Needs(Action.OPERATE, ResourceKind.SCHEDULE))]
Deleter = Annotated[Caller, Depends(Needs(Action.DELETE, ResourceKind.SCHEDULE))]
PREVIEW: dict[int | str, dict[str, Any]] = {
    200: {"model": ScheduleView, "description": "With `dryRun=true`: the next runs it would have."}
}


@router.post(
    "",
    name="schedules.create",
    status_code=201,
    response_model=ScheduleView,
    openapi_extra=SCHEDULE_BODY,
    responses=PREVIEW,
)
def create(caller: Creator, body: ScheduleBody, request: Once, dry_run: DryRun = False) -> Any:
    """Store a schedule; it runs by the clock from now on."""
    now = caller.deps.now()
    if dry_run:
        with caller.reading() as session:
            schedule, stored = prepare_schedule(caller, session, body, uploaded=False)
        return Reply.of(200, schedule_view(stored, schedule.spec.paused, now)).send()

    def work(session: Session) -> Reply:
        schedule, stored = prepare_schedule(caller, session, body)
        name, project = schedule.metadata.name, schedule.metadata.project
        document, paused = stored.model_dump(mode="json"), schedule.spec.paused
        row = schedules.create(session, caller.tenant, project, name, document, now, paused=paused)
        view = schedule_view(stored, paused, now, created_at=row.created_at)
        return Reply.of(201, view, Location=f"/v1/schedules/{name}?project={project}")

    return once(caller, request, work).send()


@router.get("", name="schedules.list", response_model=SchedulePage)
def list_(caller: Lister, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Schedules by name."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        page = schedules.page(session, caller.tenant, caller.project, limit=size, after=cursor)
        items = [_view(caller, session, row, whole=False) for row in page.items]
    return SchedulePage(items=items, next=page.next)


@router.get("/{name}", name="schedules.get", response_model=ScheduleView)
def get(caller: Reader, name: NamePath, accept: Accept = "") -> Any:
    """One schedule, with its next runs and its last jobs."""
    with caller.reading() as session:
        return one(_view(caller, session, _find(caller, session, name)), accept)


@router.post("/{name}:pause", name="schedules.pause", response_model=ScheduleView)
def pause(caller: Operator, name: NamePath, request: Once) -> Any:
    """Submit nothing until it is resumed."""
    return _set_paused(caller, name, request, True).send()


@router.post("/{name}:resume", name="schedules.resume", response_model=ScheduleView)
def resume(caller: Operator, name: NamePath, request: Once) -> Any:
    """Run by the clock again. Times that passed meanwhile are not made up for."""
    return _set_paused(caller, name, request, False).send()


@router.post("/{name}:trigger", name="schedules.trigger", status_code=201, response_model=JobView)
def trigger(caller: Operator, name: NamePath, request: Once) -> Any:
    """Submit its job once, now, whatever else runs, and even while it is paused."""

    def work(session: Session) -> Reply:
        row = _find(caller, session, name)
        caller.require(Action.CREATE, ResourceKind.JOB)
        job, submission = run_of(row, caller.deps.now())
        made = accept(caller, session, complete(caller, session, job, submission), schedule=name)
        return accepted(caller, session, made)

    return once(caller, request, work).send()


@router.delete("/{name}", name="schedules.delete", status_code=204)
def delete(caller: Deleter, name: NamePath) -> None:
    """Remove a schedule. Jobs that it submitted go on."""
    now = caller.deps.now()
    if not caller.writing(lambda session: schedules.delete(session, caller.tenant, caller.project, name, now)):
        raise caller.missing(ResourceKind.SCHEDULE, name)


def _set_paused(caller: Caller, name: str, request: Once, paused: bool) -> Reply:
    def work(session: Session) -> Reply:
        if not schedules.set_paused(session, caller.tenant, caller.project, name, paused):
            raise caller.missing(ResourceKind.SCHEDULE, name)
        session.expire_all()
        return Reply.of(200, _view(caller, session, _find(caller, session, name)))

    return once(caller, request, work)


def _find(caller: Caller, session: Session, name: str) -> ScheduleRow:
    row = schedules.get(session, caller.tenant, caller.project, name)
    if row is None:
        raise caller.missing(ResourceKind.SCHEDULE, name)
    return row


def _view(caller: Caller, session: Session, row: ScheduleRow, *, whole: bool = True) -> ScheduleView:
    wanted = jobs.JobFilter(schedule=row.name)
    last = jobs.page(session, row.tenant, row.project, wanted, limit=RUNS_SHOWN)
    return schedule_view(
        row.document,
        row.paused,
        caller.deps.now(),
        created_at=row.created_at,
        last_jobs=[job.id for job in last.items],
        whole=whole,
    )
