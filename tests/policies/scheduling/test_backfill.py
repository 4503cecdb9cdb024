"""The backfill benchmark, small: its promises are true, and promises that are not are told apart."""

from bench.backfill import exact, measured
from bench.backfill_work import work

SMALL = work(40, 120, seed=3)
GOAL = 0.05


def test_promises_are_where_gangs_start_and_a_day_later_or_none_is_not() -> None:
    found = exact(SMALL)

    assert found["started"] == 120
    assert found["median_error"] <= GOAL
    assert found["median_error_a_day_later"] > GOAL
    assert found["median_error_without_promises"] > GOAL


def test_everybody_is_promised_a_start_and_early_ends_make_nobody_later() -> None:
    found = measured(SMALL, seed=3, repeat=1)

    assert found["promised"] == 120
    assert found["overbooked"] == found["overbooked_after"] == found["later"] == 0
    assert found["moved_earlier"] > 0
