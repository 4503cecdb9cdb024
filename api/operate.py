"""Requests to a job, through the port: what the engine says becomes an answer or a refusal with a code."""

from datetime import timedelta

from fastapi.concurrency import run_in_threadpool

from api.access import Caller
from api.idempotency import Repeatable, Reply, once_outside
from api.job_access import check_etag, job_row
from api.ports import EngineAway, JobClosed, NoAnswerYet, RequestRefused
from definitions.api_jobs import Operation
from definitions.errors import PerdureError
from definitions.facts import Requested, Verb
from store.tables import JobRow


async def operate(
    caller: Caller,
    request: Repeatable,
    reference: str,
    verb: Verb,
    *,
    reason: str,
    if_match: str | None,
    extend_by: timedelta | None = None,
    priority: int | None = None,
    nodes: int | None = None,
) -> Reply:
    """Ask a job for something. The same key asks the same thing once, whatever is lost on the way."""

    async def work(request_id: str) -> Reply:
        row = await run_in_threadpool(_find, caller, reference, if_match)
        asked = Requested(
            verb=verb,
            request_id=request_id,
            actor=caller.principal.name,
            reason=reason,
            at=caller.deps.now(),
            extend_by=extend_by,
            priority=priority,
            nodes=nodes,
        )
        return await _ask(caller, row, asked)

    return await once_outside(caller, request, work)


async def _ask(caller: Caller, row: JobRow, asked: Requested) -> Reply:
    try:
        outcome = await caller.deps.operator.request(row.tenant, row.id, asked)
    except NoAnswerYet:
        return Reply.of(
            202,
            Operation(
                request_id=asked.request_id,
                verb=asked.verb,
                job=row.id,
                settled=False,
                phase=row.phase,
                message="handed over; the job has not answered yet",
            ),
        )
    except JobClosed as closed:
        raise _closed(row, closed) from None
    except RequestRefused as refused:
        raise PerdureError("PD-2009", str(refused), data={"phase": row.phase}) from None
    except EngineAway:
        raise PerdureError("PD-2040", f"{asked.verb} was not carried out: the workflow engine is away") from None
    return Reply.of(
        200,
        Operation(
            request_id=asked.request_id, verb=asked.verb, job=row.id, phase=outcome.phase, message=outcome.reason
        ),
    )


def _find(caller: Caller, reference: str, if_match: str | None) -> JobRow:
    with caller.reading() as session:
        row = job_row(caller, session, reference)
    check_etag(row, if_match)
    if row.phase.is_final:
        raise _closed(row, JobClosed(started=True))
    return row


def _closed(row: JobRow, closed: JobClosed) -> PerdureError:
    if closed.started:
        return PerdureError("PD-2010", f"job {row.name!r} has ended ({row.phase})", data={"phase": row.phase})
    return PerdureError("PD-2011", f"job {row.name!r} is accepted and about to begin", data={"phase": row.phase})
