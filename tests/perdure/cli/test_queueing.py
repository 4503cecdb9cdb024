"""Who waits and why, what there is, what queues use, and what was decided, as the command line shows it."""

import json
import os
import pty
import re
import select
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from definitions.states import Phase
from perdure import Client
from perdure.client import _models as models
from store.verdicts import Verdict
from tests.api.world import document
from tests.perdure.cli.calling import Cli, ended, on_terminal, started
from tests.perdure.live import Live, live_api
from tests.support.waiting_world import PATHS, decide, furnish, waits

Filled = dict[str, str]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One API for all of these tests: they only read, but for the one that watches."""
    with live_api(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture(scope="module")
def full(live: Live) -> Filled:
    """Ids by name: three jobs of the caller's tenant and one of another, `theirs`."""
    with live.client() as client:
        jobs = {name: client.submit(document(name)).id for name in ("runs", "tuned", "late")}
    with Client(live.url, live.world.key("rival")) as rival:
        jobs["theirs"] = rival.submit(document("theirs")).id
    furnish(live.world.engine, jobs, datetime.now(UTC))
    live.world.change(jobs["runs"], phase=Phase.RUNNING, reason="all 2 ranks started", attempt=1)
    return jobs


READING: dict[str, tuple[str, ...]] = {
    "WaitingPage": ("queue",),
    "CapacityPage": ("capacity",),
    "QueueUsePage": ("queues", "usage"),
    "DecisionPage": ("decisions", "list"),
    "WholeDecision": ("decisions", "show", "local", "2"),
    "Why": ("jobs", "why", "tuned"),
}


@pytest.mark.parametrize("model", READING)
def test_data_is_what_the_api_says_in_every_form(cli: Cli, full: Filled, model: str) -> None:
    for flags, parse in ((("--json",), json.loads), (("-o", "yaml"), yaml.safe_load)):
        found: Any = getattr(models, model).model_validate(parse(cli.ok(*READING[model], *flags)))
        assert not hasattr(found, "items") or found.items


def rows(text: str) -> list[list[str]]:
    """Cells of a table in a pipe."""
    return [line.split("\t") for line in text.splitlines()]


def test_the_queue_tells_where_jobs_stand_what_is_lacking_and_when_they_start(cli: Cli, full: Filled) -> None:
    heading, first, second, last = rows(cli.ok("queue"))
    found = dict(zip(heading, first, strict=True))
    assert (found["POSITION"], found["JOB"], found["QUEUE"]) == ("1", "tuned", "research")
    assert found["ASKS"] == "3 nodes x 8 H100"
    assert found["LACKS"] == "needs 24 GPUs, 16 of 32 free"
    assert re.fullmatch(r"in 59m\d+s \(promise\)|in 1h \(promise\)", found["STARTS"])
    assert found["AGE"].startswith("30m")
    assert [second[heading.index(name)] for name in ("JOB", "LACKS", "REASON")] == ["(not yours)", "evicting", ""]
    assert [last[heading.index(name)] for name in ("POSITION", "JOB", "STARTS")] == ["", "late", ""]
    assert len(rows(cli.ok("queue", "production"))) == 2
    assert cli("queue", "none").code == 3


def test_lists_are_paged(cli: Cli, full: Filled) -> None:
    page = json.loads(cli.ok("queue", "--limit", "2", "--json", "name"))
    assert [item["name"] for item in page["items"]] == ["tuned", None]
    rest = json.loads(cli.ok("queue", "--cursor", page["next"], "--json", "name"))
    assert (rest["items"], rest["next"]) == ([{"name": "late"}], None)
    assert len(json.loads(cli.ok("queue", "--all", "--limit", "1", "--json"))["items"]) == 3
    assert len(json.loads(cli.ok("decisions", "list", "--limit", "1", "--json"))["items"]) == 1
    nodes = json.loads(cli.ok("capacity", "--limit", "3", "--json"))
    assert (len(nodes["items"]), nodes["next"] is None) == (3, False)
    whole = json.loads(cli.ok("capacity", "--all", "--json"))
    assert (len(whole["items"]), whole["next"]) == (4, None)


