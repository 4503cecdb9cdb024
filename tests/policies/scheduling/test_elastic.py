"""Elastic gangs grow onto what nobody else could use, keep their domains, and are left alone for a while afterwards."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.elastic import Pace, growths, resizable, resized
from policies.scheduling.model import Growth, Near, Node, Pod, Refusal, Request, Role, Running, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.partial import largest_sizes
from policies.scheduling.placing import Placer
from policies.scheduling.scores import Scoring
from policies.scheduling.sizes import given_up, held, kept, surplus
from tests.policies.scheduling.victim_parts import G1, G4, LEVELS, NOW, cluster, new, node
from tests.support.placement_check import Books

PACE = Pace(600)


def elastic(
    name: str, *places: str, most: int, least: int = 1, shape: Shape = G4, near: Near | None = None, **changes: bool
) -> Running:
    """A gang with a pod of four GPUs, or of one on the first device, at each place."""
    role = Role("w", len(places), shape, least, most, near or Near(), changes.pop("spread", False))
    pods = tuple(Pod(0, one, tuple(range(shape.gpus))) for one in places)
    return Running(Request(name, "a", (role,)), pods, 0, **changes)


def grown(
    nodes: Sequence[Node], running: Sequence[Running], waiting: Sequence[Request] = (), changed: int | None = None,
    may: int = 99,
) -> dict[str, list[str]]:  # fmt: skip
    """Where each gang that grows is afterwards, checked by a second opinion."""
    arrays = cluster(nodes, running)
    place = Placer(arrays, Scoring(())).place
    times = {} if changed is None else {one.request.id: changed for one in running}
    found = growths(
        arrays, place, running, waiting, NOW, PACE, times, may=lambda _, sizes: sum(sizes) <= may
    )  # fmt: skip
    larger = {one.request: one.pods for one in found}
    after = [Running(one.request, larger.get(one.request.id, one.pods), 0) for one in running]
    assert Books(nodes, LEVELS, after).overbooked() == []
    for one in after:
        others = Books(nodes, LEVELS, [other for other in after if other is not one])
        assert others.complaints(one.request, one.pods, held(one)) == []
    return {name: [pod.node for pod in pods] for name, pods in larger.items()}


@pytest.mark.parametrize(("free", "size"), [(5, 5), (9, 8), (2, 2), (1, None)])
def test_a_gang_starts_as_large_as_there_is_room(free: int, size: int | None) -> None:
    nodes = Nodes([node(f"n{n}") for n in range(free)], LEVELS)
    placer = Placer(nodes, Scoring(()))
    request = Request("new", "a", (Role("w", 8, G4, least=2),))

    def fits(sizes: tuple[int, ...]) -> bool:
        found = placer.place(request, sizes=sizes)
        if isinstance(found, Refusal):
            return False
        placer.undo(request, found)
        return True

    assert largest_sizes(request, fits) == (None if size is None else (size,))


def test_what_a_gang_gives_up_came_last_and_leaves_the_rest_in_place() -> None:
    gang = elastic("e", "n0", "n1", "n2", most=3, least=2)
    assert surplus(gang) == (2,)
    assert [pod.node for pod in given_up(gang, (2,))] == ["n2"]
    assert [pod.node for pod in kept(gang, (2,))] == ["n0", "n1"]
    assert surplus(elastic("e", "n0", most=3, least=1)) is None


@pytest.mark.parametrize(
    ("since", "changed", "may"),
    [(0, None, True), (NOW - 600, None, True), (NOW - 599, None, False), (0, NOW - 599, False), (0, NOW - 600, True)],
)
def test_a_size_changes_once_in_an_interval(since: int, changed: int | None, may: bool) -> None:
    assert resizable(since, changed, NOW, PACE) is may


def test_gangs_grow_up_to_their_largest_size_the_smallest_first() -> None:
    nodes = [node(f"n{n}") for n in range(6)]
    small, large = elastic("small", "n0", most=4), elastic("large", "n1", "n2", most=4)
    assert grown(nodes, [large, small]) == {"small": ["n0", "n3", "n4", "n5"]}
    assert grown([*nodes, node("n6"), node("n7")], [large, small]).keys() == {"small", "large"}
    assert grown(nodes, [small]) == {"small": ["n0", "n1", "n2", "n3"]}


def test_a_gang_does_not_grow_while_leaving_or_soon_after_a_change_or_beyond_its_quota() -> None:
    nodes = [node(f"n{n}") for n in range(4)]
    assert grown(nodes, [elastic("e", "n0", most=4, leaving=True)]) == {}
    assert grown(nodes, [elastic("e", "n0", most=4)], changed=NOW - 1) == {}
    assert grown(nodes, [elastic("e", "n0", most=4)], may=2) == {"e": ["n0", "n1"]}
    assert grown(nodes, [elastic("e", "n0", most=1)]) == {}


def test_growth_leaves_every_node_alone_that_somebody_who_waits_could_ever_use() -> None:
    nodes = [node("n0"), node("n1"), node("n2", gpus=2)]
    gang = elastic("e", "n0", most=5, shape=Shape(cpu=1000, gpus=1), least=1)
    assert grown(nodes, [gang], [new(G4, 7)]) == {"e": ["n0", "n2", "n2"]}  # even though seven nodes are not there
    assert grown(nodes, [gang], [new(G1)]) == {}


def test_growth_keeps_domain_slices_and_spread() -> None:
    nodes = [node(f"n{n}", rack=f"r{n // 4}") for n in range(8)]
    assert grown(nodes, [elastic("e", "n1", most=9, near=Near(required="rack"))]) == {"e": ["n1", "n0", "n2", "n3"]}
    pairs = Near(slice_level="rack", slice_size=2)
    sliced = grown(nodes, [elastic("e", "n0", most=4, near=pairs)])["e"]
    assert (len(sliced), sliced[1] in ("n1", "n2", "n3")) == (4, True)
    spread = elastic("e", "n0", most=20, shape=Shape(cpu=1000, gpus=1), spread=True)
    assert sorted(grown(nodes, [spread])["e"]) == [f"n{n}" for n in range(8)]


def test_a_resize_that_does_not_fit_changes_nothing() -> None:
    nodes, gang = [node("n0"), node("n1")], elastic("e", "n0", most=8)
    arrays = cluster(nodes, [gang])
    place = Placer(arrays, Scoring(())).place
    before = arrays.free_gpu.tolist()
    assert isinstance(resized(arrays, place, gang, (3,)), Refusal)
    assert arrays.free_gpu.tolist() == before
    larger = resized(arrays, place, gang, (2,))
    assert larger == Growth("e", (*gang.pods, Pod(0, "n1", (0, 1, 2, 3))))
    smaller = resized(arrays, place, Running(gang.request, larger.pods, 0), (1,))
    assert smaller == Growth("e", gang.pods)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(2, 8), st.lists(st.sampled_from([1, 2, 4])))
def test_growth_never_takes_what_waits_nor_passes_the_largest_size(
    most: list[int], count: int, waits: list[int]
) -> None:
    nodes = [node(f"n{n}", gpus=1 + n % 4) for n in range(max(count, len(most)))]
    running = [elastic(f"e{n}", f"n{n}", most=size, shape=Shape(gpus=1)) for n, size in enumerate(most)]
    waiting = [new(Shape(gpus=gpus)) for gpus in waits]
    after = grown(nodes, running, waiting)
    begin = {one.request.id: one for one in running}
    for name, places in after.items():
        assert 1 < len(places) <= most[int(name[1:])]
        assert places[0] == begin[name].pods[0].node
        assert not any(1 + int(place[1:]) % 4 >= gpus for place in places[1:] for gpus in waits)
