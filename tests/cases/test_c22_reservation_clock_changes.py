"""Reservations over nights on which clocks change: from the document's local times to instants, hours and clashes.

The traps: a weekly start that drifts by an hour because a correction used another zone than the rule's; local times
that never come or come twice; hours counted by subtracting local times, which is 6 on each of these nights; a jump at
midnight that loses a day; an update of the zones' rules that moves what people have paid for.
"""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from definitions.documents import parse
from definitions.reservation import Reservation, ReservationSpec
from definitions.spec_errors import SpecError, SpecIssue
from policies.scheduling.bookings import Use, billed, booked, charged
from policies.scheduling.documents import faults
from policies.scheduling.windows import LeftOut, Window, occurrences, redrawn, windows

QUEUE = "apiVersion: perdure/v1\nkind: Queue\nmetadata: {name: research}\n"
TEXT = """\
apiVersion: perdure/v1
kind: Reservation
metadata: {name: %s}
spec:
  queue: research
  capacity: {nodeNames: [n1]}
  timeZone: %s
  start: %s
"""


def text(start: str, zone: str, *lines: str, name: str = "a") -> str:
    return TEXT % (name, zone, start) + "".join(f"  {line}\n" for line in lines)


def read(start: str, zone: str, *lines: str) -> ReservationSpec:
    (found,) = parse(text(start, zone, *lines), source="x.yaml", served_only=False)
    assert isinstance(found, Reservation)
    return found.spec


def in_utc(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%d. %H:%M}"


WEEKLY = ("2026-02-27T10:00", "America/New_York", "length: 2h", "repeat: {frequency: weekly, count: 4}")


def test_a_weekly_slot_stays_at_its_local_time() -> None:
    found = windows(read(*WEEKLY), most=9)
    assert [in_utc(each.begins) for each in found] == ["27. 15:00", "06. 15:00", "13. 14:00", "20. 14:00"]
    assert {each.shown_begin[11:16] for each in found} == {"10:00"}


@pytest.mark.parametrize(("day", "hours"), [("2026-03-08", 5), ("2026-11-01", 7), ("2026-07-01", 6)])
def test_a_night_is_charged_by_its_real_hours(day: str, hours: int) -> None:
    rule = read(f"{day}T00:00", "America/New_York", f"end: {day}T06:00")
    (night,) = windows(rule, most=9)
    zone = ZoneInfo("America/New_York")
    begin, end = (datetime.fromtimestamp(at, zone) for at in (night.begins, night.ends))
    assert end - begin == timedelta(hours=6), "which is what subtracting local times says of every night"
    booking = booked(night, rule)
    assert night.seconds == hours * 3600
    assert charged(booking) == (night.begins, night.begins + hours * 3600)
    assert billed(booking, 8, [Use(night.begins, None, 3)]) == 8 * hours * 3600


@pytest.mark.parametrize(
    ("start", "zone", "begins"),
    [
        ("2026-03-08T02:30", "America/New_York", ["2026-03-08 03:00 -04:00", "2026-03-09 02:30 -04:00"]),
        ("2026-11-01T01:30", "America/New_York", ["2026-11-01 01:30 -04:00", "2026-11-02 01:30 -05:00"]),
        ("2024-04-26T00:00", "Africa/Cairo", ["2024-04-26 01:00 +03:00", "2024-04-27 00:00 +03:00"]),
        ("2024-10-31T23:30", "Africa/Cairo", ["2024-10-31 23:30 +03:00", "2024-11-01 23:30 +02:00"]),
        ("2026-10-04T02:10", "Australia/Lord_Howe", ["2026-10-04 02:30 +11:00", "2026-10-05 02:10 +11:00"]),
        ("2026-04-05T01:45", "Australia/Lord_Howe", ["2026-04-05 01:45 +11:00", "2026-04-06 01:45 +10:30"]),
    ],
)
def test_a_daily_rule_fires_once_on_every_day_and_notes_what_clocks_did(
    start: str, zone: str, begins: list[str]
) -> None:
    found = windows(read(start, zone, "length: 30m", "repeat: {frequency: daily, count: 2}"), most=9)
    assert [each.shown_begin for each in found] == begins
    assert [len(each.notes) for each in found] == [1, 0], "the one to look at before it is confirmed"


def test_of_a_day_that_was_skipped_there_is_nothing_and_it_is_said() -> None:
    rule = read("2011-12-29T09:00", "Pacific/Apia", "length: 1h", "repeat: {frequency: daily, count: 2}")
    found = list(occurrences(rule))
    assert [each.day if isinstance(each, LeftOut) else each.shown_begin for each in found] == [
        "2011-12-29 09:00 -10:00",
        "2011-12-30",
        "2011-12-31 09:00 +14:00",
    ]


@pytest.mark.parametrize(("start", "clashes"), [("05:00", False), ("05:30", True), ("05:59", True), ("06:00", False)])
def test_two_zones_are_compared_in_real_time(start: str, clashes: bool) -> None:
    """01:30 in New York comes at 05:30 and again at 06:30 UTC; the first is taken, and half an hour ends at 06:00."""
    ours = text("2026-11-01T01:30", "America/New_York", "length: 30m")
    theirs = text(f"2026-11-01T{start}", "UTC", "length: 30m", name="b")
    found = [issue.code for issue in issues("---\n".join((QUEUE, ours, theirs)))]
    assert found == (["PD-1617"] if clashes else [])


def issues(documents: str) -> list[SpecIssue]:
    try:
        parse(documents, source="x.yaml", served_only=False, together=faults)
    except SpecError as refused:
        return list(refused.issues)
    return []


def test_new_rules_of_a_zone_move_no_booked_window() -> None:
    rule = read(*WEEKLY)
    kept = windows(rule, most=4)

    def abolished(_: str) -> tzinfo:
        return timezone(timedelta(hours=-5))

    today = [redrawn(each, rule, abolished) for each in kept]
    assert today[:2] == [None, None]
    moved = [(each.begins, old.begins) for each, old in zip(today, kept, strict=True) if isinstance(each, Window)]
    assert [new - old for new, old in moved] == [3600, 3600]
    assert [in_utc(each.begins) for each in kept[2:]] == ["13. 14:00", "20. 14:00"]
