"""Passing a person's request on to jobs of an array, through the same update that a person's own request is."""

import asyncio

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from activities.ports import PortError
from api.ports import EngineAway, JobClosed, JobOperator, NoAnswerYet, RequestRefused
from definitions.facts import Requested
from definitions.ids import job_workflow_id
from policies.array_requests import passes_later
from workflows.job import JobWorkflow

AT_ONCE = 16


class OperatorRequests:
    """The Requests port of arrays."""

    def __init__(self, operator: JobOperator, client: Client) -> None:
        self._operator = operator
        self._client = client

    async def hand_on(self, tenant: str, jobs: dict[int, str], request: Requested) -> tuple[int, ...]:
        """Ask every job. Those that have not begun yet, and those that may grant it in a moment, are not among the
        positions returned. Safe to repeat: the request has one id. Raises PortError while the engine is away."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def ask(position: int, job: str) -> int | None:
            async with slots:
                return position if await self._heard(tenant, job, request) else None

        done = await asyncio.gather(*(ask(position, job) for position, job in jobs.items()))
        return tuple(position for position in done if position is not None)

    async def _heard(self, tenant: str, job: str, request: Requested) -> bool:
        try:
            await self._operator.request(tenant, job, request)
        except JobClosed as closed:
            return closed.started
        except NoAnswerYet:
            return False
        except RequestRefused:
            return await self._refuses_for_good(tenant, job, request)
        except EngineAway as error:
            raise PortError("the engine did not answer", code="PD-2040") from error
        return True

    async def _refuses_for_good(self, tenant: str, job: str, request: Requested) -> bool:
        handle = self._client.get_workflow_handle_for(JobWorkflow.run, job_workflow_id(tenant, job))
        try:
            state = await handle.query(JobWorkflow.state)
        except (RPCError, WorkflowQueryFailedError):
            return False
        return not passes_later(request.verb, state.phase)
