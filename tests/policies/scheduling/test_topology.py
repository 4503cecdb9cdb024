"""Closeness: which domain a gang gets, what is preferred and what must be, slices, and gangs that stay apart."""

from collections.abc import Sequence

import pytest

from policies.scheduling.model import FAR, Cause, Near, Node, Pod, Refusal, Request, Role, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.placing import Placer
from policies.scheduling.scores import standard

LEVELS = ("zone", "rack")
WHOLE_NODE = Shape(cpu=1000, gpus=8)
ONE = Shape(cpu=100, gpus=1)


def racks(*sizes: int, zones: str = "") -> list[Node]:
    """So many nodes of 8 GPUs in racks 0, 1, ... of zones named by single letters, z for all unless given."""
    return [
        Node(f"{rack}-{n}", 8000, 0, 8, "h", labels={"zone": (zones or "z" * len(sizes))[rack], "rack": str(rack)})
        for rack, size in enumerate(sizes)
        for n in range(size)
    ]


def placer(nodes: Sequence[Node], *used: tuple[str, int]) -> Placer:
    """`used`: so many GPUs of a node are taken."""
    made = Nodes(nodes, LEVELS)
    for name, gpus in used:
        made.take(Shape(gpus=gpus), made.index[name], range(gpus))
    return Placer(made, standard(made))


def gang(count: int, shape: Shape = WHOLE_NODE, near: Near = FAR, role: Near = FAR, word: str = "") -> Request:
    return Request("gang", "queue", (Role("worker", count, shape, near=role),), near=near, apart=word)


def placed(answer: tuple[Pod, ...] | Refusal) -> list[str]:
    assert not isinstance(answer, Refusal), answer
    return [pod.node for pod in answer]


def in_racks(answer: tuple[Pod, ...] | Refusal) -> list[str]:
    return [name.partition("-")[0] for name in placed(answer)]


def test_a_domain_is_the_path_of_labels_to_it() -> None:
    made = [
        Node("a", 1, 1, labels={"zone": "y", "rack": "1"}),
        Node("b", 1, 1, labels={"zone": "z", "rack": "1"}),
        Node("c", 1, 1, labels={"rack": "1"}),
        Node("d", 1, 1, labels={"zone": "z", "rack": "1"}),
        Node("e", 1, 1, labels={"zone": "z"}),
    ]
    nodes = Nodes(made, LEVELS)
    assert nodes.domains.tolist() == [[0, 1, -1, 1, 1], [0, 1, -1, 1, -1]]
    assert nodes.topology.names == (("y", "z"), ("y/1", "z/1"))


@pytest.mark.parametrize(
    ("sizes", "count", "near", "rack"),
    [
        ((4, 2, 3), 2, Near(required="rack"), "1"),
        ((4, 2, 3), 3, Near(required="rack"), "2"),
        ((4, 2, 3), 4, Near(required="rack"), "0"),
        ((3, 3), 3, Near(required="rack"), "0"),
        ((4, 2, 3), 2, Near(preferred="rack"), "1"),
    ],
)
def test_a_gang_gets_the_fullest_domain_that_holds_it(
    sizes: tuple[int, ...], count: int, near: Near, rack: str
) -> None:
    assert in_racks(placer(racks(*sizes)).place(gang(count, near=near))) == [rack] * count
    assert in_racks(placer(racks(*sizes)).place(gang(count, role=near))) == [rack] * count


def test_what_others_use_of_a_domain_counts() -> None:
    answer = placer(racks(3, 3, 3), ("1-0", 1)).place(gang(2, near=Near(required="rack")))
    assert placed(answer) == ["1-1", "1-2"]


def test_preferred_levels_are_tried_outwards_and_then_anywhere() -> None:
    near = Near(preferred="rack")
    assert set(in_racks(placer(racks(2, 2, 2, zones="yzz")).place(gang(4, near=near)))) == {"1", "2"}
    assert len(placed(placer(racks(2, 2, 2, zones="yzz")).place(gang(5, near=near)))) == 5
    both = Near(required="zone", preferred="rack")
    assert set(in_racks(placer(racks(2, 2, 2, zones="yzz")).place(gang(3, near=both)))) == {"1", "2"}
    assert isinstance(placer(racks(2, 2, 2, zones="yzz")).place(gang(5, near=both)), Refusal)


def test_roles_can_be_close_each_on_its_own_or_all_together() -> None:
    roles = (
        Role("prefill", 2, WHOLE_NODE, near=Near(required="rack")),
        Role("decode", 3, WHOLE_NODE, near=Near(required="rack")),
    )
    request = Request("gang", "queue", roles)
    assert in_racks(placer(racks(3, 2)).place(request)) == ["1"] * 2 + ["0"] * 3
    together = Request("gang", "queue", roles, near=Near(required="zone"))
    answer = placer(racks(3, 3, 2, zones="yzz")).place(together)
    assert in_racks(answer) == ["2"] * 2 + ["1"] * 3
    assert isinstance(placer(racks(3, 2, 2, zones="yzz")).place(together), Refusal)


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ((2, 4), 6, "1 1 1 1 0 0"),
        ((3, 3), 4, "0 0 1 1"),
        ((2, 3), 5, "0 0 1 1 1"),
        ((1, 4), 4, "1 1 1 1"),
    ],
)
def test_slices_of_a_role_are_each_within_one_domain(sizes: tuple[int, ...], count: int, expected: str) -> None:
    near = Near(slice_level="rack", slice_size=2)
    for request in (gang(count, role=near), gang(count, near=near)):
        got = in_racks(placer(racks(*sizes)).place(request))
        assert all(len(set(got[start : start + 2])) == 1 for start in range(0, count, 2))
        assert sorted(got) == sorted(expected.split())


