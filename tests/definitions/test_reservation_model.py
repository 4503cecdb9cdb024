"""Reservations: what is kept, when in local time, and which rules of recurrence make sense."""

from datetime import date
from typing import Any

import pytest

from definitions.recurrence import read_day
from definitions.reservation import AtEnd, LeadMode, Reservation
from definitions.spec_errors import SpecError
from definitions.spec_validation import check
from tests.definitions.test_queue_model import document, read

BASE = {
    "queue": "research",
    "capacity": {"nodes": 4},
    "start": "2027-03-05T10:00",  # a Friday, the first of its month
    "timeZone": "Europe/Berlin",
    "length": "8h",
}


def reservation(**spec: Any) -> dict[str, Any]:
    return document("Reservation", {key: value for key, value in {**BASE, **spec}.items() if value is not None})


def repeat(**rule: Any) -> dict[str, Any]:
    return {"repeat": {"frequency": "weekly", **rule}}


@pytest.mark.parametrize(
    ("spec", "path", "code", "says", "write"),
    [
        ({"start": None}, "spec.start", "PD-1102", "missing", "2027-03-05T10:00"),
        ({"start": "2027-03-05T10:00+01:00"}, "spec.start", "PD-1602", "has an offset", "the zone in timeZone"),
        ({"start": "2027-03-05T10:00Z"}, "spec.start", "PD-1602", "has an offset", "the zone in timeZone"),
        ({"start": "2027-03-05T10:00:30"}, "spec.start", "PD-1602", "to the minute", "2027-03-05T10:00"),
        ({"start": "2027-03-05"}, "spec.start", "PD-1602", "to the minute", "2027-03-05T10:00"),
        ({"start": "2027-02-29T10:00"}, "spec.start", "PD-1602", "not a local time", "2027-03-05T10:00"),
        ({"start": 20270305}, "spec.start", "PD-1602", "not a local time", "2027-03-05T10:00"),
        ({"start": "1969-03-05T10:00"}, "spec.start", "PD-1602", "out of reach", "from 1971"),
        ({"timeZone": None}, "spec.timeZone", "PD-1102", "missing", "Europe/Berlin"),
        ({"timeZone": "Europe/Berln"}, "spec.timeZone", "PD-1115", "not a time zone", "did you mean Europe/Berlin?"),
        ({"length": None}, "spec.length", "PD-1112", "nothing says when it ends", "length: 8h"),
        ({"end": "2027-03-05T18:00"}, "spec.length", "PD-1112", "both say when it ends", "remove one"),
        ({"length": None, "end": "2027-03-05T10:00"}, "spec.end", "PD-1112", "not after start", "after the start"),
        ({"length": None, "end": "2029-03-05T10:00"}, "spec.end", "PD-1112", "longer than 366 days", "366 days"),
        ({"length": "30s"}, "spec.length", "PD-1106", "at least 1m", "at least 1m"),
        ({"capacity": {}}, "spec.capacity.nodes", "PD-1112", "nothing says how much", "nodes, gpus or nodeNames"),
        ({"capacity": {"nodes": 1, "gpus": 8}}, "spec.capacity.gpus", "PD-1112", "nodes and gpus each", "or nodes"),
        (
            {"capacity": {"nodeNames": ["a"], "flavor": "h100"}},
            "spec.capacity.flavor",
            "PD-1112",
            "have the GPUs that they have",
            "remove flavor",
        ),
        (
            {"capacity": {"nodeNames": ["a", "a"]}},
            "spec.capacity.nodeNames[1]",
            "PD-1112",
            "a is there twice",
            "remove one",
        ),
        (repeat(frequency="yearly"), "spec.repeat.frequency", "PD-1105", "not one of", "daily, weekly, monthly"),
        (repeat(interval=0), "spec.repeat.interval", "PD-1106", "at least 1", "at least 1"),
        (repeat(days=["friday"]), "spec.repeat.days[0]", "PD-1603", "not a day", "mon to sun"),
        (repeat(days=["0fri"]), "spec.repeat.days[0]", "PD-1603", "not a day", "-1fri"),
        (repeat(days=["1fri"]), "spec.repeat.days[0]", "PD-1112", "counts within a month", "write fri"),
        (repeat(days=["fri", "fri"]), "spec.repeat.days[1]", "PD-1112", "fri is there twice", "remove one"),
        (repeat(days=["mon", "wed"]), "spec.start", "PD-1112", "2027-03-05 is a fri", "start on 2027-03-08"),
        (
            repeat(frequency="monthly", days=["-1fri"]),
            "spec.start",
            "PD-1112",
            "none of the days",
            "start on 2027-03-26",
        ),
        (repeat(count=3, until="2027-12-31T00:00"), "spec.repeat.until", "PD-1112", "both say when", "remove one"),
        (repeat(until="2027-03-05T09:59"), "spec.repeat.until", "PD-1112", "before the first start", "later"),
        ({"lead": {"time": "31d"}}, "spec.lead.time", "PD-1106", "at most 30d", "at most 30d"),
        ({"lead": {"mode": "drain"}}, "spec.lead.time", "PD-1112", "how long before", "write time: 2h"),
        ({"lead": {"mode": "wait"}}, "spec.lead.mode", "PD-1105", "not one of", "drain, backfill"),
        ({"atEnd": "kill"}, "spec.atEnd", "PD-1105", "not one of", "suspend, keep, cancel"),
        ({"extension": {"notice": "1h"}}, "spec.extension.notice", "PD-1112", "no extension is allowed", "set most"),
        ({"extension": {"automatic": True}}, "spec.extension.automatic", "PD-1112", "no extension", "set most"),
    ],
)
def test_a_reservation_that_would_not_do_what_was_meant_is_refused(
    spec: dict[str, Any], path: str, code: str, says: str, write: str
) -> None:
    (found,) = check(Reservation, reservation(**spec))[1]
    assert (found.path, found.code) == (path, code)
    assert says in found.what
    assert write in found.fix


def test_what_is_not_said_is_the_kindest_choice() -> None:
    spec = Reservation.model_validate(reservation()).spec
    assert (spec.lead.mode, spec.at_end, spec.charge_idle) == (LeadMode.BACKFILL, AtEnd.SUSPEND, True)
    assert (spec.users.without_naming, bool(spec.extension.most), spec.pool) == (False, False, None)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("fri", {5, 12, 19, 26}),
        ("1fri", {5}),
        ("4fri", {26}),
        ("-1fri", {26}),
        ("-4fri", {5}),
        ("5fri", set()),
        ("5mon", {29}),
        ("-5wed", {3}),
    ],
)
def test_a_day_of_a_month_is_counted_from_either_end(text: str, days: set[int]) -> None:
    day = read_day(text)
    assert {number for number in range(1, 32) if day.is_on(date(2027, 3, number))} == days


def test_local_times_need_no_quotes_and_faults_have_their_place() -> None:
    head = "apiVersion: perdure/v1\nkind: Reservation\nmetadata: {name: a}\nspec:\n  queue: a\n  capacity: {nodes: 1}\n"
    text = f"{head}  timeZone: UTC\n  start: 2027-03-05T10:00\n  end: 2027-03-05T11:00\n"
    assert len(read(text)) == 1
    with pytest.raises(SpecError) as refused:
        read(text.replace("end: 2027-03-05T11:00", "end: 2027-03-05T09:00"))
    assert [issue.where for issue in refused.value.issues] == ["x.yaml:9:3 (spec.end)"]
