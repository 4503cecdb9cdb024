"""A node whose taint says that it is about to go is drained, once, and after whatever else is being done to it."""

from typing import Any, cast

from temporalio.client import Client
from temporalio.exceptions import WorkflowAlreadyStartedError

from activities.ports import ClusterInspector
from definitions.cluster import NodeTaint, NodeView
from definitions.cluster_calls import NodeOrder, NodeVerb
from tests.support.jobs import NOW
from workers.notice_watcher import NoticeWatcher

SPOT = "aws-node-termination-handler/spot-itn"


class Cluster:
    def __init__(self) -> None:
        self.tainted: set[str] = set()

    def nodes(self) -> tuple[NodeView, ...]:
        return tuple(self._node(name) for name in ("a", "b"))

    def _node(self, name: str) -> NodeView:
        taints = (NodeTaint(key=SPOT),) if name in self.tainted else ()
        return NodeView(cluster="north", name=name, ready=True, schedulable=True, taints=taints, seen_at=NOW)


class Engine:
    """Starts workflows, of which one may be under way already."""

    def __init__(self) -> None:
        self.busy: set[str] = set()
        self.started: list[NodeOrder] = []

    async def start_workflow(self, _: Any, order: NodeOrder, *, id: str, task_queue: str, **__: Any) -> None:
        assert task_queue == "control"
        if id in self.busy:
            raise WorkflowAlreadyStartedError(id, "NodeWorkflow")
        self.started.append(order)


def watcher(cluster: Cluster, engine: Engine) -> NoticeWatcher:
    return NoticeWatcher(cast(ClusterInspector, cluster), cast(Client, engine), "control")


async def test_a_node_that_is_about_to_go_is_drained_once_for_each_notice() -> None:
    cluster, engine = Cluster(), Engine()
    watching = watcher(cluster, engine)
    await watching.look()
    assert engine.started == []
    cluster.tainted = {"b"}
    for _ in range(3):
        await watching.look()
    (order,) = engine.started
    assert (order.node, order.verb) == ("b", NodeVerb.DRAIN)
    assert SPOT in order.reason
    cluster.tainted = set()
    await watching.look()
    cluster.tainted = {"b"}
    await watching.look()
    assert len(engine.started) == 2


async def test_a_node_to_which_something_else_is_being_done_is_drained_afterwards() -> None:
    cluster, engine = Cluster(), Engine()
    cluster.tainted, engine.busy = {"a"}, {"node/north/a"}
    watching = watcher(cluster, engine)
    await watching.look()
    assert engine.started == []
    engine.busy = set()
    await watching.look()
    assert [order.node for order in engine.started] == ["a"]
