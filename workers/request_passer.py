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
WITHIN = 8.0  # seconds for all of them: the activity that waits is given fifteen


class OperatorRequests:
    """The Requests port of arrays."""

    def __init__(self, operator: JobOperator, client: Client, within: float = WITHIN) -> None:
        self._operator = operator
        self._client = client
        self._within = within

    async def hand_on(self, tenant: str, jobs: dict[int, str], request: Requested) -> tuple[int, ...]:
        """Ask every job. Those that have not begun yet, those that may grant it in a moment, and those for which the
        time was too short are not among the positions returned. Safe to repeat: the request has one id.

        Raises PortError while the engine is away.
        """
        slots = asyncio.Semaphore(AT_ONCE)

        async def ask(job: str) -> bool:
            async with slots:
                return await self._heard(tenant, job, request)

        asked = {asyncio.create_task(ask(job)): position for position, job in jobs.items()}
        try:
            done, _ = await asyncio.wait(asked, timeout=self._within)
        finally:
            for task in asked:
                task.cancel()
        return tuple(sorted(asked[task] for task in done if task.result()))

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
