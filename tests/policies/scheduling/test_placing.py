"""Gangs get a place for all of their pods or for none, and tiny clusters show that none is missed."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.model import Near, Node, Refusal, Request, Role, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.placing import Placer
from policies.scheduling.scores import Scoring, standard
from tests.policies.scheduling.oracle import exists, faults

LEVELS = ("zone", "rack")
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