def test_why_names_the_lack_the_start_and_the_decision_of_a_job_that_waits(cli: Cli, full: Filled) -> None:
    told = cli.ok("jobs", "why", "tuned")
    for words in (
        "Queued: needs 24 GPUs, and 16 of 32 are free on nodes that it may be on",
        "research, position 1",
        "needs  24 GPUs",
        "limit  32 GPUs",
        "(promise)",
        "8 GPUs more, free on nodes that it may be on.",
        "decision 2 of pool local",
    ):
        assert words in told
    assert "no start is known yet" in cli.ok("jobs", "why", "late")


def test_why_names_the_places_of_a_job_that_has_them(cli: Cli, full: Filled) -> None:
    told = cli.ok("jobs", "why", "runs")
    assert "rank 1: lab-0001: GPU 0, 1, 2, 3, 4, 5, 6, 7 (simulated)" in told
    assert "by decision 1 of pool local" in told


def test_capacity_shows_types_then_nodes(cli: Cli, full: Filled) -> None:
    types, nodes = cli.ok("capacity").split("\n\n")
    heading, h100 = rows(types)
    found = dict(zip(heading, h100, strict=True))
    assert (found["GPU TYPE"], found["TOTAL"], found["USED"], found["FREE"]) == ("H100", "32", "16", "16")
    assert (found["WANTED"], found["SHORT OF"]) == ("29", "13")
    assert found["HOW THEY LIE"] == "16 free, on 2 nodes, 8 on each"
    heading, *each = rows(nodes)
    assert [row[heading.index("GPUS")] for row in each] == ["■" * 8, "■" * 8, "□" * 8, "□" * 8]
    assert {row[heading.index("STATE")] for row in each} == {"ready, simulated"}
    assert cli.ok("capacity", "-o", "name").split() == [f"lab-{number:04}" for number in range(4)]


def test_usage_shows_queues_by_resource(cli: Cli, full: Filled) -> None:
    heading, *each = rows(cli.ok("queues", "usage", "research"))
    (found,) = [dict(zip(heading, row, strict=True)) for row in each if row[1] == "gpu/H100"]
    assert (found["GUARANTEED"], found["LIMIT"], found["USED"], found["WAITING"]) == ("16", "24", "16", "25")


def test_a_decision_tells_what_it_said_and_keeps_others_names(cli: Cli, full: Filled) -> None:
    told = cli.ok("decisions", "show", "local", "2")
    assert "1 tuned: needs 24 GPUs" in told
    assert "2 (not yours): evicting" in told
    assert "runs: another job has priority 90, above 50" in told
    assert full["theirs"] not in told
    assert "runs: 2 places, 16 GPUs of queue research: lab-0000, lab-0001" in cli.ok("decisions", "show", "local", "1")
    assert cli("decisions", "show", "local", "9").code == 3


def test_a_terminal_gets_a_table_that_fits_it(live: Live, full: Filled) -> None:
    shown = on_terminal(live, "queue", env={"COLUMNS": "100", "NO_COLOR": "1"}).out
    assert "tuned" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_watching_on_a_terminal_draws_the_table_in_place_of_all_else(live: Live, full: Filled) -> None:
    parent, child = pty.openpty()
    environment = {"TERM": "xterm", "NO_COLOR": "1"}
    process = started(live, "queue", "--watch", env=environment, stdin=child, stdout=child, stderr=child)
    seen = b""
    while b"tuned" not in seen:
        assert select.select([parent], [], [], 30)[0], seen
        seen += os.read(parent, 65536)
    assert b"\x1b[2J" in seen
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    os.close(child)
    os.close(parent)


def test_watching_tells_each_change_as_a_line_of_json(live: Live, full: Filled) -> None:
    process = started(live, "queue", "--watch", "--json", "name,position,cause")
    assert process.stdout is not None
    before = [json.loads(process.stdout.readline()) for _ in range(3)]
    assert {item["name"] for item in before} == {"tuned", None, "late"}
    said = waits(live.world.engine, full["late"], 3, {"cause": "promised"}, "there is room, and it is promised")
    decide(live.world.engine, Verdict(digest="d3", waits=(said,), paths=PATHS), datetime.now(UTC))
    assert json.loads(process.stdout.readline()) == {"name": "late", "position": 3, "cause": "promised"}
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 130


def test_a_queue_in_which_nobody_waits_is_empty(cli: Cli, full: Filled) -> None:
    assert json.loads(cli.ok("queue", "all", "--json"))["items"] == []
