"""Questions to clusters and orders about nodes, handed to their workers through workflows."""

import asyncio
import contextlib
from datetime import timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError

from api.ports import ClusterSilent, NoAnswerYet, NodeBusy, QuestionUnknown
from definitions.cluster_calls import (
    PASSING,
    Answer,
    ClusterCall,
    NodeDone,
    NodeOrder,
    NodeVerb,
    cluster_call_id,
    node_workflow_id,
)
from definitions.errors import PerdureError, all_codes
from definitions.ids import new_id
from workers.operator import require_engine
from workflows.cluster_call import ClusterCallWorkflow
from workflows.node import NodeWorkflow

LONGEST_CALL = timedelta(seconds=100)  # a little more than the activity may take with its second try
NOT_REGISTERED = "NotFoundError"  # the type of the engine's own error about an activity that a worker does not have
REQUEST = "request"  # memo: which request started the workflow


class TemporalClusters:
    """The API's `ClusterAsker`. `limit`: how long an order about a node is waited for."""

    def __init__(self, client: Client, queue: str, limit: timedelta) -> None:
        self._client = client
        self._queue = queue
        self._limit = limit.total_seconds()

    async def ask(self, call: ClusterCall) -> Answer:
        await require_engine(self._client)
        try:
            async with asyncio.timeout(LONGEST_CALL.total_seconds()):
                handle = await self._client.start_workflow(
                    ClusterCallWorkflow.run,
                    call,
                    id=cluster_call_id(call.cluster, new_id()),
                    task_queue=self._queue,
                    execution_timeout=LONGEST_CALL,
                    static_summary=f"{call.ask.kind} of cluster {call.cluster}",
                )
                answer = await handle.result()
        except WorkflowFailureError as error:
            raise _refusal(error) from error
        except (TimeoutError, RPCError) as error:
            raise ClusterSilent from error
        if isinstance(call.ask, PASSING):
            await self._forget(handle.id)
        return answer

    async def _forget(self, workflow_id: str) -> None:
        """Remove an answered question with its answer. One that stays goes with the engine's retention."""
        place = WorkflowExecution(workflow_id=workflow_id)
        request = DeleteWorkflowExecutionRequest(namespace=self._client.namespace, workflow_execution=place)
        with contextlib.suppress(RPCError):
            await self._client.workflow_service.delete_workflow_execution(request)

    async def order(self, order: NodeOrder, request_id: str) -> NodeDone:
        await require_engine(self._client)
        try:
            async with asyncio.timeout(self._limit):
                return await (await self._started(order, request_id)).result()
        except WorkflowFailureError as error:
            raise _refusal(error) from error
        except (TimeoutError, RPCError) as error:
            raise NoAnswerYet from error

    async def _started(self, order: NodeOrder, request_id: str) -> WorkflowHandle[NodeWorkflow, NodeDone]:
        """The workflow that carries the order out. Putting a node back into service also ends its drain."""
        workflow_id = node_workflow_id(order.cluster, order.node)
        try:
            return await self._client.start_workflow(
                NodeWorkflow.run,
                order,
                id=workflow_id,
                task_queue=self._queue,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                memo={REQUEST: request_id},
                static_summary=f"{order.verb} {order.node} of cluster {order.cluster}",
            )
        except WorkflowAlreadyStartedError:
            handle = self._client.get_workflow_handle_for(NodeWorkflow.run, workflow_id)
        if order.verb is NodeVerb.UNCORDON:
            await handle.signal(NodeWorkflow.put_back, order)
        elif (await (await handle.describe()).memo()).get(REQUEST) != request_id:
            raise NodeBusy
        return handle


def _refusal(error: WorkflowFailureError) -> Exception:
    """What the cluster's worker refused with; its silence when nobody took the question."""
    cause: BaseException | None = error.cause
    if isinstance(cause, ActivityError):
        cause = cause.cause
    if isinstance(cause, ApplicationError) and cause.type == NOT_REGISTERED:
        return QuestionUnknown()
    if isinstance(cause, ApplicationError) and cause.type in {code.code for code in all_codes()}:
        return PerdureError(cause.type, cause.message)
    return ClusterSilent()
