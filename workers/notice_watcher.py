"""Drains nodes that are about to go, as their taints say, while the jobs on them can still save."""

import asyncio
import logging

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from activities.effects import effect
from activities.ports import ClusterInspector, PortError
from definitions.cluster_calls import NodeOrder, node_workflow_id
from policies.node_notices import notice_of, orders
from workers.pausing import rounds
from workflows.node import NodeWorkflow

LOOK_PAUSE = 1.0  # seconds between two looks at the nodes that are known
log = logging.getLogger(__name__)


class NoticeWatcher:
    """Runs in a cluster's worker. A new worker heeds again what is still written; a second drain changes nothing."""

    def __init__(self, inspector: ClusterInspector, client: Client, queue: str) -> None:
        """`queue`: where workflows are served."""
        self._inspector = inspector
        self._client = client
        self._queue = queue
        self._heeded: set[tuple[str, str]] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Look until `stop` is set."""
        await rounds(stop, LOOK_PAUSE, self.look, (PortError, RPCError), _complain)

    async def look(self) -> None:
        """Order what the present notices call for. Safe to repeat: one workflow per node does one thing at a time."""
        nodes = await asyncio.to_thread(self._inspector.nodes)
        written = {node.name: notice.key for node in nodes if (notice := notice_of(node)) is not None}
        self._heeded &= set(written.items())  # a notice that was taken back counts anew when it comes again
        for order in orders(nodes, self._heeded):
            if await self._start(order):
                self._heeded.add((order.node, written[order.node]))

    async def _start(self, order: NodeOrder) -> bool:
        """False while something else is being done to the node."""
        try:
            with effect("heed-notice"):
                await self._client.start_workflow(
                    NodeWorkflow.run,
                    order,
                    id=node_workflow_id(order.cluster, order.node),
                    task_queue=self._queue,
                    id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                    id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                    static_summary=f"{order.verb} {order.node} of cluster {order.cluster}: {order.reason}",
                )
        except WorkflowAlreadyStartedError:
            return False
        log.info("node %s is drained: %s", order.node, order.reason)
        return True


def _complain(error: Exception) -> None:
    log.warning("notices cannot be heeded now: %s", error)
