"""Requests to running jobs, handed to their workflows as updates."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from temporalio.client import (
    Client,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from api.ports import EngineAway, JobClosed, NoAnswerYet, RequestRefused
from definitions.facts import Requested
from definitions.ids import job_workflow_id
from definitions.job_state import RequestOutcome
from workflows.job import JobWorkflow
from workflows.standing import ASK_AGAIN

T = TypeVar("T")
HEALTH_WITHIN = timedelta(seconds=2)
AGAIN_AFTER = 0.1  # seconds
REFUSED = "PD-2009"  # the type that the workflow gives to a refusal by its own rules


class TemporalJobOperator:
    """The API's `JobOperator`. The client may be lazy: the API serves while the engine is away."""

    def __init__(self, client: Client, limit: timedelta) -> None:
        self._client = client
        self._limit = limit.total_seconds()

    async def request(self, tenant: str, job: str, request: Requested) -> RequestOutcome:
        """Hand over a request and wait, for the limit at most. Safe to repeat: the request id is the update's id.

        Raises JobClosed, EngineAway, NoAnswerYet, RequestRefused.
        """
        await require_engine(self._client)
        workflow_id = job_workflow_id(tenant, job)
        handle = self._client.get_workflow_handle_for(JobWorkflow.run, workflow_id)
        try:
            # An overall limit: the client's own one counts per try, and its tries repeat for longer than that.
            async with asyncio.timeout(self._limit):
                return await until_heard(
                    lambda: handle.execute_update(JobWorkflow.request, request, id=request.request_id)
                )
        except WorkflowUpdateFailedError as error:
            raise _refusal(error) from error
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
            raise NoAnswerYet from error
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise NoAnswerYet from error
            raise JobClosed(started=await self._exists(workflow_id)) from error

    async def _exists(self, workflow_id: str) -> bool:
        try:
            await self._client.get_workflow_handle(workflow_id).describe(rpc_timeout=HEALTH_WITHIN)
        except RPCError as error:
            return error.status is not RPCStatusCode.NOT_FOUND
        return True


async def until_heard(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask a workflow again where nobody has heard: it is about to continue, or something came in the way of its doing
    so and the engine forgot the request. One that was heard after all is known by its id."""
    while True:
        try:
            return await ask()
        except WorkflowUpdateFailedError as error:
            if not (isinstance(error.cause, ApplicationError) and error.cause.type == ASK_AGAIN):
                raise
        except RPCError as error:
            if error.status is not RPCStatusCode.FAILED_PRECONDITION:
                raise
        await asyncio.sleep(AGAIN_AFTER)


async def require_engine(client: Client) -> None:
    """Raise EngineAway at once when the engine does not serve, instead of after the client's ten seconds of tries."""
    try:
        serving = await client.service_client.check_health(timeout=HEALTH_WITHIN)
    except (RPCError, RuntimeError) as error:  # RuntimeError: a lazy client could not connect
        raise EngineAway from error
    if not serving:
        raise EngineAway


def _refusal(error: WorkflowUpdateFailedError) -> Exception:
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type == REFUSED:
        return RequestRefused(cause.message)
    # The engine's own answer when the workflow ended while the request was being carried out.
    return JobClosed(started=True)
