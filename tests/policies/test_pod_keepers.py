"""A keeper goes when nobody can wait for it any more, and no moment before."""

from datetime import datetime, timedelta

import pytest

from policies.pod_keepers import READ_WITHIN, START_WITHIN, WORK_WITHIN, input_is_left, keeper_is_left
from tests.support.jobs import NOW

LATER = NOW + timedelta(minutes=5)
LIFE = START_WITHIN + WORK_WITHIN + READ_WITHIN
INSTANT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("ended_at", "now", "why"),
    [
        (None, NOW, ""),
        (None, NOW + LIFE - INSTANT, ""),
        (None, NOW + LIFE, "its time is over"),
        (LATER, LATER + READ_WITHIN - INSTANT, ""),
        (LATER, LATER + READ_WITHIN, "nobody has read what it said"),
    ],
)
def test_a_keeper_is_left_once_it_has_ended_unread_or_outlived_its_time(
    ended_at: datetime | None, now: datetime, why: str
) -> None:
    assert keeper_is_left(NOW, ended_at, now) == why


def test_the_input_of_a_keeper_that_is_not_there_is_left_once_it_should_be() -> None:
    assert input_is_left(NOW, NOW + READ_WITHIN - INSTANT) == ""
    assert input_is_left(NOW, NOW + READ_WITHIN) == "its keeper is gone"
