"""Places that gangs were told to leave for somebody, once they are free."""

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
