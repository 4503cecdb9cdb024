"""Questions to a cluster, and what is done to its nodes. Served by the cluster's worker, which has the credentials."""

from collections import deque
from collections.abc import Iterator
from datetime import datetime

from temporalio import activity

from activities.effects import beating, effect
from activities.job import port_errors
from activities.ports import ClusterInspector, ClusterOperator, LogLine, Runtime
from definitions.cluster_calls import (
    Answer,
    CheckAsk,
    CompareAsk,
    LiveLine,
    LogsAsk,
    NodeOrder,
    NodePod,
    RenderAsk,
)
from definitions.wire import Wire

PAGE = 1000  # lines that are read of the runtime at a time
MOST_LINES = 5000  # of one answer
MOST_BYTES = 512 * 1024  # of the text in one answer: it travels through the engine


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


def wanted_lines(runtime: Runtime, ask: LogsAsk) -> tuple[LiveLine, ...]:
    """Up to `limit` lines after the cursor, or of the last `tail`; none older than `since`. Never more than fits."""
    found = _since(_lines(runtime, ask), ask.since)
    if ask.cursor is None and ask.tail is not None:
        found = iter(deque(found, maxlen=ask.tail))
    kept: list[LiveLine] = []
    room = MOST_BYTES
    for line in found:
        room -= len(line.text) + 64
        if len(kept) >= min(ask.limit, MOST_LINES) or (room < 0 and kept):
            break
        kept.append(LiveLine(at=line.at, text=line.text, cursor=line.cursor))
    return tuple(kept)


def _lines(runtime: Runtime, ask: LogsAsk) -> Iterator[LogLine]:
    cursor = ask.cursor
    while lines := runtime.read_logs(ask.ref, ask.rank, cursor=cursor, limit=PAGE):
        yield from lines
        cursor = lines[-1].cursor


def _since(lines: Iterator[LogLine], since: datetime | None) -> Iterator[LogLine]:
    return (line for line in lines if since is None or line.at >= since)
