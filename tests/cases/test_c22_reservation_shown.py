"""Case C22 as people see it: what is shown before a night of changing clocks is booked, and in the calendar.

The traps: hours that are counted by local times; a window that is silently moved or lost; days of a calendar that have
24 hours each; a weekly slot that moves by an hour for those who look at UTC, and nobody said so.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from definitions.reservation_calls import WindowAnswer
from tests.api.world import Json, World, make_world, queue_document, scheduling_document
from tests.support.database import migrated
from tests.support.reserved_windows import book

APPLY = "/v1/scheduling-documents:apply"


@pytest.fixture
def world(sqlite_url: str) -> Iterator[World]:
    """The API over an empty database."""
    with migrated(sqlite_url, durable=False) as engine:
        yield make_world(engine)


def reservation(zone: str, start: str, **spec: Any) -> Json:
    body = {"queue": "research", "capacity": {"nodeNames": ["n1"]}, "timeZone": zone, "start": start, **spec}
    return scheduling_document("Reservation", "a", **body)


async def previewed(world: World, document: Json) -> Json:
    """What is shown before it is booked, a month before any of these nights."""
    world.clock.at = world.clock.at.replace(year=2026, month=1, day=1)
    await world.post(APPLY, {"documents": [queue_document()]}, 200)
    return await world.post("/v1/reservations:preview?weeks=52", {"document": document}, 200)


@pytest.mark.parametrize(
    ("zone", "day", "hours", "notes"),
    [
        ("America/New_York", "2026-03-08", 5, ["it lasts 5h, not 6h, as clocks change", "-05:00 becomes -04:00"]),
        ("America/New_York", "2026-11-01", 7, ["it lasts 7h, not 6h, as clocks change", "-04:00 becomes -05:00"]),
        ("Australia/Lord_Howe", "2026-04-05", 6.5, ["it lasts 6h30m, not 6h", "+11:00 becomes +10:30"]),
        ("Europe/Berlin", "2026-07-01", 6, []),
    ],
)
async def test_a_night_is_shown_with_its_real_hours_and_flagged(
    world: World, zone: str, day: str, hours: float, notes: list[str]
) -> None:
    found = await previewed(world, reservation(zone, f"{day}T00:00", end=f"{day}T06:00"))
    (window,) = found["windows"]
    assert (window["hours"], window["nodeHours"], found["hours"]) == (hours, hours, hours)
    assert window["clocksChange"] is bool(notes)
    assert all(any(note in shown for shown in window["notes"]) for note in notes)


async def test_a_start_that_never_comes_is_told_with_what_becomes_of_it(world: World) -> None:
    found = await previewed(world, reservation("America/New_York", "2026-03-08T02:30", length="2h"))
    (window,) = found["windows"]
    assert window["shownBegin"] == "2026-03-08 03:00 -04:00"
    assert "never comes in America/New_York" in window["notes"][0]


async def test_a_day_that_a_zone_skipped_is_named_and_not_silently_lost(world: World) -> None:
    world.clock.at = world.clock.at.replace(year=2011, month=12, day=1)
    await world.post(APPLY, {"documents": [queue_document()]}, 200)
    daily = reservation("Pacific/Apia", "2011-12-29T10:00", length="1h", repeat={"frequency": "daily", "count": 3})
    found = await world.post("/v1/reservations:preview", {"document": daily}, 200)
    assert [each["day"] for each in found["leftOut"]] == ["2011-12-30"]
    assert [each["shownBegin"][:10] for each in found["windows"]] == ["2011-12-29", "2011-12-31", "2012-01-01"]


async def test_a_weekly_slot_keeps_its_local_time_and_says_that_it_moved_in_utc(world: World) -> None:
    weekly = {"frequency": "weekly", "count": 4}
    found = await previewed(world, reservation("America/New_York", "2026-02-27T10:00", length="2h", repeat=weekly))
    assert {each["shownBegin"][11:16] for each in found["windows"]} == {"10:00"}
    assert [each["beginsAt"][11:16] for each in found["windows"]] == ["15:00", "15:00", "14:00", "14:00"]
    assert [each["clocksChange"] for each in found["windows"]] == [False, False, True, False]
    assert found["windows"][2]["notes"] == ["clocks have changed since the window before: -05:00 became -04:00"]


async def test_days_of_a_calendar_are_as_long_as_they_are(world: World) -> None:
    document = reservation("America/New_York", "2026-03-07T00:00", end="2026-03-10T00:00")
    await previewed(world, document)
    await world.post("/v1/reservations", {"document": document})
    for zone, hours in (("America/New_York", [24, 23, 24, 0]), ("UTC", [19, 24, 24, 4])):
        query = f"from=2026-03-07&days=4&timeZone={zone}"
        (entry,) = (await world.get(f"/v1/reservation-calendar?{query}"))["items"]
        assert entry["hoursByDay"] == hours


async def test_an_hour_more_on_such_a_night_is_a_real_hour(world: World) -> None:
    document = reservation("America/New_York", "2026-03-08T00:00", end="2026-03-08T01:30", extension={"most": "4h"})
    await previewed(world, document)
    await world.post("/v1/reservations", {"document": document})
    book(world.engine, "a", 1, world.clock.now())
    world.reservations.answer = None
    told = await world.post("/v1/reservations/a:extend", {"by": "1h"}, 200)
    assert told["shownEnd"] == "2026-03-08 03:30 -04:00"
    world.reservations.answer = WindowAnswer(denied="it is as long as it can be", fix="book another window")
    refused = await world.post("/v1/reservations/a:extend", {"until": "2026-03-08T02:30"}, 409)
    ((_, _, first), (_, _, second)) = world.reservations.asked
    assert first.until is not None
    assert second.until is not None
    assert (first.until - second.until).total_seconds() == 1800
    assert refused["code"] == "PD-2163"
