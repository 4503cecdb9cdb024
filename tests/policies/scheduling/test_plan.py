"""One round over a whole pool: what starts, what waits and until when, and who has to go."""

import pytest

from policies.scheduling.asks import Claim
from policies.scheduling.model import Cause, Near, Pod, Promise, QueueRules, Quota, Reclaim, Stop, Within
from policies.scheduling.plan import SECONDS_TO_GO, plan
from policies.scheduling.world import Settings
from tests.policies.scheduling.plan_parts import (
    carried_out,
    gang,
    machines,
    nodes_of,
    pool,
    promised_start,
    started,
    submitted,
    victims,
    why,
)

HOUR = 3600


def test_a_round_changes_nothing_and_says_the_same_again() -> None:
    world = submitted(pool(2), gang("a", 1, limit=HOUR), gang("b", 2, submitted=1))
    free, first = world.nodes.copy_free(), plan(world, 0)
    assert (world.nodes.free_gpu == free.gpu).all()
    assert plan(world, 0) == first
    assert started(first) == ["a"]


def test_two_gangs_of_which_one_fits_run_one_after_the_other_and_never_by_halves() -> None:
    """C07: two gangs of two pods of four GPUs, on eight."""
    world = submitted(pool(1), gang("x", 2, 4, limit=HOUR), gang("y", 2, 4, limit=HOUR), gang("z", 2, 8))
    first = carried_out(world, 0)
    assert started(first) == ["x"]
    assert (why(first, "y"), promised_start(first, "y")) == (Cause.CAPACITY, HOUR)
    assert why(first, "z") is Cause.NEVER
    refusal = next(each for each in first.refusals if each.request == "z")
    assert (refusal.resource, refusal.needed, refusal.bound) == ("gpu", 16_000, 8_000)
    world.ended("x", HOUR)
    assert started(carried_out(world, HOUR)) == ["y"]


def test_what_fits_before_a_promised_start_passes_and_what_would_delay_it_waits() -> None:
    world = submitted(pool(4), gang("long", 3, limit=2 * HOUR), gang("wide", 4, limit=HOUR, submitted=1))
    assert started(carried_out(world, 0)) == ["long"]
    submitted(world, gang("short", 1, limit=HOUR, submitted=2), gang("endless", 1, submitted=3))
    decision = carried_out(world, 60)
    assert started(decision) == ["short"]
    assert why(decision, "endless") in (Cause.PROMISED, Cause.CAPACITY)
    assert promised_start(decision, "wide") == 2 * HOUR
    assert promised_start(decision, "endless") >= 3 * HOUR


def test_a_promised_device_keeps_nobody_from_the_others_of_its_node() -> None:
    world = pool(1, settings=Settings(depth=0))
    submitted(world, gang("beside", 1, 1, limit=HOUR), gang("due", 1, 1, limit=HOUR, submitted=1))
    world.promises = {"due": Promise("due", 60, 60 + HOUR, (Pod(0, "n0", (0,)),), firm=True)}
    assert started(carried_out(world, 60)) == ["beside", "due"]
    assert [gang.pods[0].devices for gang in world.running.values()] == [(1,), (0,)]


def test_a_promise_moves_earlier_when_something_ends_early_and_slips_only_when_something_overruns() -> None:
    world = submitted(pool(2), gang("a", 2, limit=4 * HOUR), gang("b", 2, limit=HOUR, submitted=1))
    assert promised_start(carried_out(world, 0), "b") == 4 * HOUR
    late = carried_out(world, 5 * HOUR)
    assert promised_start(late, "b") > 5 * HOUR
    world.ended("a", 5 * HOUR + 10)
    assert started(carried_out(world, 5 * HOUR + 10)) == ["b"]


