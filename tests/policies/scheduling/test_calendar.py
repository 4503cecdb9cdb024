"""What is booked of a reservation, and what becomes of that as time goes on and its document changes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from policies.scheduling.bookings import Phase, phase_of
from policies.scheduling.calendar import AHEAD, DAY, Entry, Outlook, look

HOUR = 3600


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def spec(**more: Any) -> dict[str, Any]:
    base = {"queue": "research", "capacity": {"nodes": 1}, "start": "2027-03-26T10:00", "timeZone": "Europe/Berlin"}
    return base | {"length": "2h"} | more


DAILY = {"repeat": {"frequency": "daily"}}
BEFORE = at("2027-03-25T09:00")
BEGINS = at("2027-03-26T09:00")


def every(found: Outlook) -> tuple[Entry, ...]:
    return (*found.entries, *found.new)


def phases(found: Outlook, now: int) -> list[Phase]:
    return [phase_of(each.booking, now) for each in every(found)]


def seen(found: Outlook, **changes: Any) -> Sequence[Entry]:
    return [replace(each, **changes) for each in every(found)]


def test_windows_of_the_next_60_days_are_booked_and_all_of_them_once() -> None:
    found = look(spec(**DAILY), (), BEFORE)
    assert [each.number for each in found.new] == list(range(1, 61))
    assert all(each.booking.begins <= BEFORE + AHEAD for each in found.new)
    again = look(spec(**DAILY), every(found), BEFORE)
    assert (again.entries, again.new, again.wake) == (every(found), (), BEFORE + DAY)
    assert [each.number for each in look(spec(**DAILY), every(found), BEFORE + DAY).new] == [61]


def test_the_next_window_is_booked_however_far_away_it_is() -> None:
    yearly = spec(repeat={"frequency": "monthly", "interval": 12})
    assert len(look(yearly, (), at("2027-03-27T00:00")).new) == 1


def test_windows_are_booked_at_the_same_local_time_where_clocks_change() -> None:
    found = look(spec(**DAILY), (), BEFORE)
    assert [each.booking.begins - BEGINS for each in found.new[:4]] == [0, DAY, 2 * DAY - HOUR, 3 * DAY - HOUR]


def test_a_new_document_moves_what_has_not_begun_and_leaves_what_has() -> None:
    now = BEGINS + HOUR
    found = look(spec(**DAILY), (), now)
    later = look(spec(**DAILY, length="5h", atEnd="keep"), every(found), now)
    assert [each.booking.window.seconds for each in later.entries[:3]] == [2 * HOUR, 5 * HOUR, 5 * HOUR]
    assert [each.number for each in later.entries] == [each.number for each in found.new]
    assert later.new == ()


def test_windows_that_a_new_document_has_not_are_given_up_and_come_back_with_another_one() -> None:
    found = look(spec(), (), BEFORE)
    moved = look(spec(start="2027-03-27T10:00"), every(found), BEFORE)
    assert phases(moved, BEFORE) == [Phase.ENDED, Phase.UPCOMING]
    back = look(spec(), every(moved), BEFORE + 1)
    assert phases(back, BEFORE + 1) == [Phase.ENDED, Phase.ENDED, Phase.UPCOMING]
    assert [each.number for each in every(back)] == [1, 2, 3]


def test_what_was_given_up_stays_so_under_the_same_document_in_other_words() -> None:
    (entry,) = look(spec(), (), BEFORE).new
    gone = replace(entry, booking=replace(entry.booking, cancelled=BEFORE))
    found = look(spec(description="Still the same."), [gone], BEFORE + 1)
    assert (found.entries, found.new, found.over) == ((gone,), (), True)
    weekly = look(spec(repeat={"frequency": "weekly", "interval": 20}), (), BEFORE).new
    without = [replace(weekly[0], booking=replace(weekly[0].booking, cancelled=BEFORE))]
    (next_one,) = look(spec(repeat={"frequency": "weekly", "interval": 20}), without, BEFORE).new
    assert (next_one.number, next_one.booking.begins - BEGINS) == (2, 140 * DAY - HOUR)


def test_a_window_that_runs_is_not_booked_beside_itself_when_its_start_is_moved() -> None:
    now = BEGINS + HOUR
    found = look(spec(), (), now)
    moved = look(spec(start="2027-03-26T10:30"), every(found), now)
    assert (len(moved.entries), moved.new) == (1, ())


def test_a_document_that_is_removed_gives_up_all_that_is_not_over() -> None:
    found = look(spec(repeat={"frequency": "daily", "count": 3}), (), BEGINS)
    now = BEGINS + 60
    gone = look(spec(), every(found), now, removed=now)
    assert phases(gone, now) == [Phase.DRAINING, Phase.ENDED, Phase.ENDED]
    assert (gone.over, gone.wake) == (False, now + 5)
    assert look(spec(), seen(gone, vacant=True), now + 5, removed=now).over


def test_a_life_is_over_when_its_last_window_is_and_its_jobs_have_gone() -> None:
    end = BEGINS + 2 * HOUR
    found = look(spec(), (), BEFORE)
    assert not found.over
    draining = look(spec(), every(found), end)
    assert (draining.over, draining.wake) == (False, end + 5)
    over = look(spec(), seen(draining, vacant=True), end + 5)
    assert (over.over, over.wake, over.entries[0].booking.vacated) == (True, None, end + 5)


@pytest.mark.parametrize(
    ("lead", "wake"), [({}, BEGINS), ({"lead": {"time": "2h"}}, BEGINS - 2 * HOUR), ({"lead": {"time": "26h"}}, BEGINS)]
)
def test_it_looks_again_when_the_next_phase_begins(lead: dict[str, Any], wake: int) -> None:
    assert look(spec(**lead), (), BEGINS - 3 * HOUR).wake == wake


def test_a_window_extends_itself_shortly_before_its_end_as_far_as_its_jobs_need() -> None:
    extends = spec(extension={"most": "4h", "automatic": True})
    end = BEGINS + 2 * HOUR
    running = seen(look(extends, (), BEGINS), jobs_end=(end + HOUR,))
    early = look(extends, running, BEGINS)
    assert (early.entries[0].booking.ends, early.wake) == (end, end - 60)
    longer = look(extends, running, end - 60)
    assert (longer.entries[0].booking.ends, longer.entries[0].terms["extended"]) == (end + HOUR, HOUR)
    endless = look(extends, seen(longer, jobs_end=(None,)), end + HOUR - 1)
    assert endless.entries[0].booking.ends == end + 4 * HOUR
    idle = look(extends, seen(look(extends, (), BEGINS)), end - 1)
    assert idle.entries[0].booking.ends == end
