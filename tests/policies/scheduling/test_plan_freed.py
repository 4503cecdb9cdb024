"""Places that gangs were told to leave for somebody, once they are free."""

from policies.scheduling.model import WHOLE, QueueRules, Quota
from tests.policies.scheduling.plan_parts import carried_out, gang, pool, promised_start, started, submitted, victims


def test_who_got_places_freed_starts_there_though_others_of_its_shape_came_before_it_meanwhile() -> None:
    world = submitted(pool(1), gang("runs", limit=100))
    assert started(carried_out(world, 0)) == ["runs"]
    submitted(world, gang("low", priority=1, submitted=1, limit=100))
    assert victims(carried_out(world, 1)) == {"runs": "low"}
    submitted(
        world, gang("high", priority=2, submitted=2, limit=100), gang("higher", priority=3, submitted=3, limit=100)
    )
    assert started(carried_out(world, 3)) == []
    world.left("runs", 61)
    freed = carried_out(world, 61)
    assert started(freed) == ["low"]
    assert {promised_start(freed, "high"), promised_start(freed, "higher")} == {161, 261}


def test_victims_are_looked_for_elsewhere_when_the_best_ones_hold_what_was_promised_next() -> None:
    """`x2`, kept back by the limit of its queue, was promised the first node, where `y` would still be then."""
    world = pool(
        3,
        QueueRules("x", quotas={"gpu": Quota(guarantee=8 * WHOLE, limit=16 * WHOLE)}),
        QueueRules("y", quotas={"gpu": Quota(guarantee=16 * WHOLE)}),
    )
    submitted(world, *(gang(f"x{number}", queue="x", submitted=number, limit=1000) for number in range(3)))
    first = carried_out(world, 0)
    assert (started(first), promised_start(first, "x2")) == (["x0", "x1"], 1000)
    submitted(world, gang("y", 2, queue="y", submitted=10, limit=1000))
    assert victims(carried_out(world, 10)) == {"x1": "y"}