def test_a_gang_of_higher_priority_gets_the_places_of_a_lower_one_once_that_has_gone() -> None:
    world = submitted(pool(2, QueueRules("q")), gang("low", 2, queue="q", limit=9 * HOUR))
    carried_out(world, 0)
    submitted(world, gang("high", 1, queue="q", priority=5, submitted=9))
    decision = carried_out(world, 100)
    assert victims(decision) == {"low": "high"}
    assert (why(decision, "high"), promised_start(decision, "high")) == (Cause.EVICTING, 100 + SECONDS_TO_GO)
    again = carried_out(world, 110)
    assert (victims(again), why(again, "high")) == ({}, Cause.EVICTING)
    assert promised_start(again, "high") == 100 + SECONDS_TO_GO
    world.left("low", 150)
    submitted(world, gang("thief", 1, queue="q", submitted=1))  # what was freed is not for it
    last = carried_out(world, 150)
    assert started(last) == ["high", "thief"]
    assert not nodes_of(world, ["high"]) & nodes_of(world, ["thief"])


def test_nobody_is_displaced_where_the_freed_nodes_would_not_do() -> None:
    """Four GPUs on four nodes are no place for a pod of four."""
    world = pool(4, QueueRules("q"))
    for number in range(4):
        submitted(world, gang(f"safe{number}", 1, 6, queue="q", priority=9), gang(f"low{number}", 1, 2, queue="q"))
    carried_out(world, 0)
    assert len(world.running) == 8
    submitted(world, gang("four", 1, 4, queue="q", priority=5))
    assert victims(carried_out(world, 100)) == {}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"within": Within.NEVER}, {}),
        ({"within": Within.LOWER}, {"low": "high"}),
        ({"within": Within.LOWER, "min_run": 500}, {}),
    ],
    ids=["never", "lower", "not yet"],
)
def test_the_rules_of_the_queue_say_who_may_be_displaced(rules: dict[str, object], expected: dict[str, str]) -> None:
    world = submitted(pool(1, QueueRules("q", **rules)), gang("low", queue="q"))  # type: ignore[arg-type]
    carried_out(world, 0)
    submitted(world, gang("high", queue="q", priority=1))
    assert victims(carried_out(world, 100)) == expected


def test_a_queue_takes_back_its_guarantee_and_no_more() -> None:
    half = {"gpu": Quota(guarantee=16_000)}
    world = pool(4, QueueRules("mine", quotas=half), QueueRules("others", quotas=half))
    submitted(world, *(gang(f"o{number}", queue="others") for number in range(4)))
    carried_out(world, 0)
    submitted(world, *(gang(f"m{number}", queue="mine") for number in range(3)))
    decision = carried_out(world, 5000)
    assert set(victims(decision).values()) == {"m0", "m1"}
    assert why(decision, "m2") is Cause.CAPACITY


def test_two_that_come_at_once_never_share_one_victim() -> None:
    """C08: a runs two gangs of 6, b and c are guaranteed 4 each and ask for them at one instant."""
    quota = {"gpu": Quota(guarantee=4_000)}
    queues = [QueueRules(name, quotas=quota) for name in "abc"]
    world = submitted(pool(2, *queues), gang("a0", 1, 6, queue="a"), gang("a1", 1, 6, queue="a"))
    carried_out(world, 0)
    submitted(world, gang("b0", 1, 4, queue="b"), gang("c0", 1, 4, queue="c"))
    decision = carried_out(world, 5000)
    gone = victims(decision)
    admitted = [name for name in ("b0", "c0") if name in started(decision) or why(decision, name) is Cause.EVICTING]
    assert gone
    assert len(admitted) <= len(gone)


