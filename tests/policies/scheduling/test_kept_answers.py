"""What is remembered within and between rounds says the same as if it were worked out again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.model import QueueRules
from policies.scheduling.order import places
from policies.scheduling.quotas import Quotas
from tests.policies.scheduling.plan_parts import carried_out, gang, pool, submitted
from tests.policies.scheduling.test_promised_limits import NAMES, trees

AMOUNTS = st.dictionaries(st.sampled_from(["gpu", "cpu", "gpu/h"]), st.integers(0, 5000), max_size=3)
HOUR = 3600


@settings(deadline=None, max_examples=80)
@given(trees(), st.lists(st.tuples(st.sampled_from(NAMES), AMOUNTS), max_size=5), AMOUNTS)
def test_queues_of_one_bounding_holder_lack_the_same(
    queues: list[QueueRules], used: list[tuple[str, dict[str, int]]], asks: dict[str, int]
) -> None:
    quotas = Quotas(queues, {"gpu": 9000, "cpu": 9000, "gpu/h": 9000})
    for name, amounts in used:
        quotas.add(name, amounts)
    for one in NAMES:
        for other in NAMES:
            if quotas.bounding(one) == quotas.bounding(other):
                assert quotas.fits(one, asks) == quotas.fits(other, asks)


def test_the_order_is_worked_out_again_when_somebody_comes_starts_ends_or_past_use_fades() -> None:
    queues = [QueueRules(name, half_life=HOUR) for name in ("x", "y")]
    world = submitted(
        pool(1, *queues), *(gang(f"{queue}{n}", queue=queue, submitted=n) for queue in "xy" for n in (1, 2))
    )

    def fresh(now: int) -> list[int]:
        rank = places(world.waiting, world.quotas, lambda queue: world.usage.past(queue, now) if queue else {})
        return [int(place) for place in rank]

    for now in (0, 10, 20):
        assert world.order(now).tolist() == fresh(now)
        assert world.order(now) is world.order(now)
        carried_out(world, now)
        assert world.order(now).tolist() == fresh(now)
        if now == 10:
            submitted(world, gang("late", queue="y", priority=3, submitted=11))
            assert world.order(now).tolist() == fresh(now)
    world.ended("x1", 20 * HOUR)
    assert world.order(20 * HOUR).tolist() == fresh(20 * HOUR)


def test_what_waits_is_added_up_by_queue() -> None:
    world = submitted(
        pool(1, QueueRules("x"), QueueRules("y")), *(gang(f"g{n}", n, 2, queue="xxy"[n % 3]) for n in (1, 2, 3))
    )
    world.waiting.remove("g3")
    assert world.waiting.wanted(world.quotas) == {
        "x": {"cpu": 1000, "gpu": 2000},
        "y": {"cpu": 2000, "gpu": 4000},
    }
