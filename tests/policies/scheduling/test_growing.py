"""Gangs grow into what nobody who waits could have: neither its nodes, nor what its limits leave it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.elastic import Pace
from policies.scheduling.growing import next_growth
from policies.scheduling.model import Expression, Operator, QueueRules, Quota, Request, Role, Shape, Where
from policies.scheduling.plan import plan
from policies.scheduling.world import Settings, World
from tests.policies.scheduling.plan_parts import carried_out, gang, pool, started, submitted

HOUR = 3600
NODE = 8000  # parts of a node's GPUs
RACK = {name: Where(expressions=(Expression("rack", Operator.IN, (name,)),)) for name in ("r0", "r1")}


def limited(nodes: int) -> QueueRules:
    return QueueRules("q", quotas={"gpu": Quota(limit=nodes * NODE)})


def test_a_gang_grows_only_as_far_as_limits_would_allow_if_everybody_who_waits_had_started() -> None:
    """The one that waits may only be in a rack that is full, so its nodes are not in question; its limit is."""

    def size(limit: int) -> int:
        world = pool(8, limited(limit), QueueRules("other"))
        submitted(world, in_rack("holder", 4, "r1", "other"), gang("wide", 1, queue="q", role={"least": 1, "most": 4}))
        assert len(started(carried_out(world, 0))) == 2
        submitted(world, in_rack("waits", 2, "r1", "q"))
        carried_out(world, HOUR)
        assert "waits" in world.waiting.index
        return world.sizes("wide")[0]

    assert {limit: size(limit) for limit in (3, 4, 5, 9)} == {3: 1, 4: 2, 5: 3, 9: 4}


def in_rack(name: str, pods: int, rack: str, queue: str) -> Request:
    return Request(name, queue, (Role("worker", pods, Shape(cpu=1000, gpus=8, where=RACK[rack])),), limit=9 * HOUR)


def test_two_gangs_that_grow_do_not_pass_their_limit_together() -> None:
    world = pool(8, limited(5))
    submitted(world, *(gang(name, 1, queue="q", role={"least": 1, "most": 4}) for name in ("a", "b")))
    carried_out(world, 0)
    assert next_growth(world, 0) == 1800
    carried_out(world, HOUR)
    assert sorted(world.sizes(name)[0] for name in ("a", "b")) == [1, 4]
    assert world.quotas.used("q", "gpu") == 5 * NODE
    assert next_growth(world, HOUR) is None  # one is as large as it can be, the other may change any time


def test_a_gang_that_has_never_saved_is_not_made_to_lose_more_than_an_hour_for_a_larger_size() -> None:
    world = pool(3, limited(9))
    submitted(world, gang("holds", 2, queue="q"), gang("wide", 1, queue="q", role={"least": 1, "most": 3}))
    carried_out(world, 0)
    world.ended("holds", HOUR)
    carried_out(world, HOUR + 1)
    assert world.sizes("wide") == (1,)
    assert next_growth(world, HOUR + 1) == HOUR + 1 + 1800  # it may have saved by then
    world.saved("wide", HOUR + 100)
    carried_out(world, HOUR + 101)
    assert world.sizes("wide") == (3,)


GANGS = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 4), st.booleans(), st.integers(0, 2)),
    min_size=1, max_size=7,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(nodes=st.integers(1, 6), limit=st.integers(1, 7), gangs=GANGS, ends=st.lists(st.integers(0, 6), max_size=4))
def test_growth_passes_no_limit_takes_no_taken_node_and_keeps_nobody_waiting(
    nodes: int, limit: int, gangs: list[tuple[int, int, int, bool, int]], ends: list[int]
) -> None:
    """Elastic and rigid gangs on equal nodes; whoever could start before anybody grew can start after it as well."""
    world = pool(nodes, limited(limit), settings=Settings(pace=Pace(60)))
    for number, (count, least, more, elastic, priority) in enumerate(gangs):
        role = {"least": min(least, count), "most": count + more} if elastic else {}
        submitted(world, gang(f"g{number}", count, queue="q", priority=priority, role=role, submitted=number))
    now = 0
    for end in [*ends, *range(3)]:
        now += 100
        decision = plan(world, now)
        assert not (decision.growths and _startable(world, now))
        grown = {growth.request: growth.pods for growth in decision.growths}
        assert len(grown) == len(decision.growths)
        for name, pods in grown.items():
            assert set(world.running[name].pods) < set(pods)
        world.apply(decision, now)
        assert world.quotas.used("q", "gpu") <= limit * NODE
        places = [pod.node for gang in world.running.values() for pod in gang.pods]
        assert len(places) == len(set(places))
        for eviction in decision.evictions:
            world.left(eviction.victim, now)
        if f"g{end}" in world.running:
            world.ended(f"g{end}", now)


def _startable(world: World, now: int) -> list[str]:
    """Who still waits and could have started on the nodes that are free now."""
    after = plan(world, now)
    names = set(world.waiting.index) - set(started(after))
    free = sum(bool((row == 1000).all()) for row in world.nodes.free_gpu)
    taken = sum(len(start.pods) for start in after.starts)
    used = world.quotas.used("q", "gpu") // NODE
    limit = world.queues["q"].quotas["gpu"].limit or 0
    room = min(free, limit // NODE - used) - taken
    return [name for name in names if _smallest(world, name) <= room]


def _smallest(world: World, name: str) -> int:
    return world.waiting.request(world.waiting.index[name]).roles[0].fewest