def test_limits_count_what_is_asked_and_not_only_what_is_used() -> None:
    """C08: of 10 are 9 used, and 10 are asked for. Then four that want the last two."""
    queue = QueueRules("q", quotas={"gpu": Quota(limit=10_000)})
    world = submitted(pool(4, queue), gang("nine", 3, 3, queue="q"), gang("ten", 2, 5, queue="q", submitted=1))
    decision = carried_out(world, 0)
    assert started(decision) == ["nine"]
    refusal = next(each for each in decision.refusals if each.request == "ten")
    assert (refusal.cause, refusal.needed, refusal.free, refusal.bound, refusal.at) == (
        Cause.LIMIT, 10_000, 1_000, 10_000, "q",
    )  # fmt: skip
    two = submitted(pool(4, QueueRules("q", quotas={"gpu": Quota(limit=2_000)})))
    submitted(two, *(gang(f"g{number}", 1, 1, queue="q", submitted=number) for number in range(4)))
    assert started(carried_out(two, 0)) == ["g0", "g1"]
    two.ended("g0", 9)
    assert started(carried_out(two, 9)) == ["g2"]


def test_in_a_strict_queue_nobody_passes_the_first() -> None:
    world = submitted(pool(2, QueueRules("q", strict=True)), gang("half", queue="q", limit=HOUR))
    carried_out(world, 0)
    submitted(world, gang("wide", 2, queue="q", submitted=1), gang("small", queue="q", submitted=2, limit=60))
    decision = carried_out(world, 10)
    assert started(decision) == []
    refusal = next(each for each in decision.refusals if each.request == "small")
    assert (refusal.cause, refusal.behind) == (Cause.ORDER, "wide")


def test_a_stopped_queue_starts_nothing_and_a_drained_one_empties() -> None:
    held = submitted(pool(1, QueueRules("q", stop=Stop.HOLD)), gang("a", queue="q"))
    assert why(plan(held, 0), "a") is Cause.STOPPED
    world = submitted(pool(1, QueueRules("q")), gang("a", queue="q"))
    carried_out(world, 0)
    drained = pool(1, QueueRules("q", stop=Stop.DRAIN))
    drained.submit(gang("a", queue="q"))
    drained._start("a", world.running["a"].pods, 0)
    assert victims(carried_out(drained, 5)) == {"a": ""}
    assert victims(carried_out(drained, 6)) == {}


def test_an_elastic_gang_starts_as_large_as_it_can_and_grows_when_nobody_waits() -> None:
    """It wants 8, at least 2, and 5 are free."""
    world = submitted(pool(8), gang("others", 3, limit=HOUR))
    carried_out(world, 0)
    submitted(world, gang("wide", 8, role={"least": 2}))
    assert started(carried_out(world, 1)) == ["wide"]
    assert world.sizes("wide") == (5,)
    world.ended("others", HOUR)
    decision = carried_out(world, HOUR)
    assert [growth.request for growth in decision.growths] == ["wide"]
    assert world.sizes("wide") == (8,)


def test_an_elastic_gang_gives_up_its_surplus_before_anybody_goes_whole() -> None:
    world = submitted(pool(4, QueueRules("q")), gang("wide", 4, queue="q", role={"least": 1}))
    carried_out(world, 0)
    submitted(world, gang("high", 2, queue="q", priority=3))
    decision = carried_out(world, 50)
    assert [(each.victim, each.keep) for each in decision.evictions] == [("wide", (2,))]
    world.left("wide", 80)
    assert (world.sizes("wide"), started(carried_out(world, 80))) == ((2,), ["high"])


def test_a_gang_that_must_be_close_together_waits_for_a_domain() -> None:
    near = Near(required="rack")
    world = submitted(pool(4), gang("half", 1, limit=HOUR))
    carried_out(world, 0)
    submitted(world, gang("close", 4, near=near, limit=HOUR))
    decision = carried_out(world, 1)
    refusal = next(each for each in decision.refusals if each.request == "close")
    assert refusal.cause in (Cause.CAPACITY, Cause.TOPOLOGY)
    assert promised_start(decision, "close") == HOUR


def test_a_lost_node_frees_nothing_until_its_pods_are_known_gone_and_promises_on_it_move_with_a_reason() -> None:
    world = submitted(pool(2), gang("a", 1, limit=HOUR), gang("b", 1, limit=HOUR))
    carried_out(world, 0)
    gone = world.running["a"].pods[0].node
    world.lost(gone)
    submitted(world, gang("c", 1))
    assert started(carried_out(world, 10)) == []
    world.left("a", 20)
    assert started(carried_out(world, 20)) == []
    world.node(machines(2)[int(gone[1:])])
    assert started(carried_out(world, 30)) == ["c"]
    assert nodes_of(world, ["c"]) == {gone}


