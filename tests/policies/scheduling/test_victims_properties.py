"""Victims against every set there is on clusters of a handful of nodes, and against an exact solver on larger ones."""

from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.eligible import Rules, anybody, eligible, lost_work
from policies.scheduling.model import Near, Node, Request, Running, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.sizes import kept, surplus
from policies.scheduling.victims import NoVictims, Proof, find_victims
from tests.policies.scheduling.victim_parts import (
    G1,
    G2,
    HALF,
    LEVELS,
    NOW,
    RULES,
    found,
    gang,
    new,
    node,
    staying,
    victims,
)  # fmt: skip
from tests.support.placement_check import Books
from tests.support.preemption import NOW as THEN
from tests.support.preemption import QUEUES as TEAM
from tests.support.preemption import beneficiary, crowded, exact_loss

SHAPES = st.sampled_from([G1, G2, HALF, Shape(cpu=3000, memory=1), Shape(cpu=2000, memory=1, gpus=1)])
NEAR = st.sampled_from([Near(), Near(required="rack"), Near(slice_level="rack", slice_size=2)])


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[Node], list[Running], Request]:
    """A few gangs on small nodes that they fill but for a little, and a newcomer of up to three pods."""
    count = draw(st.integers(2, 4))
    nodes = [node(f"n{n}", draw(st.integers(1, 2)), f"r{n % 2}") for n in range(count)]
    arrays, running = Nodes(nodes, LEVELS), []
    for number in range(draw(st.integers(3, 6))):
        shape, places = draw(SHAPES), []
        for _ in range(draw(st.integers(1, 2))):
            row = draw(st.integers(0, count - 1))
            row = next((other % count for other in range(row, row + count) if arrays.fits(shape)[other % count]), row)
            if arrays.fits(shape)[row]:
                able = [device for device, left in enumerate(arrays.free_gpu[row]) if left >= shape.share]
                arrays.take(shape, row, able[: shape.gpus])
                places.append((f"n{row}", able[: shape.gpus]))
        if places:
            running.append(
                gang(
                    f"g{number}", shape, *places, since=draw(st.integers(0, NOW)), priority=draw(st.integers(0, 2)),
                    saved=draw(st.none() | st.integers(0, NOW)), preemptible=draw(st.integers(0, 5)) > 0,
                    least=draw(st.integers(1, len(places))), queue=draw(st.sampled_from("ab")),
                )
            )  # fmt: skip
    request = new(draw(SHAPES), draw(st.integers(1, 3)), draw(NEAR), draw(st.booleans()), priority=2)
    return nodes, running, request


def cheapest(nodes: list[Node], running: list[Running], request: Request) -> int | None:
    """The least lost work over all sets of those who may go: what is too much of elastic gangs, or else whole gangs."""
    spared = eligible(request, running, anybody, NOW, RULES)
    able = [one for one, why in zip(running, spared, strict=True) if why is None]
    shrinks = {one.request.id: kept(one, keep) for one in able if (keep := surplus(one)) is not None}
    for stays in (shrinks, {one.request.id: () for one in able}):
        best = None
        for chosen in chain.from_iterable(combinations(stays, size) for size in range(1, len(stays) + 1)):
            price = sum(lost_work(one, NOW) for one in able if one.request.id in chosen)
            if best is not None and price >= best:
                continue
            left = [
                Running(one.request, stays[one.request.id] if one.request.id in chosen else one.pods, 0)
                for one in running
            ]
            if Books(nodes, LEVELS, left).places(request, [request.roles[0].count]):
                best = price
        if best is not None:
            return best
    return None


@settings(max_examples=150, deadline=None)
@given(scenes())
def test_small_clusters_are_solved_exactly(scene: tuple[list[Node], list[Running], Request]) -> None:
    nodes, running, request = scene
    sizes = [request.roles[0].count]
    if Books(nodes, LEVELS, running).places(request, sizes):
        return
    answer, best = found(nodes, running, request), cheapest(nodes, running, request)
    assert isinstance(answer, Proof) == (best is not None), answer
    if isinstance(answer, NoVictims) or best is None:
        return
    gangs = {one.request.id: one for one in running}
    gone = [gangs[name] for name in victims(answer)]
    assert sum(lost_work(one, NOW) for one in gone) <= best * 1.01
    assert all(one.request.preemptible and one.request.priority <= request.priority for one in gone)
    for spared in answer.evictions:
        fewer = Proof(tuple(one for one in answer.evictions if one is not spared), (), 0)
        assert not Books(nodes, LEVELS, staying(running, fewer)).places(request, sizes), f"{spared.victim} need not go"


@pytest.mark.parametrize(
    ("level", "width", "near", "pods"),
    [
        ("block", 10, Near(required="block"), 7),
        ("block", 30, Near(), 12),
        ("rack", 6, Near(slice_level="rack", slice_size=3), 9),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_lost_work_is_within_a_hundredth_of_an_exact_solver(
    seed: int, level: str, width: int, near: Near, pods: int
) -> None:
    packed = crowded(seed, 30, 11, level, width)
    request = beneficiary(pods, near)
    answer = find_victims(packed.nodes, None, request, packed.running, anybody, THEN, Rules(TEAM))
    best = exact_loss(packed, request)
    assert isinstance(answer, Proof) == (best is not None)
    if isinstance(answer, Proof) and best is not None:
        gangs = {one.request.id: one for one in packed.running}
        assert sum(lost_work(gangs[one.victim], THEN) for one in answer.evictions) <= best * 1.01
