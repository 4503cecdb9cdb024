"""What is being done to one node: put out of service, drained, put back. One thing at a time."""

from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.clusters import EvictWork, NodeActivities
    from definitions.cluster import cluster_queue
    from definitions.cluster_calls import NodeDone, NodeOrder, NodePod, NodeVerb
    from policies.node_plan import DrainStep, drain_step
    from workflows import options


@workflow.defn
class NodeWorkflow:
    """Id: `node/{cluster}/{node}`. A drain lasts until the pods of our jobs have left; putting back ends it."""

    @workflow.init
    def __init__(self, order: NodeOrder) -> None:
        self._order = order
        self._put_back: NodeOrder | None = None
        self._asked: set[str] = set()  # uids of pods that may take their time to leave
        self._seen: set[str] = set()  # uids of pods that were there once

    @workflow.run
    async def run(self, order: NodeOrder) -> NodeDone:
        message = await self._carry_out(order)
        if self._put_back is not None:
            message = await self._uncordon(self._put_back)
        return NodeDone(message=message)

    @workflow.signal
    def put_back(self, order: NodeOrder) -> None:
        """The node is to serve again: what else is being done to it ends."""
        self._put_back = order

    async def _carry_out(self, order: NodeOrder) -> str:
        match order.verb:
            case NodeVerb.CORDON:
                await self._cordon()
                return "nothing new starts there"
            case NodeVerb.UNCORDON:
                return await self._uncordon(order)
            case NodeVerb.DRAIN:
                await self._cordon()
                return await self._drain(workflow.now())

    async def _drain(self, began: datetime) -> str:
        step = await self._look(began)
        while not step.over and self._put_back is None:
            workflow.set_current_details(step.message)
            for pod in step.evict:
                if await self._evict(pod):
                    self._asked.add(pod.uid)
            await self._wait(step)
            step = await self._look(began)
        return step.message

    async def _look(self, began: datetime) -> DrainStep:
        settings = self._settings("look who is there")
        there = await workflow.execute_activity_method(NodeActivities.pods_on_node, self._order, **settings)
        uids = {pod.uid for pod in there.pods}
        self._seen |= uids
        return drain_step(there.pods, frozenset(self._asked), len(self._seen - uids), began, workflow.now())

    async def _evict(self, pod: NodePod) -> bool:
        """Whether the pod was asked; one that cannot be asked now is tried again at the next look."""
        settings = self._settings(f"ask {pod.name} to leave")
        work = EvictWork(order=self._order, pod=pod)
        try:
            return (await workflow.execute_activity_method(NodeActivities.evict_pod, work, **settings)).asked
        except ActivityError as error:
            if isinstance(error.cause, ApplicationError) and not error.cause.non_retryable:
                workflow.logger.warning("%s was not asked to leave: %s", pod.name, error.cause.message)
                return False
            raise

    async def _wait(self, step: DrainStep) -> None:
        summary = step.message
        try:
            await workflow.wait_condition(
                lambda: self._put_back is not None, timeout=step.look_after, timeout_summary=summary
            )
        except TimeoutError:
            return

    async def _cordon(self) -> None:
        settings = self._settings(f"cordon: {self._order.reason}" if self._order.reason else "cordon")
        await workflow.execute_activity_method(NodeActivities.cordon_node, self._order, **settings)

    async def _uncordon(self, order: NodeOrder) -> str:
        settings = self._settings("uncordon")
        await workflow.execute_activity_method(NodeActivities.uncordon_node, order, **settings)
        return "pods may start there again"

    def _settings(self, summary: str) -> workflow.ActivityConfig:
        settings = options.node(cluster_queue(self._order.cluster))
        settings["summary"] = summary
        return settings
