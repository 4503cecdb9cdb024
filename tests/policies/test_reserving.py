"""What a reservation comes to: windows with real hours, days in a calendar, amounts, and what was used."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from definitions.reservation import ReservationSpec
from policies.reserving import (
    Amount,
    Plan,
    amount,
    hours,
    hours_by_day,
    in_words,
    moved,
    next_weeks,
    planned,
    still_to_come,
    usage,
)
from policies.scheduling.bookings import Use, booked
from policies.scheduling.documents import Pool, Reserved
from policies.scheduling.model import Node
from policies.scheduling.windows import windows
from tests.policies.scheduling.test_windows import spec

BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = {"end": "2027-03-26T06:00", "repeat": {"frequency": "daily", "count": 5}}


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def plan(found: ReservationSpec, now: str = "2027-01-01", until: str = "2028-01-01", most: int = 99) -> Plan:
    return planned(found, ZoneInfo, at(now), at(until), most)


def keeps(capacity: dict[str, object]) -> ReservationSpec:
    return spec("2027-03-05T10:00", "UTC", capacity=capacity)


def test_nights_on_which_clocks_change_are_flagged_and_counted_by_their_real_hours() -> None:
    found = plan(spec("2027-03-26T00:00", "Europe/Berlin", **NIGHTS))
    assert [hours(each.window.seconds) for each in found.windows] == [6, 6, 5, 6, 6]
    assert [each.clocks_change for each in found.windows] == [False, False, True, False, False]
    assert found.windows[2].notes == (
        "it lasts 5h, not 6h, as clocks change",
        "clocks change in it: +01:00 becomes +02:00",
    )
    assert hours(found.seconds) == 29


def test_a_window_says_when_clocks_have_changed_since_the_one_before() -> None:
    weekly = spec("2027-03-24T10:00", "Europe/Berlin", length="2h", repeat={"frequency": "weekly", "count": 3})
    found = plan(weekly, now="2027-03-25")
    assert [each.window.shown_begin for each in found.windows] == ["2027-03-31 10:00 +02:00", "2027-04-07 10:00 +02:00"]
    assert found.windows[0].notes == ("clocks have changed since the window before: +01:00 became +02:00",)
    assert [each.clocks_change for each in found.windows] == [True, False]


def test_only_what_is_not_over_is_planned_and_always_the_next_one() -> None:
    endless = spec("2027-03-05T10:00", "UTC", length="8h", repeat={"frequency": "weekly"})
    found = plan(endless, now="2027-03-12T12:00", until="2027-03-27")
    assert [each.window.number for each in found.windows] == [1, 2, 3]
    assert found.more
    assert plan(endless, most=2).more
    far = plan(endless, until="2027-02-01")
    assert ([each.window.number for each in far.windows], far.more) == ([0], True)
    once = spec("2027-03-05T10:00", "UTC", length="8h")
    assert not plan(once).more
    assert plan(once, now="2027-03-05T18:00").windows == []
    assert [still_to_come(once, ZoneInfo, at(time)) for time in ("2027-03-05T17:59", "2027-03-05T18:00")] == [
        True,
        False,
    ]


def test_weeks_are_counted_from_now_or_from_the_first_window_to_come() -> None:
    endless = spec("2027-03-05T10:00", "UTC", length="8h", repeat={"frequency": "weekly"})
    for now, numbers, until in (
        ("2027-01-01", [0, 1, 2], "2027-03-26T10:00"),
        ("2027-03-20", [3, 4, 5], "2027-04-16T10:00"),
        ("2027-03-19T12:00", [2, 3, 4, 5], "2027-04-09T12:00"),
    ):
        plan, end = next_weeks(endless, ZoneInfo, at(now), 3, 99)
        assert ([each.window.number for each in plan.windows], end) == (numbers, at(until))


def test_a_weekly_window_is_there_once_in_each_week_though_clocks_change() -> None:
    weekly = spec("2027-03-27T22:00", "Europe/Berlin", length="8h", repeat={"frequency": "weekly"})
    plan, end = next_weeks(weekly, ZoneInfo, at("2027-03-01"), 3, 99)
    assert [each.window.wall.day for each in plan.windows] == [27, 3, 10]
    assert end == at("2027-04-17T20:00")


def test_days_that_are_left_out_are_told_as_long_as_they_matter() -> None:
    monthly = spec("2027-01-31T10:00", "UTC", length="1h", repeat={"frequency": "monthly", "count": 3})
    assert [each.day for each in plan(monthly).left_out] == ["2027-02-31", "2027-04-31"]
    assert [each.day for each in plan(monthly, now="2027-04-01").left_out] == ["2027-04-31"]


@pytest.mark.parametrize(
    ("start", "rules", "said"),
    [
        ("2027-03-27T10:00", timezone(timedelta(hours=1)), ""),
        ("2027-03-28T10:00", timezone(timedelta(hours=1)), "2027-03-28 10:00 +01:00 to 2027-03-28 11:00 +01:00"),
    ],
)
def test_a_window_whose_zone_got_new_rules_stays_and_says_so(start: str, rules: tzinfo, said: str) -> None:
    """Summer time was abolished after it was booked."""
    once = spec(start, "Europe/Berlin", length="1h")
    (booked,) = windows(once, most=1)
    told = moved(booked, once, lambda _: rules)
    assert told.startswith(f"by the rules of Europe/Berlin as they are today it would be {said}") if said else not told
    assert moved(booked, once) == ""


@pytest.mark.parametrize(
    ("capacity", "words"),
    [
        ({"nodes": 1}, "1 node"),
        ({"nodes": 4, "flavor": "h100"}, "4 nodes of h100"),
        ({"gpus": 32}, "32 GPUs"),
        ({"nodeNames": ["a"]}, "node a"),
        ({"nodeNames": list("abcde")}, "nodes a, b, c and 2 more"),
    ],
)
def test_what_is_kept_is_said_in_words(capacity: dict[str, object], words: str) -> None:
    assert in_words(keeps(capacity).capacity) == words


@pytest.mark.parametrize(
    ("capacity", "found"),
    [
        ({"nodes": 2}, Amount(2, 16)),
        ({"gpus": 12}, Amount(2, 12)),
        ({"nodeNames": ["a", "c"]}, Amount(2, 12)),
        ({"nodeNames": ["a", "elsewhere"]}, Amount(2, None)),
    ],
)
def test_alike_nodes_tell_how_many_gpus_are_kept(capacity: dict[str, object], found: Amount) -> None:
    nodes = [Node("a", 1, 1, 8, labels={"x": "1"}), Node("b", 1, 1, 8, labels={"x": "1"}), Node("c", 1, 1, 4)]
    reserved = Reserved("r", keeps(capacity))
    assert amount(reserved, Pool("p", selector={"x": "1"}), nodes) == found
    mixed = amount(reserved, None, nodes)
    assert mixed in (found, Amount(2, None), Amount(None, 12))
    assert amount(Reserved("r", keeps({"nodes": 1})), None, []) == Amount(1, None)
    assert Amount(2, None).gpu_hours(3600) is None
    assert Amount(2, 16).gpu_hours(1800) == 8


def test_a_calendar_counts_real_hours_of_each_day_of_its_zone() -> None:
    found = windows(spec("2027-03-27T22:00", "Europe/Berlin", length="30h"), most=1)
    spans = [(each.begins, each.ends) for each in found]
    days = [date(2027, 3, 26 + number) for number in range(4)]
    assert hours_by_day(spans, days, BERLIN) == [0, 2, 23, 5]
    assert hours_by_day(spans, days, ZoneInfo("UTC")) == [0, 3, 24, 3]


def test_what_nobody_used_until_now_is_what_is_left_of_the_reserved_amount() -> None:
    (window,) = windows(spec("2027-03-05T10:00", "UTC", length="8h"), most=1)
    booking = booked(window, spec("2027-03-05T10:00", "UTC", length="8h"))
    uses = [Use(window.begins - 600, window.begins + 3600, 4), Use(window.begins + 1800, None, 2)]
    before = usage(booking, 4, uses, window.begins)
    assert (before.used, before.idle) == (0, 0)
    amid = usage(booking, 4, uses, window.begins + 7200)
    assert (amid.used, amid.idle) == (4 + 3, 2)
    over = usage(booking, 4, uses, window.ends + 99)
    assert (over.used, over.idle) == (4 + 15, 14)
