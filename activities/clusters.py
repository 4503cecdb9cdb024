"""Questions to a cluster, and what is done to its nodes. Served by the cluster's worker, which has the credentials."""

from temporalio import activity

from activities.effects import beating, effect
from activities.job import port_errors
from activities.live_logs import MOST_BYTES, merged_lines, wanted_lines
from activities.ports import ClusterInspector, ClusterOperator, Runtime
from definitions.cluster_calls import (
    Answer,
    CheckAsk,
    CompareAsk,
    LogsAsk,
    MetricsAsk,
    NodeOrder,
    NodePod,
    RankLogsAsk,
    RenderAsk,
)
from definitions.wire import Wire
from policies.progress import wanted_series


class Evicted(Wire):
    """What became of asking a pod to leave. `asked` False: something forbids it for now; ask again."""

    asked: bool


class EvictWork(Wire):
    order: NodeOrder
    pod: NodePod


class PodsThere(Wire):
    pods: tuple[NodePod, ...] = ()


class ClusterCalls:
    """Answers one question at a time; everything here only looks, so each is safe to repeat."""

    def __init__(self, inspector: ClusterInspector, runtime: Runtime) -> None:
        self._inspector = inspector
        self._runtime = runtime

    @activity.defn
    def check_cluster(self, ask: CheckAsk) -> Answer:
        with beating(), port_errors(), effect("cluster-check"):
            return Answer(report=self._inspector.check())

    @activity.defn
    def render_objects(self, ask: RenderAsk) -> Answer:
        with beating(), port_errors(), effect("cluster-render"):
            return Answer(objects=self._inspector.render(ask.launch))

    @activity.defn
    def compare_objects(self, ask: CompareAsk) -> Answer:
        with beating(), port_errors(), effect("cluster-compare"):
            return Answer(changes=self._inspector.compare(ask.ref))

    @activity.defn
    def read_live_logs(self, ask: LogsAsk) -> Answer:
        with beating(), port_errors(), effect("cluster-logs"):
            return Answer(lines=wanted_lines(self._runtime, ask))

    @activity.defn
    def read_rank_logs(self, ask: RankLogsAsk) -> Answer:
        with beating(), port_errors(), effect("cluster-logs"):
            lines, more = merged_lines(self._runtime, ask)
        return Answer(rank_lines=lines, more=more)

    @activity.defn
    def read_metrics(self, ask: MetricsAsk) -> Answer:
        with beating(), port_errors(), effect("cluster-metrics"):
            points = self._runtime.progress(ask.ref)
            return Answer(metrics=wanted_series(points, ask.query, MOST_BYTES))


class NodeActivities:
    """Each is safe to repeat: a node is out of service or not, and a pod that leaves is asked by its uid."""

    def __init__(self, operator: ClusterOperator) -> None:
        self._operator = operator

    @activity.defn
    def cordon_node(self, order: NodeOrder) -> None:
        reason = f"{order.reason} ({order.actor})" if order.reason else f"by {order.actor}"
        with beating(), port_errors(), effect("node-cordon"):
            self._operator.cordon(order.node, reason)

    @activity.defn
    def uncordon_node(self, order: NodeOrder) -> None:
        with beating(), port_errors(), effect("node-uncordon"):
            self._operator.uncordon(order.node)

    @activity.defn
    def pods_on_node(self, order: NodeOrder) -> PodsThere:
        with beating(), port_errors(), effect("node-pods"):
            return PodsThere(pods=self._operator.pods(order.node))

    @activity.defn
    def evict_pod(self, work: EvictWork) -> Evicted:
        with beating(), port_errors(), effect("node-evict"):
            return Evicted(asked=self._operator.evict(work.pod))
