"""Requests to a job: cancel, suspend, resume, extend, reprioritise, resize, checkpoint now; and cloning it."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends
from sqlalchemy.orm import Session

from api.accept import cloned
from api.access import Caller, Needs
from api.idempotency import Once, Reply, once
from api.job_access import job_row
from api.operate import operate
from api.parameters import IfMatch, JobPath
from definitions.api_jobs import JobView, Operation
from definitions.api_submit import CloneJob, ExtendJob, Operate, ReprioritiseJob, ResizeJob
from definitions.errors import PerdureError
from definitions.facts import Verb
from definitions.principal import Action, ResourceKind
from definitions.quantities import QuantityError, parse_duration
from definitions.spec_errors import sentence

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

Operator = Annotated[Caller, Depends(Needs(Action.OPERATE, ResourceKind.JOB))]
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.JOB))]
Reasoned = Annotated[Operate | None, Body()]
HANDED_OVER: dict[int | str, dict[str, Any]] = {
    202: {"model": Operation, "description": "Handed over; the job had not answered in time."}
}


@router.post("/{job}:cancel", name="jobs.cancel", response_model=Operation, responses=HANDED_OVER)
async def cancel(caller: Operator, job: JobPath, request: Once, body: Reasoned = None, if_match: IfMatch = None) -> Any:
    """End the job: SIGTERM, its grace period, SIGKILL to every descendant."""
    reason = body.reason if body else ""
    reply = await operate(caller, request, job, Verb.CANCEL, reason=reason, if_match=if_match)
    return reply.send()


@router.post("/{job}:suspend", name="jobs.suspend", response_model=Operation, responses=HANDED_OVER)
async def suspend(
    caller: Operator, job: JobPath, request: Once, body: Reasoned = None, if_match: IfMatch = None
) -> Any:
    """Save a checkpoint, end the processes, keep the job."""
    reason = body.reason if body else ""
    reply = await operate(caller, request, job, Verb.SUSPEND, reason=reason, if_match=if_match)
    return reply.send()


@router.post("/{job}:resume", name="jobs.resume", response_model=Operation, responses=HANDED_OVER)
async def resume(caller: Operator, job: JobPath, request: Once, body: Reasoned = None, if_match: IfMatch = None) -> Any:
    """Start a suspended job again, from its newest verified checkpoint."""
    reason = body.reason if body else ""
    reply = await operate(caller, request, job, Verb.RESUME, reason=reason, if_match=if_match)
    return reply.send()


@router.post("/{job}:checkpoint", name="jobs.checkpoint", response_model=Operation, responses=HANDED_OVER)
async def checkpoint(
    caller: Operator, job: JobPath, request: Once, body: Reasoned = None, if_match: IfMatch = None
) -> Any:
    """Ask the running job to save now."""
    reason = body.reason if body else ""
    reply = await operate(caller, request, job, Verb.CHECKPOINT, reason=reason, if_match=if_match)
    return reply.send()


@router.post("/{job}:extend", name="jobs.extend", response_model=Operation, responses=HANDED_OVER)
async def extend(caller: Operator, job: JobPath, request: Once, body: ExtendJob, if_match: IfMatch = None) -> Any:
    """Give the job more running time."""
    try:
        by = parse_duration(body.by)
    except QuantityError as error:
        raise PerdureError("PD-1108", error.what, where="body.by", remedy=sentence(error.fix)) from None
    reply = await operate(caller, request, job, Verb.EXTEND, reason=body.reason, if_match=if_match, extend_by=by)
    return reply.send()


@router.post("/{job}:reprioritise", name="jobs.reprioritise", response_model=Operation, responses=HANDED_OVER)
async def reprioritise(
    caller: Operator, job: JobPath, request: Once, body: ReprioritiseJob, if_match: IfMatch = None
) -> Any:
    """Let the job go before or behind others of its class, while it waits and when it waits again."""
    reply = await operate(
        caller, request, job, Verb.REPRIORITISE, reason=body.reason, if_match=if_match, priority=body.priority
    )
    return reply.send()


@router.post("/{job}:resize", name="jobs.resize", response_model=Operation, responses=HANDED_OVER)
async def resize(caller: Operator, job: JobPath, request: Once, body: ResizeJob, if_match: IfMatch = None) -> Any:
    """Let an elastic job run on so many nodes: one that runs saves, stops, and goes on from its step at that size."""
    reply = await operate(caller, request, job, Verb.RESIZE, reason=body.reason, if_match=if_match, nodes=body.nodes)
    return reply.send()


@router.post("/{job}:clone", name="jobs.clone", status_code=201, response_model=JobView)
def clone(caller: Creator, job: JobPath, request: Once, body: Annotated[CloneJob | None, Body()] = None) -> Any:
    """Submit the stored document and snapshot again, with changes if wanted, from a checkpoint if wanted."""

    def work(session: Session) -> Reply:
        return cloned(caller, session, job_row(caller, session, job), body or CloneJob())

    return once(caller, request, work).send()
