"""The order in time against the slow way: whoever's turn it is starts, and where there is no room something ends."""

import heapq

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.model import QueueRules, Quota, Request, Role, Shape
from policies.scheduling.order import Round
from policies.scheduling.order_in_time import in_time
from policies.scheduling.world import Settings, World
from tests.policies.scheduling.plan_parts import carried_out, gang, machines, pool, submitted

QUEUES = ("a", "b", "c")
GPUS = 16  # of two nodes
GANG = st.tuples(st.sampled_from(QUEUES), st.integers(1, 4), st.integers(1, 40), st.integers(0, 1))


def world_of(guarantees: list[int], weights: list[int], running: int, gangs: list[tuple[str, int, int, int]]) -> World:
    """The first so many of the gangs run already. A gang: queue, GPUs, minutes, priority."""
    rules = [
        QueueRules(name, weight=float(weight), quotas={"gpu": Quota(guarantee=1000 * guarantee)})
        for name, guarantee, weight in zip(QUEUES, guarantees, weights, strict=True)
    ]
    world = World(machines(2), (), rules, Settings(depth=None))
    for at, (queue, gpus, minutes, priority) in enumerate(gangs):
        if at == running:
            carried_out(world, 0)
        role = Role("worker", 1, Shape(cpu=1, gpus=gpus))
        submitted(world, Request(f"{queue}{at}", queue, (role,), priority=priority, submitted=at, limit=60 * minutes))
    return world


def slowly(world: World, now: int) -> list[str]:
    """Names in the order in which they start. Whenever something ends, whose turn it is is asked anew."""
    quotas = world.quotas.copy()
    heap = [
        (max(now, gang.since + (gang.request.limit or 0)), at, gang.request.queue, world.takes(gang.request, gang.pods))
        for at, gang in enumerate(world.running.values())
    ]
    heapq.heapify(heap)
    left, found, at, clock = set(world.waiting.index.values()), [], len(heap), now
    while left:
        made = Round(world.waiting, quotas.copy())
        made.line = made.line._replace(bounded=False)
        for number in set(world.waiting.index.values()) - left:
            made.line.state[made._at(number)] = 1  # it has started
        turn = made.next()
        assert turn is not None
        request = world.waiting.request(turn)
        asks = world.waiting.asks[int(world.waiting.kind[turn])]
        if heap and quotas.used("", "gpu") + asks["gpu"] > 1000 * GPUS:
            end, _, queue, amounts = heapq.heappop(heap)
            clock = max(clock, end)
            quotas.remove(queue, amounts)
            continue
        quotas.add(request.queue, asks)
        at += 1
        heapq.heappush(heap, (clock + (request.limit or 0), at, request.queue, asks))
        found.append(request.id)
        left.remove(turn)
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
    st.integers(0, 8),
    st.lists(GANG, min_size=1, max_size=18),
)
def test_the_order_is_that_of_turns_taken_one_by_one(
    guarantees: list[int], weights: list[int], running: int, gangs: list[tuple[str, int, int, int]]
) -> None:
    world = world_of(guarantees, weights, running, gangs)
    places = in_time(world, 60)
    numbers = sorted(world.waiting.index.values(), key=lambda number: int(places[number]))
    assert sorted(places[numbers].tolist()) == sorted(set(places[numbers].tolist()))
    assert [world.waiting.request(number).id for number in numbers] == slowly(world, 60)


def test_with_one_queue_it_is_the_order_itself() -> None:
    world = submitted(pool(1), *(gang(f"g{number}", 1, 4, limit=60, submitted=9 - number) for number in range(9)))
    assert in_time(world, 0) is world.order(0)


def test_only_so_many_are_put_in_time_as_are_promised_a_start_and_the_others_follow() -> None:
    gangs = [(queue, 2, 10, 0) for _ in range(20) for queue in QUEUES]
    world = world_of([8, 0, 0], [1, 1, 1], 0, gangs)
    whole = in_time(world, 0)
    world.settings = Settings(depth=10)
    some = in_time(world, 0)
    first = {number for number in world.waiting.index.values() if some[number] <= 10}
    assert first == {number for number in world.waiting.index.values() if whole[number] <= 10}
    others = [number for number in world.waiting.index.values() if number not in first]
    rank = world.order(0)
    assert sorted(others, key=lambda number: int(some[number])) == sorted(others, key=lambda n: int(rank[n]))
