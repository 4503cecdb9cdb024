"""Sessions through the engine: a workflow asks the worker of the job's cluster, which dials back to the API."""

from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.service import RPCError

from api.ports import EngineAway
from definitions.cluster import session_queue
from definitions.search_attributes import CLUSTER, PROJECT, TENANT
from definitions.session import SessionWork
from workflows.session import SessionInput, SessionWorkflow


class TemporalSessions:
    """The API's `SessionStarter`."""

    def __init__(self, client: Client, task_queue: str) -> None:
        self._client = client
        self._queue = task_queue

    async def start(self, work: SessionWork, cluster: str) -> None:
        ref = work.ref
        attributes = {TENANT: ref.tenant, PROJECT: ref.project, CLUSTER: cluster}
        try:
            await self._client.start_workflow(
                SessionWorkflow.run,
                SessionInput(work=work, queue=session_queue(cluster)),
                id=f"session/{ref.tenant}/{work.id}",
                task_queue=self._queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=TypedSearchAttributes(
                    [SearchAttributePair(key, value) for key, value in attributes.items()]
                ),
                static_summary=f"{work.wants.kind} with job {ref.job}, rank {work.rank}, for {work.actor}",
            )
        except (RPCError, RuntimeError) as error:  # RuntimeError: no connection
            raise EngineAway from error
