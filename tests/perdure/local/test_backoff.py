"""When a child that ended is started again."""

from hypothesis import given
from hypothesis import strategies as st

from perdure.local.backoff import LONGEST, delay, failures_after


def test_the_delay_doubles_from_a_fifth_of_a_second_up_to_its_cap() -> None:
    middle = [round(delay(failures, 0.5), 3) for failures in (1, 2, 3, 8, 9, 1000)]
    assert middle == [0.2, 0.4, 0.8, 25.6, 30.0, 30.0]


@given(st.integers(1, 10**6), st.floats(0, 1, exclude_max=True))
def test_chance_moves_a_delay_by_a_quarter_at_most(failures: int, chance: float) -> None:
    middle = delay(failures, 0.5)
    assert 0.75 * middle <= delay(failures, chance) <= 1.25 * middle <= 1.25 * LONGEST


def test_a_child_that_served_for_a_while_starts_afresh() -> None:
    assert failures_after(7, ready_for=10.0) == 1
    assert failures_after(7, ready_for=None) == 8


def test_a_child_that_is_killed_again_and_again_soon_comes_back() -> None:
    failures = 0
    for _ in range(20):
        failures = failures_after(failures, ready_for=1.0)
    assert delay(failures, 0.5) < 2
