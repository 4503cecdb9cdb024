"""What people see: tables that fit a terminal, words in the right number, times where they belong."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from definitions.states import FailureClass, Phase
from perdure.cli.shapes import JOB, METRIC
from perdure.cli.tables import _fitting
from tests.api.world import schedule_document, template_document
from tests.perdure.cli.calling import Cli, ended, on_terminal, started
from tests.perdure.live import JOB_YAML, Live

WIDE = {
    **{"NAME": 22, "PHASE": 9, "ATTEMPT": 7, "STEP": 4, "RANKS": 5, "CLUSTER": 8, "AGE": 5, "RAN": 3},
    **{"OWNER": 11, "ID": 26},
}


def headings(width: int, reason: int) -> dict[str, int]:
    wanted = WIDE | {"REASON": reason}
    shown = _fitting({column: wanted[column.heading] for column in JOB.columns}, width)
    return {column.heading: most for column, most in shown.items()}


@pytest.mark.parametrize("reason", [6, 40, 400])
@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 300])
def test_a_table_fits_its_terminal_and_cuts_sentences_before_numbers(width: int, reason: int) -> None:
    shown = headings(width, reason)
    assert sum(shown.values()) + 2 * len(shown) <= width
    assert shown["REASON"] >= min(reason, 9)
    for heading in ("PHASE", "ATTEMPT", "STEP", "AGE", "RAN"):
        assert shown[heading] == WIDE[heading]


def test_what_can_be_spared_goes_first_from_the_right_and_stays_where_there_is_room() -> None:
    assert headings(170, 40).keys() == {*WIDE, "REASON"}
    assert headings(126, 40).keys() == {*WIDE, "REASON"} - {"ID"}
    assert headings(80, 40).keys() == {*WIDE, "REASON"} - {"ID", "OWNER", "CLUSTER", "RANKS"}


def test_a_terminal_gets_no_columns_in_which_nothing_stands_and_a_pipe_gets_all(live: Live, cli: Cli, job: str) -> None:
    narrow = on_terminal(live, "jobs", "list", env={"NO_COLOR": "1", "COLUMNS": "80"}).out
    assert not {"ATTEMPT", "STEP", "RAN"} & set(narrow.split("\n")[0].split())
    assert all(len(line.rstrip("\r")) <= 80 for line in narrow.split("\n"))
    assert cli.ok("jobs", "list").splitlines()[0].split("\t") == [column.heading for column in JOB.columns]


def test_a_course_is_drawn_on_a_narrow_terminal_too() -> None:
    shown = _fitting({column: 40 if column.heading == "COURSE" else 8 for column in METRIC.columns}, 80)
    assert {column.heading: most for column, most in shown.items()}["COURSE"] >= 20


def test_following_a_run_prints_every_attempt(live: Live, folder: Path) -> None:
    process = started(live, "run", "--follow", "--workdir", "none", "--", "python", "train.py")
    assert process.stderr is not None
    while "submitted" not in process.stderr.readline():
        pass
    with live.client() as client:
        job = client.jobs.list(limit=1).items[0].id
    world, now = live.world, datetime.now(UTC)
    world.logs.lines[(job, 1, 0)] = [(now, "first line")]
    world.logs.lines[(job, 2, 0)] = [(now, "second line")]
    world.attempt(job, 1, ended=True, failure=FailureClass.SIGNAL)
    assert process.stdout is not None
    assert process.stdout.readline() == "first line\n"
    world.attempt(job, 2, ended=True)
    world.end(job)
    result = ended(process)
    assert (result.code, result.out) == (0, "second line\n")
    assert "--- attempt 2" in result.err


def test_what_is_left_to_do_is_told_of_a_live_job_only(cli: Cli, job: str) -> None:
    progress = {
        "step": 7,
        "rate": 4.98049,
        "eta": (datetime.now(UTC) + timedelta(minutes=5)).isoformat(),
        "metrics": {},
    }
    cli.live.world.change(job, phase=Phase.RUNNING, progress=progress)
    assert "step 7, 4.98 steps/s, done in 4m" in cli.ok("jobs", "show", "digits")
    cli.live.world.end(job)
    assert "progress  step 7\n" in cli.ok("jobs", "show", "digits")


def test_a_service_is_called_one_and_says_how_many_of_its_processes_are_ready(cli: Cli) -> None:
    from perdure.cli.shapes import ATTEMPT

    cli.ok("run", "--workdir", "none", "--mode", "service", "--name", "api", "--", "serve")
    assert "1 process on 1 node, 0 GPUs, as a service" in cli.ok("jobs", "show", "api")
    ready = next(column.cell for column in ATTEMPT.columns if column.heading == "READY")
    ranks = [SimpleNamespace(ready=True, restarts=0), SimpleNamespace(ready=False, restarts=1)]
    attempt: Any = SimpleNamespace(ended_at=None, ranks=ranks)
    assert ready(attempt) == "1 of 2, 1 restart"
    attempt.ended_at = datetime.now(UTC)
    assert ready(attempt) == ""


def test_nodes_that_are_made_up_are_marked() -> None:
    from perdure.cli.shapes import ATTEMPT

    nodes = next(column.cell for column in ATTEMPT.columns if column.heading == "NODES")
    ranks = [SimpleNamespace(node="sim-1", simulated=True), SimpleNamespace(node="host", simulated=False)]
    attempt: Any = SimpleNamespace(nodes=["sim-1", "host"], ranks=ranks)
    assert nodes(attempt) == "sim-1 (simulated),host"


def test_one_is_not_many(cli: Cli, folder: Path) -> None:
    text = f"{JOB_YAML}  workdir: {{mode: none}}\n"
    (folder / "job.yaml").write_text(text)
    cli.ok("apply", "-f", "job.yaml")
    (folder / "job.yaml").write_text(text.replace("1h", "2h"))
    assert "1 difference from job" in cli.ok("diff", "-f", "job.yaml")
    assert "differs in 1 field\n" in cli("apply", "-f", "job.yaml").err
    assert "after 1 second:" in cli("jobs", "wait", "digits", "--timeout", "1s").err


def test_next_runs_are_told_in_the_schedules_own_zone_on_both_sides_of_a_clock_change(cli: Cli, folder: Path) -> None:
    spec = {"cron": ["30 12 26,30 3 *"], "timeZone": "Europe/Berlin"}
    (folder / "noon.yaml").write_text(yaml.safe_dump(schedule_document("noon", **spec)))
    plan = cli.ok("schedules", "create", "-f", "noon.yaml", "--dry-run")
    assert "03-26 12:30:00 CET " in plan
    assert "03-30 12:30:00 CEST " in plan


def test_a_paused_schedule_has_no_next_run(cli: Cli) -> None:
    with cli.live.client() as client:
        client.schedule(schedule_document())
    assert "\tin " in cli.ok("schedules", "list")
    cli.ok("schedules", "pause", "nightly")
    assert "\tin " not in cli.ok("schedules", "list")


def test_choices_of_a_parameter_are_told_as_words(cli: Cli) -> None:
    template = template_document()
    template["spec"]["parameters"].append(
        {"name": "opt", "type": "choice", "choices": ["adam", "sgd"], "default": "sgd"}
    )
    template["spec"]["job"]["spec"]["command"].append("${{ opt }}")
    with cli.live.client() as client:
        client.templates.create(template)
    assert "opt (choice, default sgd, choices adam or sgd)" in cli.ok("templates", "show", "finetune")


def test_a_job_that_is_named_like_an_id_is_followed_by_its_own_id(cli: Cli, job: str) -> None:
    result = cli("run", "--workdir", "none", "--name", job, "--json", "id", "--", "true")
    own = json.loads(result.out)["id"]
    assert f"perdure jobs logs -f {own}" in result.err
    assert json.loads(cli.ok("jobs", "show", job, "--json", "name"))["name"] == "digits", "an id goes before a name"


def test_an_elastic_job_shows_the_size_that_it_has_and_the_one_that_is_asked_for(cli: Cli, job: str) -> None:
    cli.live.world.change(job, nodes=2, ranks=4, gpus=16, asked_nodes=4)
    assert "4 processes on 2 nodes (4 asked for), 16 GPUs" in cli.ok("jobs", "show", "digits")
    cli.live.world.change(job, asked_nodes=2)
    assert "4 processes on 2 nodes, 16 GPUs" in cli.ok("jobs", "show", "digits")


def test_a_decision_shows_who_grows_and_what_one_that_shrinks_keeps() -> None:
    from perdure.cli.queueing_shapes import DECISION

    gone = dict(name="wide", yours=True, leaves_for="urgent", reason="it has priority 5", dropped=False)
    grown = SimpleNamespace(name="other", yours=True, before=2, after=4, dropped=True)
    fields: dict[str, Any] = {key: [] for key in ("gangs_placed", "gangs_refused")}
    fields |= dict(gangs_displaced=[SimpleNamespace(**gone, keeps=2)], gangs_grown=[grown], waiting=0, causes={})
    fields |= dict(number=1, pool="local", at=datetime.now(UTC), nodes=4, running=2, digest="d", token=1)
    assert DECISION.lines is not None
    lines = dict(DECISION.lines(SimpleNamespace(**fields)))
    assert lines["displaced"] == "wide for urgent: it has priority 5; keeps 2 places"
    assert lines["grown"] == "other: from 2 to 4 places; it had changed, and keeps its size"
