"""Booked windows: their phases, extension, cancellation, and the time that nobody used."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.reservation import AtEnd, LeadMode
from policies.scheduling.bookings import (
    Booking,
    Denied,
    Idle,
    Phase,
    Use,
    billed,
    booked,
    cancel,
    charged,
    extend,
    extend_itself,
    may_use,
    next_change,
    phase_of,
    unused,
)
from policies.scheduling.windows import Window
from tests.policies.scheduling.test_windows import only, spec

SPEC = spec("2026-07-01T10:00", "UTC")
WINDOW = replace(only(SPEC), begins=1000, ends=2000)


def booking(**more: Any) -> Booking:
    return Booking(WINDOW, **{"lead": 300, "grace": 50, **more})


def later(begins: int, ends: int) -> Booking:
    return Booking(Window(1, WINDOW.wall, begins, ends, "", ""))


def extended(given: Booking, until: int, now: int = 1500, others: tuple[Booking, ...] = ()) -> Booking:
    found = extend(given, until, now, others)
    assert isinstance(found, Booking), found
    return found


def cancelled(given: Booking, now: int) -> Booking:
    found = cancel(given, now)
    assert isinstance(found, Booking), found
    return found


@pytest.mark.parametrize(
    ("given", "now", "phase", "change"),
    [
        (booking(), 699, Phase.UPCOMING, 700),
        (booking(), 700, Phase.LEAD, 1000),
        (booking(), 999, Phase.LEAD, 1000),
        (booking(), 1000, Phase.ACTIVE, 2000),
        (booking(), 1999, Phase.ACTIVE, 2000),
        (booking(), 2000, Phase.DRAINING, 2050),
        (booking(), 9000, Phase.DRAINING, None),
        (booking(vacated=2010), 2009, Phase.DRAINING, 2050),
        (booking(vacated=2010), 2010, Phase.ENDED, None),
        (booking(vacated=1990), 2000, Phase.ENDED, None),
        (booking(at_end=AtEnd.KEEP), 2000, Phase.ENDED, None),
        (booking(at_end=AtEnd.KEEP), 1999, Phase.ACTIVE, 2000),
        (booking(lead=0), 999, Phase.UPCOMING, 1000),
        (booking(extended=100), 2050, Phase.ACTIVE, 2100),
        (booking(cancelled=500), 499, Phase.UPCOMING, 700),
        (booking(cancelled=500), 500, Phase.ENDED, None),
        (booking(cancelled=800), 1200, Phase.ENDED, None),
        (booking(cancelled=1500), 1499, Phase.ACTIVE, 1500),
        (booking(cancelled=1500), 1500, Phase.DRAINING, 1550),
        (booking(cancelled=1500, vacated=1520), 1520, Phase.ENDED, None),
    ],
)
def test_a_phase_follows_from_the_booking_and_the_time(
    given: Booking, now: int, phase: Phase, change: int | None
) -> None:
    assert (phase_of(given, now), next_change(given, now)) == (phase, change)


@given(
    st.integers(0, 400),
    st.integers(0, 500),
    st.none() | st.integers(0, 2500),
    st.none() | st.integers(0, 3000),
    st.sampled_from(AtEnd),
)
def test_phases_never_go_back(lead: int, longer: int, given_up: int | None, vacated: int | None, at_end: AtEnd) -> None:
    given = booking(lead=lead, extended=longer, cancelled=given_up, vacated=vacated, at_end=at_end)
    order = list(Phase)
    seen = [order.index(phase_of(given, now)) for now in range(0, 3100, 7)]
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    ("users", "path", "named", "may"),
    [
        ({}, ("research",), True, False),
        ({}, ("a",), True, True),
        ({}, ("vision", "a", "all"), True, True),
        ({}, ("a",), False, False),
        ({"withoutNaming": True}, ("a",), False, True),
        ({"withoutNaming": True}, ("research",), False, False),
        ({"queues": ["research"]}, ("nlp", "research"), True, True),
    ],
)
def test_a_reservation_is_for_its_queue_for_those_below_and_for_whom_it_names(
    users: dict[str, Any], path: tuple[str, ...], named: bool, may: bool
) -> None:
    assert may_use(spec("2026-07-01T10:00", users=users), path, named=named) is may


def test_a_booking_keeps_the_terms_of_its_reservation() -> None:
    terms: dict[str, Any] = {
        "lead": {"time": "2h", "mode": "drain"},
        "atEnd": "cancel",
        "grace": "5m",
        "extension": {"most": "4h", "notice": "30m", "automatic": True},
        "cancellation": {"notice": "1d"},
        "chargeIdle": False,
    }
    found = booked(WINDOW, spec("2026-07-01T10:00", **terms))
    assert (found.lead, found.lead_mode, found.at_end, found.grace) == (7200, LeadMode.DRAIN, AtEnd.CANCEL, 300)
    assert (found.may_extend, found.extend_notice, found.extends_itself) == (14400, 1800, True)
    assert (found.cancel_notice, found.charge_idle) == (86400, False)


def test_an_extension_moves_the_end_and_adds_up_to_no_more_than_was_allowed() -> None:
    once = extended(booking(may_extend=500), 2200)
    assert (once.ends, phase_of(once, 2100)) == (2200, Phase.ACTIVE)
    assert extended(once, 2500, now=2100).ends == 2500
    assert extend(once, 2501, 2100, ()) == Denied("the new end is 1s later than it can be", "ask for at most 5m more")


@pytest.mark.parametrize(
    ("given", "until", "now", "others", "why"),
    [
        (booking(), 2100, 1500, (), "allows no extension"),
        (booking(may_extend=500), 2000, 1500, (), "not later"),
        (booking(may_extend=500), 2100, 2000, (), "has ended"),
        (booking(may_extend=500, cancelled=1400), 2100, 1300, (), "has ended"),
        (booking(may_extend=500, extend_notice=100), 2100, 1950, (), "50s earlier"),
        (booking(may_extend=500, extended=500), 2600, 1500, (), "as long as it can be"),
        (booking(may_extend=500), 2100, 1500, (later(2000, 2600),), "as long as it can be"),
        (booking(may_extend=500), 2301, 1500, (later(2300, 2600),), "1s later than it can be"),
    ],
)
def test_an_extension_is_denied_with_the_reason(
    given: Booking, until: int, now: int, others: tuple[Booking, ...], why: str
) -> None:
    found = extend(given, until, now, others)
    assert isinstance(found, Denied)
    assert why in found.why
    assert found.fix


def test_an_extension_goes_up_to_the_next_window_and_past_one_that_was_given_up() -> None:
    given, following = booking(may_extend=500), later(2300, 2600)
    assert extended(given, 2300, others=(following,)).ends == 2300
    assert extended(given, 2500, others=(cancelled(following, 100),)).ends == 2500
    assert extended(given, 2500, others=(later(100, 900),)).ends == 2500


@pytest.mark.parametrize(
    ("more", "jobs_end", "now", "ends"),
    [
        ({}, (2150,), 1990, 2150),
        ({}, (2150, None), 1990, 2300),
        ({}, (9999,), 1990, 2300),
        ({}, (1995,), 1990, 2000),
        ({}, (), 1990, 2000),
        ({}, (2150,), 2000, 2000),
        ({"extends_itself": False}, (2150,), 1990, 2000),
        ({"may_extend": 100}, (2150,), 1990, 2100),
        ({"cancelled": 1995}, (2150,), 1990, 1995),
    ],
)
def test_a_window_that_extends_itself_lasts_as_long_as_its_jobs_and_no_longer(
    more: dict[str, Any], jobs_end: tuple[int | None, ...], now: int, ends: int
) -> None:
    given = booking(**{"may_extend": 500, "extends_itself": True, **more})
    assert extend_itself(given, jobs_end, now, (later(2300, 2600),)).ends == ends


@pytest.mark.parametrize(
    ("now", "notice", "held_until", "interval"),
    [
        (500, 0, 1000, None),
        (500, 500, 1000, None),
        (500, 700, 1000, (1000, 1200)),
        (500, 9000, 1000, (1000, 2000)),
        (1500, 0, 1500, (1000, 1500)),
        (1500, 100, 1500, (1000, 1600)),
        (1500, 900, 1500, (1000, 2000)),
    ],
)
def test_what_is_cancelled_gives_up_its_nodes_at_once_and_is_charged_until_its_notice_is_over(
    now: int, notice: int, held_until: int, interval: tuple[int, int] | None
) -> None:
    found = cancelled(booking(cancel_notice=notice), now)
    assert (found.ends, charged(found)) == (held_until, interval)
    assert cancelled(found, now + 1) == found


def test_what_has_ended_is_not_cancelled() -> None:
    assert cancel(booking(), 2000) == Denied("it has ended", "nothing is held any more")


def test_unused_time_is_what_uses_leave_of_the_window() -> None:
    uses = [Use(900, 1100, 4), Use(1050, 1200, 4), Use(1200, 1300, 4), Use(1800, None, 8), Use(1850, 1900, 8)]
    assert unused(1000, 2000, 8, uses) == (Idle(1000, 1050, 4), Idle(1100, 1300, 4), Idle(1300, 1800, 8))
    assert unused(1000, 2000, 8, []) == (Idle(1000, 2000, 8),)
    assert unused(1000, 2000, 8, [Use(0, None, 8)]) == ()


def test_idle_time_is_charged_unless_it_was_agreed_otherwise() -> None:
    uses = [Use(1000, 1500, 2)]
    assert billed(booking(), 8, uses) == 8000
    assert billed(booking(charge_idle=False), 8, uses) == 1000
    assert billed(booking(cancelled=100), 8, uses) == 0


USES = st.lists(st.tuples(st.integers(-5, 40), st.none() | st.integers(-5, 45), st.integers(0, 5)), max_size=8)


@given(USES, st.integers(0, 8))
def test_unused_time_is_what_a_look_at_every_second_finds(drawn: list[tuple[int, int | None, int]], most: int) -> None:
    uses = [Use(*each) for each in drawn]
    idle = unused(0, 30, most, uses)
    for second in range(30):
        used = sum(use.amount for use in uses if use.since <= second and (use.until is None or second < use.until))
        assert sum(each.amount for each in idle if each.since <= second < each.until) == max(0, most - used)
    assert all(one.until < two.since or one.amount != two.amount for one, two in pairwise(idle))


def test_the_phases_of_a_window_on_a_long_night_follow_real_time() -> None:
    night = only(spec("2026-11-01T00:00", end="2026-11-01T06:00"))
    given = Booking(night, lead=3600)
    steps = [(0, Phase.LEAD), (1, Phase.ACTIVE), (7 * 60, Phase.ACTIVE), (7 * 60 + 1, Phase.DRAINING)]
    for minutes, phase in steps:
        assert phase_of(given, night.begins + timedelta(minutes=minutes) // timedelta(seconds=1) - 60) is phase
