"""Gangs that arrive in one round: nobody starts in the way of one before it that has no promise yet."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.model import Cause, QueueRules, Quota
from policies.scheduling.world import World
from tests.policies.scheduling.plan_parts import carried_out, gang, pool, promised_start, started, submitted, why

HOUR = 3600
BOTH = (QueueRules("q", strict=True), QueueRules("r"))


def busy(nodes: int) -> World:
    """A pool on which three nodes are taken for two hours."""
    world = submitted(pool(nodes, *BOTH), gang("long", 3, queue="r", limit=2 * HOUR, preemptible=False))
    assert started(carried_out(world, 0)) == ["long"]
    return world


@pytest.mark.parametrize("queue", ["r", "q"], ids=["any queue", "a strict queue"])
def test_what_would_delay_one_before_it_waits_and_what_ends_in_time_starts(queue: str) -> None:
    world = busy(4)
    submitted(
        world,
        gang("wide", 4, queue=queue, limit=HOUR, submitted=1),
        gang("endless", 1, queue="r", submitted=2),
        gang("short", 1, queue="r", limit=HOUR, submitted=3),
    )
    decision = carried_out(world, 60)
    assert started(decision) == ["short"]
    assert promised_start(decision, "wide") == 2 * HOUR
    assert why(decision, "endless") is Cause.PROMISED
    assert promised_start(decision, "endless") == 3 * HOUR


def test_one_that_is_not_even_tried_since_its_like_failed_is_not_delayed_either() -> None:
    world = submitted(busy(6), gang("other", 2, queue="r", limit=3 * HOUR))
    assert started(carried_out(world, 0)) == ["other"]
    alike = [gang(name, 3, queue="r", limit=5 * HOUR, submitted=at) for at, name in enumerate(("first", "second"), 1)]
    submitted(world, *alike, gang("endless", 1, queue="r", submitted=3))
    decision = carried_out(world, 0)
    assert started(decision) == []
    assert [promised_start(decision, each.id) for each in alike] == [2 * HOUR, 3 * HOUR]


def test_one_that_waits_for_a_limit_is_not_delayed_by_what_outlasts_it() -> None:
    rules = QueueRules("q", quotas={"gpu": Quota(limit=32_000)}), QueueRules("r")
    world = submitted(pool(4, *rules), gang("long", 3, queue="q", limit=2 * HOUR, preemptible=False))
    assert started(carried_out(world, 0)) == ["long"]
    limited = gang("limited", 4, queue="q", priority=1, limit=HOUR, submitted=1)
    submitted(world, limited, gang("endless", 1, queue="r", submitted=2))
    decision = carried_out(world, 60)
    assert (started(decision), why(decision, "limited")) == ([], Cause.LIMIT)
    assert [promised_start(decision, name) for name in ("limited", "endless")] == [2 * HOUR, 3 * HOUR]


def test_one_that_may_displace_promises_still_does() -> None:
    world = busy(4)
    submitted(world, gang("wide", 4, queue="r", limit=HOUR, submitted=1))
    assert promised_start(carried_out(world, 30), "wide") == 2 * HOUR
    urgent = gang("urgent", 2, queue="r", priority=5, limit=HOUR, displaces=True, submitted=2)
    submitted(world, urgent, gang("short", 1, queue="r", limit=HOUR, submitted=3))
    decision = carried_out(world, 60)
    assert started(decision) == ["short"]
    assert [promised_start(decision, name) for name in ("urgent", "wide")] == [2 * HOUR, 3 * HOUR]


def test_what_starts_is_the_same_when_nobody_waits() -> None:
    world = submitted(pool(4, *BOTH), gang("a", 2, queue="r"), gang("b", 1, queue="q"), gang("c", 1, queue="r"))
    assert started(carried_out(world, 0)) == ["b", "a", "c"]


Size = tuple[int, int, int | None]  # pods, GPUs of each, seconds
SIZES = st.tuples(st.integers(1, 5), st.sampled_from([4, 8]), st.sampled_from([HOUR, 2 * HOUR, 5 * HOUR, None]))


@pytest.mark.parametrize("queue", ["r", "q"], ids=["any queue", "a strict queue"])
@settings(max_examples=150, deadline=None)
@given(running=st.lists(SIZES, max_size=3), waiting=st.lists(SIZES, min_size=2, max_size=7), data=st.data())
def test_who_comes_later_never_delays_who_came_before(
    queue: str, running: list[Size], waiting: list[Size], data: st.DataObject
) -> None:
    """Of gangs that arrive together, the first ones start as they would if the others had never come."""
    first = data.draw(st.integers(1, len(waiting) - 1))
    assert begins(queue, running, waiting)[:first] == begins(queue, running, waiting[:first])


def begins(queue: str, running: list[Size], waiting: list[Size]) -> list[int | float]:
    """When each of those that wait starts: now (30), when it is promised to, or never."""
    world = pool(5, *BOTH)
    for number, (pods, gpus, limit) in enumerate(running):
        submitted(world, gang(f"r{number}", pods, gpus, queue="r", limit=limit, preemptible=False))
        carried_out(world, 0)
    names = [f"w{number}" for number in range(len(waiting))]
    for at, (name, (pods, gpus, limit)) in enumerate(zip(names, waiting, strict=True), 1):
        submitted(world, gang(name, pods, gpus, queue=queue, limit=limit, submitted=at))
    decision = carried_out(world, 30)
    told = {each.request: each.start for each in decision.promises} | dict.fromkeys(started(decision), 30)
    return [told.get(name, math.inf) for name in names]
