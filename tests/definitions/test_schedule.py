"""Schedules: cron lines and calendars that every tool reads alike, real time zones, and times in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.cron import CronError, Range, parse_line, values
from definitions.documents import parse_one
from definitions.schedule import Schedule
from definitions.spec_errors import SpecIssue
from definitions.spec_validation import check
from definitions.yaml_writer import dump, to_yaml
from tests.definitions.test_job_model import job


def schedule(**spec: Any) -> dict[str, Any]:
    when = {} if {"cron", "calendars"} & set(spec) else {"cron": ["30 3 * * *"]}
    return {
        "apiVersion": "perdure/v1",
        "kind": "Schedule",
        "metadata": {"name": "nightly"},
        "spec": {"job": job(), **when, **spec},
    }


def issues(**spec: Any) -> list[SpecIssue]:
    return check(Schedule, schedule(**spec))[1]


@pytest.mark.parametrize(
    ("line", "minutes", "hours", "weekdays"),
    [
        ("30 3 * * *", {30}, {3}, set(range(7))),
        ("*/20 9-11 * * mon-fri", {0, 20, 40}, {9, 10, 11}, {1, 2, 3, 4, 5}),
        ("5/20 0,12 * * SUN", {5, 25, 45}, {0, 12}, {0}),
        ("@daily", {0}, {0}, set(range(7))),
        ("@weekly", {0}, {0}, {0}),
    ],
)
def test_a_cron_line_is_taken_apart(line: str, minutes: set[int], hours: set[int], weekdays: set[int]) -> None:
    found = parse_line(line)
    assert (set(values(found.minute)), set(values(found.hour)), set(values(found.day_of_week))) == (
        minutes,
        hours,
        weekdays,
    )


@pytest.mark.parametrize(
    ("line", "says", "write"),
    [
        ("* * * *", "4 fields", "write five"),
        ("0 0 3 * * *", "6 fields", "write five"),
        ("@every 5m", "not known", "write five"),
        ("60 * * * *", "'60' is not a minute", "0 to 59"),
        ("* 24 * * *", "'24' is not a hour", "0 to 23"),
        ("* * 0 * *", "'0' is not a day of month", "1 to 31"),
        ("* * * foo *", "'foo' is not a month", "jan to dec"),
        ("* * * * 8", "'8' is not a day of week", "sun to sat"),
        ("*/0 * * * *", "step of 0", "1 or more"),
        ("0 22-2 * * *", "goes backwards", "22-23,0-2"),
        ("1--2 * * * *", "not a minute", "0 to 59"),
        ("0 0 31 2 *", "never comes", "correct"),
        ("0 0 30-31 feb *", "never comes", "correct"),
        ("0 0 13 * fri", "both the day of the month and the day of the week", "two lines"),
    ],
)
def test_a_line_that_is_wrong_or_means_different_things_is_refused(line: str, says: str, write: str) -> None:
    with pytest.raises(CronError) as refused:
        parse_line(line)
    assert says in refused.value.what
    assert write in refused.value.fix


def test_a_day_that_only_leap_years_have_is_accepted() -> None:
    assert parse_line("0 0 29 2 *").day_of_month == (Range(29, 29, 1),)


@given(st.text(st.sampled_from("0123456789*/-, afjmonsu@"), max_size=20) | st.text())
def test_no_text_breaks_the_reading_of_cron_lines(line: str) -> None:
    try:
        parts = parse_line(line)
    except CronError as error:
        assert_told(error)
    else:
        assert all(values(part) for part in parts)


def assert_told(error: CronError) -> None:
    assert error.what
    assert error.fix


@pytest.mark.parametrize(
    ("spec", "path", "code", "says"),
    [
        ({"cron": []}, "spec.cron", "PD-1112", "nothing says when"),
        ({"cron": ["x"]}, "spec.cron[0]", "PD-1116", "fields"),
        ({"cron": "30 3 * * *"}, "spec.cron", "PD-1103", "list"),
        ({"calendars": [{"hour": 24}]}, "spec.calendars[0].hour", "PD-1116", "hour"),
        ({"calendars": [{"hour": True}]}, "spec.calendars[0].hour", "PD-1116", "hour"),
        (
            {"calendars": [{"month": "feb", "dayOfMonth": 30}]},
            "spec.calendars[0].dayOfMonth",
            "PD-1112",
            "no such month",
        ),
        ({"timeZone": "Europe/Berln"}, "spec.timeZone", "PD-1115", "not a time zone"),
        ({"timeZone": "../../etc/passwd"}, "spec.timeZone", "PD-1115", "not a time zone"),
        ({"timeZone": "Europe"}, "spec.timeZone", "PD-1115", "not a time zone"),
        ({"overlap": "Skip"}, "spec.overlap", "PD-1105", "not one of"),
        ({"catchUpWindow": "1s"}, "spec.catchUpWindow", "PD-1106", "at least 10s"),
        ({"jitter": "2d"}, "spec.jitter", "PD-1106", "at most 1d"),
        ({"startAt": "2026-01-01"}, "spec.startAt", "PD-1114", "time zone"),
        ({"startAt": "soon"}, "spec.startAt", "PD-1114", "point in time"),
        (
            {"startAt": "2026-01-02T00:00:00Z", "endAt": "2026-01-02T01:00:00+01:00"},
            "spec.endAt",
            "PD-1112",
            "not after startAt",
        ),
        ({"job": {}}, "spec.job.apiVersion", "PD-1102", "missing"),
    ],
)
def test_a_schedule_that_would_not_do_what_was_meant_is_refused(
    spec: dict[str, Any], path: str, code: str, says: str
) -> None:
    found = issues(**spec)
    assert (found[0].path, found[0].code) == (path, code)
    assert says in found[0].what


def test_a_misspelt_time_zone_is_answered_with_the_one_that_was_meant() -> None:
    assert issues(timeZone="Europe/Berln")[0].fix == "did you mean Europe/Berlin?"


def test_a_schedule_survives_being_written_with_its_times_as_they_were_said() -> None:
    text = dump(
        schedule(calendars=[{"hour": 9, "dayOfWeek": "mon-fri"}], startAt="2026-02-01T01:00:00+01:00", jitter="5m")
    )
    found = parse_one(text, "x", Schedule)
    assert found.spec.calendars[0].hour == "9"
    assert 'startAt: "2026-02-01T00:00:00Z"' in to_yaml(found)
    assert parse_one(to_yaml(found), "x", Schedule) == found


def test_an_unquoted_line_that_begins_with_a_star_is_explained() -> None:
    text = dump(schedule()).replace('"30 3 * * *"', "*/5 * * * *")
    kind, found = check(Schedule, schedule(job=job(team="q")))
    assert (kind is not None, found) == (True, []), "whether a field is served is asked when a document is parsed"
    with pytest.raises(Exception, match=r"PD-1006.*\n.*\n.*\n.*\n.*double quotes"):
        parse_one(text, "x", Schedule)


def test_the_job_inside_is_held_to_what_is_served_here() -> None:
    with pytest.raises(Exception, match=r"spec\.job\.spec\.team.*PD-1502"):
        parse_one(dump(schedule(job=job(team="q"))), "x", Schedule)