def test_a_window_is_kept_free_for_its_reservation() -> None:
    window = Claim(("n0", "n1"), start=HOUR, end=3 * HOUR, reservation="launch")
    world = pool(2, windows=(window,))
    submitted(
        world, gang("long", 1, limit=2 * HOUR), gang("short", 1, limit=HOUR), gang("ours", 1, reservation="launch")
    )
    first = carried_out(world, 0)
    assert started(first) == ["short"]
    assert (why(first, "ours"), why(first, "long")) == (Cause.RESERVATION, Cause.PROMISED)
    world.ended("short", HOUR)
    assert started(carried_out(world, HOUR)) == ["ours"]


def test_a_quota_of_one_model_sends_gangs_of_any_model_to_the_others() -> None:
    queue = QueueRules("q", quotas={"gpu/h": Quota(limit=0)})
    world = submitted(pool(1, queue), gang("any", queue="q"))
    assert started(plan(world, 0)) == []
    other = machines(1)[0]
    world.node(type(other)("old", other.cpu, other.memory, other.gpus, "v", labels=other.labels))
    decision = carried_out(world, 1)
    assert started(decision) == ["any"]
    assert nodes_of(world, ["any"]) == {"old"}


def test_what_a_queue_used_counts_against_it_until_it_fades() -> None:
    queues = [QueueRules(name, half_life=HOUR) for name in ("busy", "idle")]
    world = submitted(pool(1, *queues, settings=Settings(entry=0)), gang("first", queue="busy", limit=HOUR))
    carried_out(world, 0)
    submitted(world, gang("busy2", queue="busy", submitted=1), gang("idle1", queue="idle", submitted=2))
    world.ended("first", HOUR)
    assert started(carried_out(world, HOUR)) == ["idle1"]


def test_reclaiming_may_be_forbidden() -> None:
    half = {"gpu": Quota(guarantee=8_000)}
    world = pool(2, QueueRules("mine", quotas=half, reclaim=Reclaim.NEVER), QueueRules("others", quotas=half))
    submitted(world, gang("o0", queue="others"), gang("o1", queue="others"))
    carried_out(world, 0)
    submitted(world, gang("m", queue="mine"))
    assert victims(carried_out(world, 5000)) == {}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda world: world.submit(gang("a", queue="nowhere")), KeyError),
        (lambda world: world.submit(gang("runs")), ValueError),
        (lambda world: world.submit(gang("waits")), ValueError),
        (lambda world: world.ended("waits", 1), KeyError),
        (lambda world: world.withdraw("runs"), KeyError),
    ],
    ids=["no queue", "runs already", "waits already", "does not run", "does not wait"],
)
def test_events_that_cannot_be_are_refused(change, error: type[Exception]) -> None:  # type: ignore[no-untyped-def]
    world = submitted(pool(1), gang("runs"))
    carried_out(world, 0)
    submitted(world, gang("waits"))
    with pytest.raises(error):
        change(world)


def test_nobody_gives_up_a_surplus_for_a_gang_that_would_delay_a_promise() -> None:
    """The wide gang's last node is promised to another for the time after its end."""
    world = submitted(pool(2, QueueRules("q")), gang("wide", 2, queue="q", role={"least": 1}, limit=HOUR))
    carried_out(world, 0)
    submitted(world, gang("next", 2, queue="q", limit=HOUR, submitted=1))
    assert promised_start(carried_out(world, 5), "next") == HOUR
    submitted(world, gang("endless", 1, queue="q", priority=3, submitted=2))
    decision = carried_out(world, 10)
    assert victims(decision) == {}
    assert promised_start(decision, "next") == HOUR
