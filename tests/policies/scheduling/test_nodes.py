"""Nodes as arrays: which pods they may hold, how many they can take, and what is free after comings and goings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.model import (
    ANYWHERE,
    Expression,
    Node,
    Operator,
    Pod,
    Request,
    Role,
    Shape,
    Taint,
    Tolerated,
    Where,
)
from policies.scheduling.nodes import Nodes

GIB = 2**30
NODES = (
    Node("plain", 4000, 8 * GIB, labels={"disk": "ssd"}),
    Node("small", 8000, 8 * GIB, 2, "T4", 16 * GIB, labels={"zone": "y"}, taints=(Taint("gpu", "yes"),)),
    Node("large", 64000, 64 * GIB, 8, "H100", 80 * GIB, {"1g.10gb": 7}, {"zone": "z", "disk": "hdd"}),
    Node("closed", 64000, 64 * GIB, 8, "H100", 80 * GIB, labels={"zone": "z"}, open=False),
)


def where(*expressions: Expression, tolerates: tuple[Tolerated, ...] = (), nodes: tuple[str, ...] = ()) -> Where:
    return Where(expressions, tolerates, nodes)


ALL_TAINTS = (Tolerated(),)


@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        (ANYWHERE, "plain large closed"),
        (where(tolerates=ALL_TAINTS), "plain small large closed"),
        (where(tolerates=(Tolerated("gpu"),)), "plain small large closed"),
        (where(tolerates=(Tolerated("gpu", "yes", "NoSchedule"),)), "plain small large closed"),
        (where(tolerates=(Tolerated("gpu", "no"),)), "plain large closed"),
        (where(tolerates=(Tolerated("gpu", effect="NoExecute"),)), "plain large closed"),
        (where(tolerates=(Tolerated("other"),)), "plain large closed"),
        (where(Expression("disk", Operator.IN, ("ssd", "nvme"))), "plain"),
        (where(Expression("disk", Operator.IN, ("nvme",))), ""),
        (where(Expression("disk", Operator.NOT_IN, ("ssd",))), "large closed"),
        (where(Expression("disk", Operator.EXISTS)), "plain large"),
        (where(Expression("disk", Operator.DOES_NOT_EXIST), tolerates=ALL_TAINTS), "small closed"),
        (where(Expression("rack", Operator.EXISTS)), ""),
        (where(Expression("rack", Operator.NOT_IN, ("1",))), "plain large closed"),
        (where(Expression("zone", Operator.EXISTS), Expression("disk", Operator.EXISTS)), "large"),
        (where(nodes=("plain", "gone", "small")), "plain"),
        (where(nodes=("small",), tolerates=ALL_TAINTS), "small"),
    ],
)
def test_a_pod_may_be_where_labels_taints_and_names_allow_it(conditions: Where, names: str) -> None:
    nodes = Nodes(NODES)
    assert [nodes.names[n] for n in np.flatnonzero(nodes.mask(Shape(cpu=1, where=conditions)))] == names.split()


@pytest.mark.parametrize(
    ("shape", "room"),
    [
        (Shape(cpu=4000), [1, 2, 16, 0]),
        (Shape(memory=3 * GIB), [2, 2, 21, 0]),
        (Shape(gpus=1), [0, 2, 8, 0]),
        (Shape(gpus=3), [0, 0, 2, 0]),
        (Shape(gpus=1, share=300), [0, 6, 24, 0]),
        (Shape(gpus=1, share=300, cpu=2000), [0, 4, 24, 0]),
        (Shape(gpus=1, gpu_models=("A100", "T4")), [0, 2, 0, 0]),
        (Shape(gpus=1, gpu_memory=40 * GIB), [0, 0, 8, 0]),
        (Shape(slices=(("1g.10gb", 2),)), [0, 0, 3, 0]),
        (Shape(slices=(("1g.10gb", 2),), gpu_models=("T4",)), [0, 0, 0, 0]),
        (Shape(slices=(("7g.80gb", 1),)), [0, 0, 0, 0]),
    ],
)
def test_a_node_takes_as_many_pods_as_its_scarcest_resource_allows(shape: Shape, room: list[int]) -> None:
    tolerant = Shape(
        **{name: getattr(shape, name) for name in shape.__slots__} | {"where": where(tolerates=ALL_TAINTS)}
    )
    nodes = Nodes(NODES)
    assert nodes.room(tolerant).tolist() == room
    assert nodes.fits(tolerant).tolist() == [count > 0 for count in room]
    assert nodes.most(tolerant)[:3].tolist() == room[:3]


def test_parts_of_a_device_do_not_add_up_over_devices() -> None:
    nodes = Nodes([Node("n", 0, 0, 2)])
    nodes.take(Shape(gpus=1, share=600), 0, [0])
    nodes.take(Shape(gpus=1, share=600), 0, [1])
    assert nodes.free_gpu.tolist() == [[400, 400]]
    assert nodes.room(Shape(gpus=1, share=800)).tolist() == [0]
    assert nodes.room(Shape(gpus=1, share=200)).tolist() == [4]


def test_a_node_that_opens_again_takes_pods_again() -> None:
    nodes = Nodes(NODES)
    nodes.shut(3, open=True)
    assert nodes.room(Shape(gpus=8)).tolist() == [0, 0, 1, 1]
    nodes.shut(3)
    assert nodes.room(Shape(gpus=8)).tolist() == [0, 0, 1, 0]


def test_what_runs_is_a_fact_even_where_a_node_has_shrunk() -> None:
    nodes = Nodes([Node("n", 1000, 0, 1), Node("other", 1000, 0, 2)])
    shape = Shape(cpu=2000, gpus=3)
    nodes.take(shape, 0, [0, 1, 2])
    assert nodes.free_cpu[0] == -1000
    assert nodes.room(Shape(cpu=1)).tolist() == [0, 1000]
    nodes.give(shape, 0, [0, 1, 2])
    assert (nodes.free_cpu[0], nodes.free_gpu[0].tolist()) == (1000, [1000, -1])


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="one name"):
        Nodes([Node("n", 1, 1), Node("n", 2, 2)])


SHAPES = st.builds(
    Shape,
    cpu=st.integers(0, 3),
    memory=st.integers(0, 3),
    gpus=st.just(1),
    share=st.integers(1, 1000),
    slices=st.sampled_from([(), (("small", 1),)]),
)


@settings(derandomize=True)
@given(st.lists(st.tuples(SHAPES, st.integers(0, 1), st.integers(0, 1)), max_size=6), st.integers(0, 6))
def test_what_was_taken_is_free_again_once_it_is_given_back(pods: list[tuple[Shape, int, int]], copied: int) -> None:
    nodes = Nodes([Node(name, 9, 9, 2, slices={"small": 3}) for name in "ab"])
    before = nodes.copy_free()
    requests = [Request(str(number), "q", (Role("r", 1, shape),), apart="w") for number, (shape, *_) in enumerate(pods)]
    places = [(Pod(0, "ab"[node], (device,)),) for _, node, device in pods]
    middle = before
    for number, (request, place) in enumerate(zip(requests, places, strict=True)):
        middle = nodes.copy_free() if number == copied else middle
        nodes.take_all(request, place)
    for name, total in (("free_cpu", 9), ("free_memory", 9)):
        used = [sum(getattr(shape, name[5:]) for shape, n, _ in pods if n == node) for node in (0, 1)]
        assert getattr(nodes, name).tolist() == [total - used[0], total - used[1]]
    seen = nodes.stamp.copy()
    nodes.restore(middle)
    changed = {node for _, node, _ in pods[copied:]} if copied < len(pods) else {node for _, node, _ in pods}
    assert set(np.flatnonzero(nodes.stamp > seen).tolist()) == changed
    for request, place in zip(requests[:copied] if copied < len(pods) else [], places, strict=False):
        nodes.give_all(request, place)
    assert all(
        np.array_equal(getattr(nodes, f"free_{name}"), getattr(before, name))
        for name in ("cpu", "memory", "gpu", "slices")
    )
    assert all(not counts.any() for counts in nodes.words.values())
