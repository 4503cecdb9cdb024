"""Gangs get a place for all of their pods or for none, and tiny clusters show that none is missed."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.model import Near, Node, Refusal, Request, Role, Shape, Taint, Tolerated, Where
from policies.scheduling.nodes import Nodes
from policies.scheduling.placing import Placer
from policies.scheduling.scores import Scoring, standard
from tests.policies.scheduling.oracle import exists, faults

LEVELS = ("zone", "rack")
TIGHT = st.builds(Shape, cpu=st.integers(1, 5).map(lambda cores: cores * 1000))
SHAPES = st.builds(
    Shape,
    cpu=st.sampled_from([0, 1000, 2000, 3000]),
    gpus=st.sampled_from([0, 1, 1, 2]),
    gpu_models=st.sampled_from([(), (), ("a",)]),
) | st.builds(Shape, cpu=st.sampled_from([0, 1000]), gpus=st.just(1), share=st.sampled_from([300, 400, 500, 700]))
NEAR = st.builds(
    Near,
    required=st.sampled_from([None, None, "zone", "rack"]),
    preferred=st.sampled_from([None, "zone", "rack"]),
    slice_level=st.sampled_from([None, None, "rack"]),
    slice_size=st.sampled_from([1, 2]),
)
GANGS = st.builds(
    lambda roles, level: Request("gang", "queue", tuple(roles), near=Near(required=level)),
    st.lists(
        st.builds(Role, st.just("role"), st.integers(1, 3), SHAPES, near=NEAR, spread=st.booleans()),
        min_size=1, max_size=3,
    ).filter(lambda roles: sum(role.count for role in roles) <= 5),
    st.sampled_from([None, None, None, "zone", "rack"]),
)  # fmt: skip


@st.composite
def clusters(draw: st.DrawFn) -> list[Node]:
    return [
        Node(
            f"n{number}",
            cpu=draw(st.sampled_from([2000, 3000, 4000])),
            memory=0,
            gpus=draw(st.sampled_from([0, 1, 2])),
            model=draw(st.sampled_from("ab")),
            labels={"zone": draw(st.sampled_from("yz")), "rack": draw(st.sampled_from("12"))},
        )
        for number in range(draw(st.integers(1, 4)))
    ]


def placer(nodes: Sequence[Node], scoring: Scoring | None = None) -> Placer:
    made = Nodes(nodes, LEVELS)
    return Placer(made, scoring or standard(made))


@settings(max_examples=200, derandomize=True)
@given(clusters(), GANGS)
def test_a_lone_gang_is_placed_rightly_whenever_there_is_a_place(cluster: list[Node], request: Request) -> None:
    answer = placer(cluster).place(request)
    if isinstance(answer, Refusal):
        assert not exists(cluster, request, LEVELS)
        assert answer.needed > answer.free
    else:
        assert faults(cluster, request, answer, LEVELS) == []


@pytest.mark.parametrize(
    ("cores", "roles"),
    [
        ((8, 7, 3), ((1, 5), (2, 4), (1, 2))),
        ((8, 8, 4), ((3, 4), (2, 3), (1, 2))),
        ((6, 4), ((1, 4), (2, 3))),
    ],
)
def test_parts_in_each_others_way_are_searched_a_place(
    cores: tuple[int, ...], roles: tuple[tuple[int, int], ...]
) -> None:
    cluster = [Node(f"n{number}", each * 1000, 0) for number, each in enumerate(cores)]
    asked = tuple(Role(f"r{cpu}", count, Shape(cpu=cpu * 1000)) for count, cpu in roles)
    request = Request("gang", "queue", asked)
    answer = placer(cluster).place(request)
    assert not isinstance(answer, Refusal)
    assert faults(cluster, request, answer, LEVELS) == []


@settings(max_examples=150, derandomize=True)
@given(
    st.lists(st.integers(3, 9), min_size=2, max_size=4),
    st.lists(st.tuples(st.integers(1, 2), TIGHT, st.booleans()), min_size=2, max_size=4),
)
def test_of_several_parts_none_is_missed_either(cores: list[int], asked: list[tuple[int, Shape, bool]]) -> None:
    cluster = [Node(f"n{number}", each * 1000, 0) for number, each in enumerate(cores)]
    roles = tuple(Role("r", count, shape, spread=spread) for count, shape, spread in asked)
    request = Request("gang", "queue", roles)
    answer = placer(cluster).place(request)
    if isinstance(answer, Refusal):
        assert not exists(cluster, request, LEVELS)
    else:
        assert faults(cluster, request, answer, LEVELS) == []


@settings(max_examples=60, derandomize=True)
@given(clusters(), st.lists(st.tuples(GANGS, st.booleans()), max_size=6))
def test_what_is_undone_or_refused_leaves_everything_as_it_was(
    cluster: list[Node], gangs: list[tuple[Request, bool]]
) -> None:
    made = placer(cluster)
    for request, stays in gangs:
        before = made.nodes.copy_free()
        answer = made.place(request)
        assert (made.nodes.free_cpu >= 0).all()
        assert (made.nodes.free_gpu >= -1).all()
        if not isinstance(answer, Refusal) and not stays:
            made.undo(request, answer)
        if isinstance(answer, Refusal) or not stays:
            assert (made.nodes.free_cpu == before.cpu).all()
            assert (made.nodes.free_gpu == before.gpu).all()


SOFT = Taint("worn", "", "PreferNoSchedule")


@pytest.mark.parametrize(
    ("pods", "tolerates", "names"),
    [
        (1, (), ["b"]),
        (2, (), ["b", "c"]),
        (3, (), ["a", "b", "c"]),
        (1, (Tolerated("worn"),), ["a"]),
        (1, (Tolerated("other"),), ["b"]),
        (4, (), None),
    ],
)
def test_nodes_with_a_soft_taint_are_taken_only_when_the_others_do_not_suffice(
    pods: int, tolerates: tuple[Tolerated, ...], names: list[str] | None
) -> None:
    nodes = [Node(name, 1000, 0, taints=(SOFT,) if name == "a" else ()) for name in "abc"]
    request = Request("gang", "queue", (Role("role", pods, Shape(cpu=1000, where=Where(tolerates=tolerates))),))

    found = placer(nodes).place(request)

    assert (None if isinstance(found, Refusal) else sorted(pod.node for pod in found)) == names


def test_of_two_roles_the_one_that_a_soft_taint_bothers_keeps_both_away_from_it() -> None:
    nodes = [Node(name, 4000, 0, taints=(SOFT,) if name == "a" else ()) for name in "ab"]
    roles = (Role("hard", 1, Shape(cpu=1000)), Role("easy", 1, Shape(cpu=1000, where=Where(tolerates=(Tolerated(),)))))

    found = placer(nodes).place(Request("gang", "queue", roles))

    assert not isinstance(found, Refusal)
    assert {pod.node for pod in found} == {"b"}
