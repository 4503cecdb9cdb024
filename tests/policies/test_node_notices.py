"""Which nodes are about to go, and what follows for the jobs on them."""

import pytest

from definitions.cluster import NodeTaint, NodeView
from definitions.cluster_calls import NodeVerb
from policies.node_notices import NOTICES, notice_of, orders
from tests.support.jobs import NOW

SPOT = "aws-node-termination-handler/spot-itn"
SCALED = "ToBeDeletedByClusterAutoscaler"


def node(name: str, *keys: str) -> NodeView:
    taints = tuple(NodeTaint(key=key) for key in keys)
    return NodeView(cluster="north", name=name, ready=True, schedulable=True, taints=taints, seen_at=NOW)


@pytest.mark.parametrize("key", NOTICES)
def test_a_well_known_taint_is_a_notice_and_drains_its_node_with_the_reason(key: str) -> None:
    (order,) = orders([node("a", "dedicated", key)], set())
    assert (order.cluster, order.node, order.verb) == ("north", "a", NodeVerb.DRAIN)
    assert order.reason == f"{NOTICES[key].why} (taint {key})"


@pytest.mark.parametrize(
    "key",
    [
        "kubernetes.azure.com/scalesetpriority",
        "DeletionCandidateOfClusterAutoscaler",
        "node.kubernetes.io/unschedulable",
        "nvidia.com/gpu",
    ],
)
def test_a_taint_that_only_describes_a_node_is_none(key: str) -> None:
    assert notice_of(node("a", key)) is None
    assert orders([node("a", key), node("b")], set()) == ()


def test_the_most_urgent_notice_counts_and_its_node_goes_first() -> None:
    found = notice_of(node("b", SCALED, SPOT))
    assert found is not None
    assert found.key == SPOT
    nodes = [node("c", SCALED), node("b", SCALED, SPOT), node("a", SCALED)]
    assert [order.node for order in orders(nodes, set())] == ["b", "a", "c"]


def test_a_notice_is_acted_on_once() -> None:
    assert orders([node("a", SPOT)], {("a", SPOT)}) == ()
    assert [order.node for order in orders([node("a", SCALED), node("b", SPOT)], {("a", SPOT)})] == ["b", "a"]