def test_too_few_whole_slices_are_refused_with_the_level() -> None:
    answer = placer(racks(3, 3, 3)).place(gang(8, role=Near(slice_level="rack", slice_size=2)))
    assert answer == Refusal("gang", Cause.NEVER, "pods", 8, 6, 6, "rack")


@pytest.mark.parametrize(
    ("used", "request_", "expected"),
    [
        ((), gang(1, Shape(gpus=16)), Refusal("gang", Cause.NEVER, "gpu", 16000, 8000, 8000)),
        ((), gang(6), Refusal("gang", Cause.NEVER, "gpu", 48000, 40000, 40000)),
        ((), gang(1, Shape(gpus=1, gpu_models=("b",))), Refusal("gang", Cause.NEVER, "gpu", 1000, 0, 0)),
        ((), gang(1, Shape(cpu=10, memory=1)), Refusal("gang", Cause.NEVER, "memory", 1, 0, 0)),
        ((("0-0", 8),), gang(5), Refusal("gang", Cause.CAPACITY, "gpu", 40000, 32000, 40000)),
        ((("0-0", 1),), gang(5), Refusal("gang", Cause.CAPACITY, "gpu", 40000, 39000, 40000)),
        ((("0-0", 1), ("0-1", 4)), gang(4), Refusal("gang", Cause.CAPACITY, "pods", 4, 3, 5)),
        ((), gang(2, Shape(cpu=9000)), Refusal("gang", Cause.NEVER, "cpu", 9000, 8000, 8000)),
        ((), gang(4, near=Near(required="rack")), Refusal("gang", Cause.NEVER, "gpu", 32000, 24000, 24000, "z/0")),
        ((), gang(4, role=Near(required="rack")), Refusal("gang", Cause.NEVER, "gpu", 32000, 24000, 24000, "z/0")),
        ((), gang(1, near=Near(required="row")), Refusal("gang", Cause.NEVER, "pods", 1, 0, 0, "row")),
        (
            (("0-0", 2),),
            gang(3, near=Near(required="rack")),
            Refusal("gang", Cause.TOPOLOGY, "gpu", 24000, 22000, 24000, "z/0"),
        ),
        (
            (("0-0", 8), ("0-1", 8)),
            gang(3, near=Near(required="rack")),
            Refusal("gang", Cause.TOPOLOGY, "gpu", 24000, 16000, 16000, "z/1"),
        ),
    ],
)
def test_a_refusal_names_cause_scarcest_resource_and_the_domain_that_came_nearest(
    used: tuple[tuple[str, int], ...], request_: Request, expected: Refusal
) -> None:
    made = placer(racks(3, 2), *used)
    before = made.nodes.copy_free()
    assert made.place(request_) == expected
    assert (made.nodes.free_gpu == before.gpu).all()
    assert made.place(request_) == expected


def test_eight_gpus_on_eight_nodes_are_no_node_of_eight() -> None:
    made = placer(racks(8), *((f"0-{n}", 7) for n in range(8)))
    assert made.place(gang(1)) == Refusal("gang", Cause.CAPACITY, "pods", 1, 0, 8)


def test_a_gang_that_failed_is_tried_again_only_once_something_is_free() -> None:
    made = placer(racks(1), ("0-0", 8))
    refused = made.place(gang(1))
    assert isinstance(refused, Refusal)
    made.nodes.give(Shape(gpus=8), 0, range(8))
    assert placed(made.place(gang(1))) == ["0-0"]


def test_part_of_a_gang_that_failed_keeps_nothing_from_the_next() -> None:
    made = placer(racks(3))
    assert isinstance(made.place(gang(4)), Refusal)
    assert len(placed(made.place(gang(3)))) == 3


def test_gangs_with_the_same_word_share_no_node() -> None:
    made = placer(racks(2))
    first, second, third = gang(2, ONE, word="db"), gang(2, ONE, word="db"), gang(1, ONE, word="web")
    pods = made.place(first)
    assert placed(pods) == ["0-0", "0-0"]
    assert placed(made.place(second)) == ["0-1", "0-1"]
    assert made.place(gang(1, ONE, word="db")) == Refusal("gang", Cause.CAPACITY, "gpu", 1000, 0, 0)
    assert placed(made.place(third)) == ["0-0"]
    assert not isinstance(pods, Refusal)
    made.undo(first, pods)
    assert placed(made.place(gang(1, ONE, word="db"))) == ["0-0"]


def test_only_allowed_nodes_are_used_and_what_fails_there_may_fit_elsewhere() -> None:
    made = placer(racks(2))
    allowed = made.nodes.domains[1] < 0
    assert isinstance(made.place(gang(1), allowed=allowed), Refusal)
    allowed[1] = True
    assert placed(made.place(gang(1), allowed=allowed)) == ["0-1"]
    assert placed(made.place(gang(1))) == ["0-0"]


def test_sizes_take_the_place_of_counts() -> None:
    request = Request("gang", "queue", (Role("a", 5, WHOLE_NODE, least=1), Role("b", 1, ONE)))
    answer = placer(racks(3)).place(request, sizes=(2, 0))
    assert not isinstance(answer, Refusal)
    assert [(pod.role, pod.devices) for pod in answer] == [(0, tuple(range(8)))] * 2


def test_a_thousand_pods_find_their_rack_among_a_hundred() -> None:
    made = placer(racks(*[12] * 60, 126, *[12] * 39))
    answer = made.place(gang(1000, ONE, near=Near(required="rack")))
    assert set(in_racks(answer)) == {"60"}
