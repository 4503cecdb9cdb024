"""Which real nodes jobs are placed on, and what counts as there: by the labels that NodePools select."""

import pytest

from activities.scheduling_nodes import capacity_of, levels_of, nodes_of
from definitions.documents import AnyKind, from_data
from policies.scheduling.documents import Scheduling, scheduling


def document(kind: str, name: str, **spec: object) -> AnyKind:
    return from_data({"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


def view(name: str, cluster: str = "north", **labels: str) -> dict[str, object]:
    return {
        "name": name, "cluster": cluster, "ready": True, "schedulable": True, "cpu_millis": 8000, "memory": 2**30,
        "gpus": 8, "gpu_type": "NVIDIA-H100", "labels": labels,
    }  # fmt: skip


FLAVOR = document("ResourceFlavor", "h100", gpuType="H100", alsoKnownAs=["NVIDIA-H100"], gpuMemory="80Gi")
HALL = document("Topology", "hall", levels=[{"name": "rack", "nodeLabel": "example.org/rack"}])
TRAINING = document("NodePool", "training", nodeSelector={"pool": "training"}, topology="hall")
SERVING = document("NodePool", "serving", nodeSelector={"pool": "serving", "zone": "a"})
SIMULATED = document("NodePool", "toys", simulated={"count": 2, "cpus": 4, "memory": "8Gi"})
SERVED = view("n2", pool="serving", zone="a")
VIEWS = {
    "north": [view("n1", pool="training"), SERVED, view("n3", pool="serving"), view("n4")],
    "local": [view("here", "local")],
}


def taking(pool: str, found: Scheduling) -> list[str]:
    """Nodes of a pool that take new pods."""
    return [node.name for node in nodes_of(pool, VIEWS, found) if node.open]


@pytest.mark.parametrize(
    ("documents", "north", "local"),
    [
        ((), ["n1", "n2", "n3", "n4"], ["here"]),
        ((TRAINING, HALL), ["n1"], ["here"]),
        ((TRAINING, HALL, SERVING), ["n1", "n2"], ["here"]),
        ((SIMULATED,), ["n1", "n2", "n3", "n4"], ["toys-0000", "toys-0001"]),
        ((SIMULATED, SERVING), ["n2"], ["toys-0000", "toys-0001"]),
    ],
)
def test_without_a_pool_all_nodes_take_jobs_and_with_pools_those_that_one_selects(
    documents: tuple[AnyKind, ...], north: list[str], local: list[str]
) -> None:
    found = scheduling(documents)
    assert (taking("north", found), taking("local", found)) == (north, local)


def test_nodes_of_no_pool_stay_known_and_count_as_nothing_that_is_there() -> None:
    found = scheduling((FLAVOR, TRAINING, HALL))
    assert [node.name for node in nodes_of("north", VIEWS, found)] == ["n1", "n2", "n3", "n4"]
    assert capacity_of(VIEWS, found)["gpu/H100"] == 2 * 8 * 1000  # n1, and this machine
    assert capacity_of(VIEWS, scheduling((FLAVOR,)))["gpu/H100"] == 5 * 8 * 1000


def test_a_pools_topology_and_a_flavors_words_and_memory_hold_for_real_nodes() -> None:
    found = scheduling((FLAVOR, TRAINING, HALL))
    nodes = nodes_of("north", VIEWS, found)
    assert levels_of(nodes, found, {}) == {"rack": "example.org/rack"}
    assert {(node.model, node.gpu_memory) for node in nodes} == {("H100", 80 * 2**30)}
