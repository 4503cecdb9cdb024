"""Windows of reservations: local times as a rule, instants as bookings, whatever clocks do between."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.recurrence import WEEKDAYS
from definitions.reservation import Reservation, ReservationSpec
from policies.scheduling.walltime import moment, shown
from policies.scheduling.windows import LeftOut, Window, clashes, occurrences, overlap, redrawn, windows

NEW_YORK, LORD_HOWE, APIA, CAIRO = "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Cairo"
ZONES = (NEW_YORK, LORD_HOWE, APIA, CAIRO, "Europe/Berlin", "Asia/Kathmandu", "America/Nuuk", "UTC", "Asia/Gaza")


def spec(start: str, zone: str = NEW_YORK, **more: Any) -> ReservationSpec:
    ends = {} if {"end", "length"} & set(more) else {"length": "1h"}
    found = Reservation.model_validate(
        {
            "apiVersion": "perdure/v1",
            "kind": "Reservation",
            "metadata": {"name": "a"},
            "spec": {"queue": "a", "capacity": {"nodes": 1}, "start": start, "timeZone": zone, **ends, **more},
        }
    )
    return found.spec


def only(found: ReservationSpec) -> Window:
    (one,) = occurrences(found)
    assert isinstance(one, Window)
    return one


def utc(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


def test_a_weekly_start_keeps_its_local_time_across_a_clock_change() -> None:
    weekly = spec("2026-02-27T10:00", repeat={"frequency": "weekly", "count": 4})
    assert [utc(each.begins) for each in windows(weekly, most=9)] == [
        "2026-02-27 15:00",
        "2026-03-06 15:00",
        "2026-03-13 14:00",
        "2026-03-20 14:00",
    ]
    assert [each.shown_begin for each in windows(weekly, most=9)][1:3] == [
        "2026-03-06 10:00 -05:00",
        "2026-03-13 10:00 -04:00",
    ]


@pytest.mark.parametrize(
    ("start", "end", "zone", "hours"),
    [
        ("2026-03-08T00:00", "2026-03-08T06:00", NEW_YORK, 5.0),
        ("2026-11-01T00:00", "2026-11-01T06:00", NEW_YORK, 7.0),
        ("2026-07-01T00:00", "2026-07-01T06:00", NEW_YORK, 6.0),
        ("2026-10-04T00:00", "2026-10-04T06:00", LORD_HOWE, 5.5),
        ("2026-04-05T00:00", "2026-04-05T06:00", LORD_HOWE, 6.5),
        ("2011-12-29T10:00", "2011-12-31T10:00", APIA, 24.0),
        ("2024-04-25T20:00", "2024-04-26T02:00", CAIRO, 5.0),
    ],
)
def test_real_hours_are_charged_and_a_length_that_is_not_as_it_reads_is_noted(
    start: str, end: str, zone: str, hours: float
) -> None:
    found = only(spec(start, zone, end=end))
    assert found.seconds == hours * 3600
    read = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    assert (found.notes == ()) == (read == timedelta(hours=hours))


def test_a_length_is_real_time_on_any_night() -> None:
    found = only(spec("2026-11-01T00:00", length="6h"))
    assert (found.seconds, found.shown_end) == (6 * 3600, "2026-11-01 05:00 -05:00")
    assert found.notes == ()


@pytest.mark.parametrize(
    ("start", "zone", "at", "note"),
    [
        (
            "2026-03-08T02:30",
            NEW_YORK,
            "2026-03-08 03:00 -04:00",
            "start 2026-03-08 02:30 never comes in America/New_York: clocks jump from 2026-03-08 02:00 to "
            "2026-03-08 03:00; it becomes 2026-03-08 03:00 -04:00",
        ),
        (
            "2026-11-01T01:30",
            NEW_YORK,
            "2026-11-01 01:30 -04:00",
            "start 2026-11-01 01:30 comes twice in America/New_York; the first is taken, 2026-11-01 01:30 -04:00",
        ),
        (
            "2026-10-04T02:15",
            LORD_HOWE,
            "2026-10-04 02:30 +11:00",
            "start 2026-10-04 02:15 never comes in Australia/Lord_Howe: clocks jump from 2026-10-04 02:00 to "
            "2026-10-04 02:30; it becomes 2026-10-04 02:30 +11:00",
        ),
        (
            "2026-04-05T01:45",
            LORD_HOWE,
            "2026-04-05 01:45 +11:00",
            "start 2026-04-05 01:45 comes twice in Australia/Lord_Howe; the first is taken, 2026-04-05 01:45 +11:00",
        ),
        (
            "2024-04-26T00:00",
            CAIRO,
            "2024-04-26 01:00 +03:00",
            "start 2024-04-26 00:00 never comes in Africa/Cairo: clocks jump from 2024-04-26 00:00 to "
            "2024-04-26 01:00; it becomes 2024-04-26 01:00 +03:00",
        ),
    ],
)
def test_a_local_time_that_never_comes_or_comes_twice_follows_the_rule_and_is_noted(
    start: str, zone: str, at: str, note: str
) -> None:
    found = only(spec(start, zone))
    assert (found.shown_begin, found.notes, found.seconds) == (at, (note,), 3600)


def test_the_second_of_two_equal_local_times_is_known_too() -> None:
    found = moment(datetime.fromisoformat("2026-11-01T01:30"), ZoneInfo(NEW_YORK))
    assert (found.again or 0) - found.at == 3600
    assert shown(found.again or 0, ZoneInfo(NEW_YORK)) == "2026-11-01 01:30 -05:00"


def test_an_end_that_never_comes_is_moved_like_a_start() -> None:
    found = only(spec("2026-03-08T01:00", end="2026-03-08T02:30"))
    assert (found.seconds, found.shown_end) == (3600, "2026-03-08 03:00 -04:00")
    assert found.notes[0].startswith("end 2026-03-08 02:30 never comes")


def test_a_day_that_a_zone_skipped_has_no_window_and_does_not_count() -> None:
    daily = spec("2011-12-29T10:00", APIA, repeat={"frequency": "daily", "count": 3})
    found = list(occurrences(daily))
    assert found[1] == LeftOut("2011-12-30", "clocks jump over the whole day in Pacific/Apia")
    assert [each.shown_begin for each in found if isinstance(each, Window)] == [
        "2011-12-29 10:00 -10:00",
        "2011-12-31 10:00 +14:00",
        "2012-01-01 10:00 +14:00",
    ]


def test_an_end_on_a_skipped_day_is_the_midnight_at_which_clocks_jumped() -> None:
    found = only(spec("2011-12-29T20:00", APIA, end="2011-12-30T08:00"))
    assert (found.seconds, found.shown_end) == (4 * 3600, "2011-12-31 00:00 +14:00")


def test_a_jump_at_midnight_skips_no_day() -> None:
    daily = spec("2024-04-25T00:00", CAIRO, repeat={"frequency": "daily", "count": 3})
    assert [each.shown_begin for each in windows(daily, most=9)] == [
        "2024-04-25 00:00 +02:00",
        "2024-04-26 01:00 +03:00",
        "2024-04-27 00:00 +03:00",
    ]


def test_a_window_that_lies_within_a_jump_is_left_out() -> None:
    nights = spec("2026-03-07T02:00", end="2026-03-07T03:00", repeat={"frequency": "daily", "count": 2})
    assert list(occurrences(nights))[1] == LeftOut(
        "2026-03-08", "clocks jump over the whole window in America/New_York"
    )
    assert [utc(each.begins) for each in windows(nights, most=9)] == ["2026-03-07 07:00", "2026-03-09 06:00"]


@pytest.mark.parametrize(
    ("start", "rule", "days"),
    [
        (
            "2027-01-31",
            {"frequency": "monthly", "count": 3},
            ["2027-01-31", "-2027-02-31", "2027-03-31", "-2027-04-31"],
        ),
        ("2028-02-29", {"frequency": "monthly", "interval": 12, "count": 2}, ["2028-02-29", "-2029-02-29"]),
        ("2027-03-05", {"frequency": "monthly", "days": ["1fri", "-1fri"]}, ["2027-03-05", "2027-03-26", "2027-04-02"]),
        (
            "2027-01-29",
            {"frequency": "monthly", "days": ["5fri"]},
            ["2027-01-29", "-2027-02", "-2027-03", "2027-04-30"],
        ),
        ("2027-03-03", {"frequency": "weekly", "days": ["mon", "wed"], "interval": 2}, ["2027-03-03", "2027-03-15"]),
        ("2027-03-05", {"frequency": "daily", "days": ["mon", "fri"]}, ["2027-03-05", "2027-03-08", "2027-03-12"]),
        ("2027-12-31", {"frequency": "daily", "interval": 2}, ["2027-12-31", "2028-01-02", "2028-01-04"]),
    ],
)
def test_a_rule_names_its_days_and_what_months_lack_is_told(start: str, rule: dict[str, Any], days: list[str]) -> None:
    found = islice(occurrences(spec(f"{start}T10:00", "UTC", repeat=rule)), len(days))
    assert [f"-{each.day}" if isinstance(each, LeftOut) else str(each.wall.date()) for each in found] == days


def test_nothing_is_told_of_months_after_the_last_window() -> None:
    rule = {"frequency": "monthly", "until": "2027-02-15T00:00"}
    assert len(list(occurrences(spec("2027-01-31T10:00", "UTC", repeat=rule)))) == 1


def test_windows_are_compared_as_instants_and_touching_ones_share_nothing() -> None:
    berlin = only(spec("2026-03-29T03:00", "Europe/Berlin", end="2026-03-29T05:00"))
    for start, shared in (("2026-03-29T00:00", 0), ("2026-03-29T00:30", 1800), ("2026-03-29T02:00", 3600)):
        other = only(spec(start, "Europe/London", length="1h"))
        assert (overlap(berlin, other), overlap(other, berlin)) == (shared, shared), start


def test_a_new_database_of_zones_moves_no_booking_and_says_where_it_would_be() -> None:
    weekly = spec("2026-02-27T10:00", repeat={"frequency": "weekly", "count": 4})
    before = windows(weekly, most=4)
    kept = list(before)

    def without_summer_time(_: str) -> tzinfo:
        return timezone(timedelta(hours=-5))

    assert windows(weekly, without_summer_time, most=4) != kept
    assert before == kept
    assert [redrawn(each, weekly) for each in kept] == [None] * 4
    moved = [redrawn(each, weekly, without_summer_time) for each in kept]
    assert moved[:2] == [None, None]
    assert [
        each.begins - old.begins for each, old in zip(moved[2:], kept[2:], strict=True) if isinstance(each, Window)
    ] == [
        3600,
        3600,
    ]


LENGTHS = st.integers(1, 40 * 60)  # minutes


@st.composite
def rules(draw: st.DrawFn) -> ReservationSpec:
    start = draw(st.datetimes(*map(datetime.fromisoformat, ("1990-01-01", "2036-01-01")))).replace(
        second=0, microsecond=0
    )
    frequency = draw(st.sampled_from(["daily", "weekly", "monthly"]))
    nth = draw(st.sampled_from(["", str((start.day - 1) // 7 + 1)])) if frequency == "monthly" else ""
    more = draw(st.lists(st.sampled_from(WEEKDAYS), max_size=2, unique=True))
    own = f"{nth}{WEEKDAYS[start.weekday()]}"
    days = draw(st.sampled_from([[], [own, *(day for day in more if day != own)]]))
    last = {"count": draw(st.integers(1, 12))}
    if draw(st.booleans()):
        last = {"until": f"{start + timedelta(days=draw(st.integers(0, 90))):%Y-%m-%dT%H:%M}"}  # type: ignore[dict-item]
    minutes = draw(LENGTHS)
    ends: dict[str, Any] = {"length": timedelta(minutes=minutes)}
    if draw(st.booleans()):
        ends = {"end": f"{start + timedelta(minutes=minutes):%Y-%m-%dT%H:%M}"}
    rule = {"frequency": frequency, "interval": draw(st.integers(1, 3)), "days": days, **last}
    return spec(f"{start:%Y-%m-%dT%H:%M}", draw(st.sampled_from(ZONES)), repeat=rule, **ends)


@given(rules())
def test_windows_follow_each_other_keep_their_length_and_end_with_the_rule(rule: ReservationSpec) -> None:
    assert rule.repeat is not None
    found = windows(rule, most=50)
    assert [each.number for each in found] == list(range(len(found)))
    assert all(one.begins < other.begins and one.wall < other.wall for one, other in pairwise(found))
    if rule.repeat.count is not None:
        assert len(found) == rule.repeat.count
    if rule.repeat.until is not None:
        assert all(each.wall <= rule.repeat.until for each in found)
    for each in found:
        if rule.length is not None:
            assert each.seconds == rule.length.total_seconds()
        else:
            assert rule.end is not None
            assert each.ends == earliest(each.wall + (rule.end - rule.start), ZoneInfo(rule.time_zone))
        assert each.begins == earliest(each.wall, ZoneInfo(rule.time_zone))


def earliest(wall: datetime, zone: tzinfo) -> int:
    """The instant of a local time, found by looking: the first that has it, or else the first that is later."""
    around = [wall.replace(tzinfo=UTC) + timedelta(minutes=15 * step) for step in range(-26 * 4, 26 * 4 + 1)]
    local = {at: at.astimezone(zone).replace(tzinfo=None) for at in around}
    found = [at for at in around if local[at] == wall] or [
        at
        for at in around
        if local[at] > wall
        and local[at] - wall < timedelta(days=1, hours=1)
        and (at - timedelta(seconds=1)).astimezone(zone).replace(tzinfo=None) < wall
    ]
    return int(found[0].timestamp())


@given(rules())
def test_the_days_are_those_that_a_look_at_every_day_finds(rule: ReservationSpec) -> None:
    assert rule.repeat is not None
    found = {each.wall.date() for each in windows(rule, most=50)}
    left = {each.day for each in occurrences(rule) if isinstance(each, LeftOut)}
    last = max(found, default=rule.start.date())
    every = [rule.start.date() + timedelta(days=ahead) for ahead in range((last - rule.start.date()).days + 1)]
    assert found == {day for day in every if named(rule, day) and str(day) not in left}


def named(rule: ReservationSpec, day: date) -> bool:
    """Whether the rule names a day, asked of that day alone."""
    assert rule.repeat is not None
    start, repeat = rule.start.date(), rule.repeat
    monday, own = day - timedelta(days=day.weekday()), start - timedelta(days=start.weekday())
    apart = {
        "daily": (day - start).days,
        "weekly": (monday - own).days // 7,
        "monthly": (day.year - start.year) * 12 + day.month - start.month,
    }[repeat.frequency]
    usual = {"daily": True, "weekly": day.weekday() == start.weekday(), "monthly": day.day == start.day}
    fits = any(each.is_on(day) for each in repeat.read_days) if repeat.days else usual[repeat.frequency]
    return apart % repeat.interval == 0 and fits


@given(rules(), rules())
def test_clashes_are_all_pairs_that_share_time(one: ReservationSpec, other: ReservationSpec) -> None:
    shift = one.start - other.start  # the same days, so that some of them clash
    ours, theirs = windows(one, most=12), [moved(each, shift) for each in windows(other, most=12)]
    assert list(clashes(ours, theirs)) == every_pair(ours, theirs)


def test_a_long_window_hides_no_short_one_that_is_over() -> None:
    base = only(spec("2027-03-05T10:00", "UTC"))
    long, short, other = (Window(0, base.wall, begin, end, "", "") for begin, end in ((0, 100), (1, 2), (50, 60)))
    assert list(clashes([other], [long, short])) == [(other, long)]


def moved(window: Window, by: timedelta) -> Window:
    seconds = by // timedelta(seconds=1)
    return Window(window.number, window.wall, window.begins + seconds, window.ends + seconds, "", "")


def every_pair(ours: Sequence[Window], theirs: Sequence[Window]) -> list[tuple[Window, Window]]:
    return [(one, other) for one in ours for other in theirs if one.begins < other.ends and other.begins < one.ends]
