"""When schedules fire: tables for what people get wrong; tests/workers/test_schedule_backend.py asks the engine too."""

from datetime import UTC, datetime
from typing import Any

import pytest

from definitions.schedule import Schedule
from policies.next_runs import next_runs
from policies.schedule_runs import run_at, run_name

JOB = {
    "apiVersion": "perdure/v1",
    "kind": "Job",
    "metadata": {"name": "report"},
    "spec": {"command": ["true"], "workdir": {"mode": "none"}},
}


def schedule(**spec: Any) -> Schedule:
    return Schedule.model_validate(
        {
            "apiVersion": "perdure/v1",
            "kind": "Schedule",
            "metadata": {"name": "nightly"},
            "spec": {"job": JOB} | spec,
        }
    )


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "after", "wanted"),
    [
        ({"cron": ["30 3 * * *"]}, "2026-11-29T03:30", ["2026-11-30T03:30", "2026-12-01T03:30"]),
        ({"cron": ["30 3 * * *"]}, "2026-11-29T03:29:59", ["2026-11-29T03:30"]),
        ({"cron": ["*/20 * * * *"]}, "2026-11-29T23:40", ["2026-11-30T00:00", "2026-11-30T00:20"]),
        ({"cron": ["0 9 * * mon-fri"]}, "2026-11-27T09:00", ["2026-11-30T09:00", "2026-12-01T09:00"]),
        ({"cron": ["0 0 * * 7"]}, "2026-11-29T00:00", ["2026-12-06T00:00"]),
        ({"cron": ["0 0 29 2 *"]}, "2026-03-01T00:00", ["2028-02-29T00:00"]),
        ({"cron": ["0 0 31 * *"]}, "2026-11-01T00:00", ["2026-12-31T00:00", "2027-01-31T00:00"]),
        ({"cron": ["0 1 * * *", "0 1 1 * *"]}, "2026-11-30T12:00", ["2026-12-01T01:00", "2026-12-02T01:00"]),
        ({"cron": ["@hourly"]}, "2026-11-29T12:34", ["2026-11-29T13:00"]),
        ({"calendars": [{"hour": "6", "year": "2027"}]}, "2026-11-29T00:00", ["2027-01-01T06:00"]),
        ({"calendars": [{"hour": "6", "year": "2026"}]}, "2026-12-31T06:00", []),
        ({"calendars": [{"second": "*/30", "minute": "0", "hour": "0"}]}, "2026-11-29T00:00", ["2026-11-29T00:00:30"]),
        # Berlin is an hour ahead in winter, two in summer.
        ({"cron": ["0 8 * * *"], "timeZone": "Europe/Berlin"}, "2026-07-01T12:00", ["2026-07-02T06:00"]),
        ({"cron": ["0 8 * * *"], "timeZone": "Europe/Berlin"}, "2026-12-01T12:00", ["2026-12-02T07:00"]),
        # 02:30 does not come on the day that the clocks skip it ...
        (
            {"cron": ["30 2 * * *"], "timeZone": "Europe/Berlin"},
            "2026-03-28T00:00",
            ["2026-03-28T01:30", "2026-03-30T00:30"],
        ),
        # ... and comes twice when they are set back: the second counts, west of Greenwich both.
        ({"cron": ["30 2 * * *"], "timeZone": "Europe/Berlin"}, "2026-10-25T00:00", ["2026-10-25T01:30"]),
        (
            {"cron": ["30 1 * * *"], "timeZone": "America/New_York"},
            "2026-11-01T00:00",
            ["2026-11-01T05:30", "2026-11-01T06:30", "2026-11-02T06:30"],
        ),
        ({"cron": ["0 * * * *"], "startAt": "2026-11-29T15:00:00Z"}, "2026-11-29T12:00", ["2026-11-29T15:00"]),
        (
            {"cron": ["0 * * * *"], "endAt": "2026-11-29T14:00:00Z"},
            "2026-11-29T12:00",
            ["2026-11-29T13:00", "2026-11-29T14:00"],
        ),
    ],
)
def test_the_next_times_are(spec: dict[str, Any], after: str, wanted: list[str]) -> None:
    found = next_runs(schedule(**spec).spec, at(after), max(len(wanted), 1))
    assert found == tuple(at(time) for time in wanted)


def test_the_same_time_always_gives_the_same_job_and_another_time_another() -> None:
    nominal = at("2026-11-29T03:30")
    one, same = (run_at(schedule(cron=["@daily"]), "acme", "vision", nominal) for _ in range(2))
    assert one == same
    others = [
        run_at(schedule(cron=["@daily"]), "acme", "vision", at("2026-11-30T03:30")),
        run_at(schedule(cron=["@daily"]), "acme", "speech", nominal),
        run_at(schedule(cron=["@daily"]), "rival", "vision", nominal),
    ]
    assert len({run.id for run in (one, *others)}) == 4
    assert len({run.seed for run in (one, *others)}) == 4
    assert (len(one.id), len(one.seed)) == (26, 32)
    assert one.id < others[0].id  # ids sort by time


def test_a_long_name_is_cut_so_that_the_time_fits() -> None:
    long = {**JOB, "metadata": {"name": "x" * 46 + "-" + "y" * 16}}
    name = run_name(schedule(cron=["@daily"], job=long), at("2026-11-29T03:30"))
    assert name == "x" * 46 + "-20261129-033000"


def test_the_name_of_an_array_is_cut_so_that_the_indexes_of_its_jobs_fit_too() -> None:
    long = {**JOB, "metadata": {"name": "x" * 63}, "spec": {"command": ["true"], "array": {"last": 999}}}
    name = run_name(schedule(cron=["@daily"], job=long), at("2026-11-29T03:30"))
    assert name == "x" * 43 + "-20261129-033000"
