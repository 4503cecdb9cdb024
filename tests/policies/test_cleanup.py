"""When what jobs leave may go."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.cleanup import Expiry, expiry, later, why_expired

END = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("ttl", "kept", "expected"),
    [
        (None, None, Expiry()),
        (30 * DAY, None, Expiry(job=END + 30 * DAY)),
        (None, 7 * DAY, Expiry(artifacts=END + 7 * DAY)),
        (30 * DAY, 7 * DAY, Expiry(job=END + 30 * DAY, artifacts=END + 7 * DAY)),
        (7 * DAY, 7 * DAY, Expiry(job=END + 7 * DAY)),
        (7 * DAY, 30 * DAY, Expiry(job=END + 7 * DAY)),
        (timedelta(0), None, Expiry(job=END)),
        (timedelta.max, timedelta.max, Expiry()),
    ],
)
def test_times_count_from_the_end_and_artifacts_never_outlive_their_job(
    ttl: timedelta | None, kept: timedelta | None, expected: Expiry
) -> None:
    assert expiry(END, ttl, kept) == expected


@given(st.timedeltas(min_value=timedelta(0)))
def test_nothing_goes_before_its_time(span: timedelta) -> None:
    when = later(END, span)
    assert when is None or when - END == span


def test_the_reason_says_which_field_decided() -> None:
    assert why_expired(END, END + 7 * DAY) == "deleted: its ttlAfterFinished of 7 days, 0:00:00 after its end is over"
