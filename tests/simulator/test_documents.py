"""Documents of the scheduler in a simulation: reservations, priority classes, the default queue, worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from definitions.errors import PerdureError
from simulator.ledger import Gang
from simulator.run import run, simulate
from simulator.setting import setting
from simulator.wire import Asked

HOUR = 3600
BEGIN = "2027-03-05T00:00:00Z"


def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


QUEUES = [
    document("Queue", "all"),
    document("Queue", "research", parent="all", default=True),
    document("Queue", "production", parent="all"),
]
RESERVED = {
    "queue": "production",
    "capacity": {"nodes": 1},
    "start": "2027-03-05T10:00",
    "length": "4h",
    "timeZone": "UTC",
    "repeat": {"frequency": "daily", "count": 2},
}


def asked(folder: Path, rows: str, *documents: dict[str, Any], nodes: int = 1, **more: Any) -> Asked:
    (folder / "jobs.csv").write_text(rows)
    (folder / "documents.yaml").write_text(yaml.safe_dump_all([*QUEUES, *documents]))
    return Asked(
        trace=str(folder / "jobs.csv"),
        policies=("perdure",),
        nodes=nodes,
        documents=(str(folder / "documents.yaml"),),
        **more,
    )


def gangs(given: Asked) -> dict[str, Gang]:
    return run("perdure", setting(given)).ledger.gangs


def hours(*seconds: int | None) -> list[float | None]:
    return [None if each is None else each / HOUR for each in seconds]


HEAD = "id,submitted,queue,reservation,gpus,seconds\n"


def test_a_window_keeps_its_node_for_jobs_that_name_it_and_others_stay_out_of_its_time(tmp_path: Path) -> None:
    rows = f"{HEAD}long,{8 * HOUR},research,,8,{3 * HOUR}\nshort,{8 * HOUR + 1},research,,8,{HOUR}\n"
    rows += f"kept,{9 * HOUR},production,evening,8,{2 * HOUR}\n"
    given = asked(tmp_path, rows, document("Reservation", "evening", **RESERVED), begin=BEGIN)
    found = gangs(given)
    assert hours(found["short"].first_start) == [8 + 1 / HOUR]
    assert hours(found["kept"].first_start, found["kept"].end) == [10, 12]
    assert hours(found["long"].first_start) == [14]
    without = gangs(given.model_copy(update={"policies": ("fifo",)}))
    assert without["long"].first_start == found["long"].first_start
    assert hours(run("fifo", setting(given)).ledger.gangs["long"].first_start) == [8]


@pytest.mark.parametrize(("at_end", "end"), [("suspend", 24 + 10 + 2), ("keep", 10 + 6), ("cancel", None)])
def test_a_job_that_still_runs_at_the_end_saves_and_waits_for_the_next_window_stays_or_is_over(
    tmp_path: Path, at_end: str, end: float | None
) -> None:
    rows = f"{HEAD}kept,{9 * HOUR},production,evening,8,{6 * HOUR}\n"
    found = gangs(asked(tmp_path, rows, document("Reservation", "evening", **RESERVED, atEnd=at_end), begin=BEGIN))
    assert hours(found["kept"].first_start, found["kept"].end) == [10, end]
    answer = simulate(asked(tmp_path, rows, document("Reservation", "evening", **RESERVED, atEnd=at_end), begin=BEGIN))
    assert answer.policies[0].unfinished == (end is None)


def test_a_window_that_extends_itself_lasts_as_long_as_its_jobs_may(tmp_path: Path) -> None:
    rows = f"{HEAD}kept,{9 * HOUR},production,evening,8,{5 * HOUR}\n"
    longer = {"extension": {"most": "2h", "automatic": True}}
    found = gangs(asked(tmp_path, rows, document("Reservation", "evening", **RESERVED, **longer), begin=BEGIN))
    assert hours(found["kept"].first_start, found["kept"].end) == [10, 15]
    assert found["kept"].evictions == 0


def test_who_runs_where_a_window_with_a_lead_begins_saves_and_makes_room(tmp_path: Path) -> None:
    rows = f"{HEAD}long,{8 * HOUR},research,,8,{3 * HOUR}\nkept,{9 * HOUR},production,evening,8,{2 * HOUR}\n"
    reserved = document("Reservation", "evening", **RESERVED, lead={"time": "1h"})
    found = gangs(asked(tmp_path, rows, reserved, begin=BEGIN))
    assert hours(found["long"].first_start) == [8]
    assert found["long"].evictions == 1
    assert hours(found["kept"].first_start) == [10 + 60 / HOUR]


def test_local_times_of_a_night_of_changing_clocks_are_instants(tmp_path: Path) -> None:
    night = {**RESERVED, "start": "2027-03-28T01:00", "timeZone": "Europe/Berlin", "length": "2h"}
    rows = f"{HEAD}first,0,production,evening,8,{2 * HOUR}\nsecond,1,production,evening,8,{HOUR}\n"
    found = gangs(asked(tmp_path, rows, document("Reservation", "evening", **night), begin="2027-03-28T00:00:00+01:00"))
    assert hours(found["first"].first_start, found["first"].end, found["second"].first_start) == [1, 3, 24]


def test_a_trace_with_times_of_its_own_needs_no_beginning(tmp_path: Path) -> None:
    rows = "id,submitted,queue,reservation,gpus,seconds\nkept,2027-03-05T09:00:00Z,production,evening,8,60\n"
    found = gangs(asked(tmp_path, rows, document("Reservation", "evening", **RESERVED)))
    assert (found["kept"].first_start or 0) - found["kept"].job.request.submitted == HOUR


def test_classes_order_jobs_and_count_those_that_waited_too_long(tmp_path: Path) -> None:
    rows = "id,submitted,priority,priorityClass,gpus,seconds\n"
    rows += "runs,0,0,,8,100\nlow,1,100,,8,100\nhigh,1,0,urgent,8,100\nhigher,1,1,urgent,8,100\n"
    urgent = document("PriorityClass", "urgent", value=1, longestQueueTime="2m")
    usual = document("PriorityClass", "usual", value=0, default=True, preemptible=False)
    answer = simulate(asked(tmp_path, rows, urgent, usual))
    assert answer.policies[0].overdue == 1
    found = gangs(asked(tmp_path, rows, urgent, usual))
    assert [found[name].first_start for name in ("runs", "higher", "high", "low")] == [0, 100, 200, 300]
    assert {gang.job.request.queue for gang in found.values()} == {"research"}


@pytest.mark.parametrize(
    ("row", "documents", "more", "words"),
    [
        ("a,0,research,evening,,8,1", [document("Reservation", "evening", **RESERVED)], {"begin": BEGIN}, "not for it"),
        ("a,0,production,evening,,8,1", [], {}, "no document describes"),
        ("a,0,production,evening,,8,1", [document("Reservation", "evening", **RESERVED)], {}, "from nowhere"),
        ("a,0,production,,,8,1", [], {"begin": BEGIN}, "only reservations need to know"),
        ("a,0,production,,,8,1", [document("Reservation", "evening", **RESERVED)], {"begin": "soon"}, "no time with"),
        ("a,0,research,,urgent,8,1", [], {}, "there is no priority class urgent"),
        (
            "a,0,research,,urgent,8,1",
            [document("PriorityClass", "urgent", value=1, usableBy=["production"])],
            {},
            "urgent is not for jobs of research",
        ),
    ],
)
def test_a_job_that_would_be_refused_is_refused_here_too(
    tmp_path: Path, row: str, documents: list[dict[str, Any]], more: dict[str, Any], words: str
) -> None:
    rows = f"id,submitted,queue,reservation,priorityClass,gpus,seconds\n{row}\n"
    with pytest.raises(PerdureError, match=words) as refused:
        setting(asked(tmp_path, rows, *documents, **more))
    assert refused.value.code.code == "PD-4015"
