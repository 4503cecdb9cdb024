"""One question to a cluster: a single activity on the queue of its worker, whose answer is returned."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.clusters import ClusterCalls
    from definitions.cluster import cluster_queue
    from definitions.cluster_calls import (
        Answer,
        CheckAsk,
        ClusterCall,
        CompareAsk,
        LogsAsk,
        MetricsAsk,
        RankLogsAsk,
        RenderAsk,
    )
    from workflows import options


@workflow.defn
class ClusterCallWorkflow:
    """Id: `call/{cluster}/{unique}`. Fails when no worker takes the question within seconds."""

    @workflow.run
    async def run(self, call: ClusterCall) -> Answer:
        settings = options.question(cluster_queue(call.cluster))
        settings["summary"] = f"{call.ask.kind} of cluster {call.cluster}"
        match call.ask:
            case CheckAsk():
                return await workflow.execute_activity_method(ClusterCalls.check_cluster, call.ask, **settings)
            case RenderAsk():
                return await workflow.execute_activity_method(ClusterCalls.render_objects, call.ask, **settings)
            case CompareAsk():
                return await workflow.execute_activity_method(ClusterCalls.compare_objects, call.ask, **settings)
            case LogsAsk():
                return await workflow.execute_activity_method(ClusterCalls.read_live_logs, call.ask, **settings)
            case RankLogsAsk():
                return await workflow.execute_activity_method(ClusterCalls.read_rank_logs, call.ask, **settings)
            case MetricsAsk():
                return await workflow.execute_activity_method(ClusterCalls.read_metrics, call.ask, **settings)
