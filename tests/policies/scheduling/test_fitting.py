"""Whether the nodes of today could hold a gang at all."""

import pytest

from policies.capacity import Site
from policies.scheduling.fitting import cannot_hold
from policies.scheduling.model import Request, Role, Shape

GI = 1024**3
SITES = [
    Site("north", "a", cpu=8000, memory=32 * GI, gpus=2, model="H100"),
    Site("north", "b", cpu=8000, memory=32 * GI),
    Site("south", "c", cpu=64000, memory=512 * GI, gpus=8, model="H100"),
]
BIG = "no node of north as it is today could hold it: it needs "
FEW = "nodes of north as they are today could hold "


@pytest.mark.parametrize(
    ("shape", "count", "says"),
    [
        (Shape(cpu=8000), 2, None),
        (Shape(), 5, None),
        (Shape(cpu=9000), 1, f"{BIG}9 processors on one node"),
        (Shape(memory=64 * GI), 1, f"{BIG}64Gi of memory on one node"),
        (Shape(gpus=4, gpu_models=("H100",)), 1, f"{BIG}4 GPUs of H100 on one node"),
        (Shape(cpu=1000, gpus=1, gpu_models=("A100",)), 1, f"{BIG}1 processor, 1 GPU of A100 on one node"),
        (Shape(gpus=1), 3, f"{FEW}2 of its 3 nodes at once, each with 1 GPU"),
        (Shape(cpu=4000), 4, None),
        (Shape(cpu=4000), 5, f"{FEW}4 of its 5 nodes at once, each with 4 processors"),
    ],
)
def test_what_the_nodes_of_the_pool_cannot_hold_is_named(shape: Shape, count: int, says: str | None) -> None:
    assert cannot_hold("north", SITES, Request("j", "q", (Role("node", count, shape),))) == says


def test_a_gang_that_is_to_be_spread_needs_a_node_for_each() -> None:
    found = cannot_hold("north", SITES, Request("j", "q", (Role("node", 3, Shape(cpu=1000), spread=True),)))
    assert found == f"{FEW}2 of its 3 nodes at once, each with 1 processor"


def test_a_pool_without_nodes_holds_nothing() -> None:
    found = cannot_hold("east", SITES, Request("j", "q", (Role("node", 1, Shape()),)))
    assert found == "no node of east as it is today could hold it: it needs a place on one node"
