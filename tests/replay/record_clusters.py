"""Record histories of a cluster's workflows: `python -m tests.replay.record_clusters NAME…`, for new names only."""

import uuid
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from activities.clusters import ClusterCalls, NodeActivities
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import cluster_queue
from definitions.cluster_calls import (
    Ask,
    CheckAsk,
    ClusterCall,
    CompareAsk,
    LogsAsk,
    MetricsAsk,
    NodeOrder,
    NodeVerb,
    RankLogsAsk,
    RankPlace,
    RenderAsk,
)
from definitions.progress import MetricQuery
from tests.replay.recording import Recorder
from tests.support.polling import eventually_async
from tests.support.scripted_cluster import ScriptedCluster, pod, runtime_with_log
from workers.workflow_runner import workflow_runner
from workflows.cluster_call import ClusterCallWorkflow
from workflows.node import NodeWorkflow

FOLDER = Path(__file__).parent / "cluster_histories"
REF = AttemptRef(tenant="acme", project="default", job="0" * 26, number=1, token="a" * 32)
LAUNCH = AttemptLaunch(ref=REF, name="digits", owner="ada", argv=("true",))
ASKS: dict[str, Ask] = {
    "check": CheckAsk(),
    "render": RenderAsk(launch=LAUNCH),
    "compare": CompareAsk(ref=REF),
    "logs": LogsAsk(ref=REF, rank=0),
    "rank-logs": RankLogsAsk(ref=REF, ranks=tuple(RankPlace(rank=rank) for rank in range(2))),
    "metrics": MetricsAsk(ref=REF, query=MetricQuery(limit=100, points=500)),
}
# A drain that meets a disruption budget, and whose second pod leaves by itself.
DRAINED = ScriptedCluster(pods_there=[(pod("a"), pod("b", leaving=True)), (pod("a"),), ()], budget=1)
NODES: dict[str, tuple[NodeVerb, ScriptedCluster]] = {
    "cordon": (NodeVerb.CORDON, ScriptedCluster()),
    "uncordon": (NodeVerb.UNCORDON, ScriptedCluster()),
    "drain": (NodeVerb.DRAIN, DRAINED),
    "put-back": (NodeVerb.DRAIN, ScriptedCluster(pods_there=[(pod("a"),)])),
}


def order(verb: NodeVerb, cluster: str, reason: str = "new kernel") -> NodeOrder:
    return NodeOrder(cluster=cluster, node="gpu-7", verb=verb, reason=reason, actor="ada")


@asynccontextmanager
async def served(
    client: Client, cluster: ScriptedCluster, name: str, lines: int = 3, without: Sequence[str] = ()
) -> AsyncIterator[str]:
    """Workers of the control queue and of a cluster's; yields the control queue. `without`: activities that the
    cluster's worker does not know.
    """
    queue = f"control-{name}"
    calls, nodes = ClusterCalls(cluster, runtime_with_log(lines)), NodeActivities(cluster)
    activities: list[Any] = [
        calls.check_cluster,
        calls.render_objects,
        calls.compare_objects,
        calls.read_live_logs,
        calls.read_rank_logs,
        calls.read_metrics,
        nodes.cordon_node,
        nodes.uncordon_node,
        nodes.pods_on_node,
        nodes.evict_pod,
    ]
    activities = [each for each in activities if each.__name__ not in without]
    workflows = [ClusterCallWorkflow, NodeWorkflow]
    with ThreadPoolExecutor(4) as threads:
        async with (
            Worker(client, task_queue=queue, workflows=workflows, workflow_runner=workflow_runner()),
            Worker(client, task_queue=cluster_queue(name), activities=activities, activity_executor=threads),
        ):
            yield queue


async def play(name: str, client: Client) -> WorkflowHandle[Any, Any]:
    """Run one scene to its end."""
    cluster = f"c-{uuid.uuid4().hex[:8]}"
    identity = f"{name}-{uuid.uuid4().hex[:8]}"
    if name in ASKS:
        async with served(client, ScriptedCluster(), cluster) as queue:
            call = ClusterCall(cluster=cluster, ask=ASKS[name])
            asked = await client.start_workflow(ClusterCallWorkflow.run, call, id=identity, task_queue=queue)
            await asked.result()
            return asked
    verb, scripted = NODES[name]
    async with served(client, scripted, cluster) as queue:
        handle = await client.start_workflow(NodeWorkflow.run, order(verb, cluster), id=identity, task_queue=queue)
        if name == "put-back":
            await eventually_async(lambda: "evict a" in scripted.done, 20, "the pod is asked to leave")
            await handle.signal(NodeWorkflow.put_back, order(NodeVerb.UNCORDON, cluster))
        await handle.result()
        return handle


RECORDER = Recorder(FOLDER, (*ASKS, *NODES), play)

if __name__ == "__main__":
    RECORDER.main()
