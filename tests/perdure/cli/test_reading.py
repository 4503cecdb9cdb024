"""Reading: every verb in every form. Data alone on standard output, parsed with colour forced on."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
import yaml

from perdure.client import _models as models
from tests.perdure.cli.calling import Cli, ended, on_terminal, started
from tests.perdure.cli.filling import fill
from tests.perdure.live import Live, live_api


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One API for all of these tests: they only read."""
    with live_api(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture(scope="module")
def full(live: Live) -> str:
    return fill(live)


READING: dict[str, tuple[str, ...]] = {
    "JobPage": ("jobs", "list"),
    "JobView": ("jobs", "show", "digits"),
    "Why": ("jobs", "why", "digits"),
    "AttemptPage": ("jobs", "attempts", "digits"),
    "EventPage": ("jobs", "events", "digits"),
    "CheckpointPage": ("jobs", "checkpoints", "digits"),
    "MetricPage": ("jobs", "metrics", "digits"),
    "ArtifactPage": ("jobs", "artifacts", "list", "digits"),
    "TemplatePage": ("templates", "list"),
    "TemplateView": ("templates", "show", "finetune"),
    "Rendered": ("templates", "render", "finetune", "--set", "epochs=5"),
    "SecretPage": ("secrets", "list"),
    "SchedulePage": ("schedules", "list"),
    "ScheduleView": ("schedules", "show", "nightly"),
    "ErrorCodePage": ("errors",),
    "ErrorCodeView": ("errors", "PD-2004"),
}


@pytest.mark.parametrize("model", READING)
@pytest.mark.parametrize(
    ("flags", "parse"), [(("--json",), json.loads), (("-o", "json"), json.loads), (("-o", "yaml"), yaml.safe_load)]
)
def test_structured_data_is_what_the_api_says_even_with_colour_forced(
    cli: Cli,
    full: str,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    flags: tuple[str, ...],
    parse: Callable[[str], Any],
) -> None:
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    out = cli.ok(*READING[model], *flags)
    assert "\x1b" not in out
    found = getattr(models, model).model_validate(parse(out))
    if hasattr(found, "items"):
        assert found.items


@pytest.mark.parametrize(("model", "name"), [
    ("JobPage", "digits"), ("JobView", "digits"), ("TemplatePage", "finetune"), ("SecretPage", "hub-token"),
    ("SchedulePage", "nightly"), ("ArtifactPage", "model/weights.npz"), ("AttemptPage", "1"),
])  # fmt: skip
def test_names_alone_can_be_piped(cli: Cli, full: str, model: str, name: str) -> None:
    assert cli.ok(*READING[model], "-o", "name") == f"{name}\n"


@pytest.mark.parametrize("model", READING)
def test_tables_name_what_matters_and_are_plain_in_a_pipe(cli: Cli, full: str, model: str) -> None:
    words = {"JobView": "http://127.0.0.1:8233/namespaces/default/workflows/", "Why": "ValueError: bad shape"}
    out = cli.ok(*READING[model])
    assert "\x1b" not in out
    assert words.get(model, "") in out
    assert out.strip()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--json", "name,phase"), {"name": "digits", "phase": "Failed"}),
        (("--json=name",), {"name": "digits"}),
        (("--json", "phase"), {"phase": "Failed"}),
        (("--json", "links.self,attempt"), {"links.self": None, "attempt": 1}),
    ],
)
def test_json_takes_fields(cli: Cli, full: str, arguments: tuple[str, ...], expected: dict[str, Any]) -> None:
    found = json.loads(cli.ok("jobs", "show", "digits", *arguments))
    assert found.keys() == expected.keys()
    assert {name: found[name] for name, value in expected.items() if value is not None} == {
        name: value for name, value in expected.items() if value is not None
    }


def test_a_word_behind_json_that_is_no_field_is_an_argument(cli: Cli, full: str) -> None:
    assert json.loads(cli.ok("jobs", "show", "--json", "digits"))["id"] == full


def test_an_unknown_field_is_refused_with_those_there_are(cli: Cli, full: str) -> None:
    result = cli("jobs", "list", "--json=nam")
    assert result.code == 2
    assert "there is no field 'nam'" in result.err
    assert "PD-2908" in result.err
    assert "checkpointStep" in result.err


def test_times_carry_their_zone_in_json_and_are_ages_in_tables(cli: Cli, full: str) -> None:
    created = json.loads(cli.ok("jobs", "show", "digits", "--json", "createdAt"))["createdAt"]
    assert datetime.fromisoformat(created).tzinfo is not None
    assert " ago)" in cli.ok("jobs", "show", "digits")


@pytest.mark.parametrize("since", ["yesterday", "2026-01-01T00:00:00", "10x"])
def test_a_time_that_cannot_be_read_is_a_usage_error(cli: Cli, since: str) -> None:
    result = cli("jobs", "list", "--since", since)
    assert result.code == 2
    assert "--since" in result.err


def test_logs_follow_begin_and_number_as_asked(live: Live, cli: Cli, full: str) -> None:
    assert cli.ok("jobs", "logs", "digits") == "".join(f"line {n}\n" for n in range(5))
    assert cli.ok("jobs", "logs", "digits", "--tail", "2") == "line 3\nline 4\n"
    assert cli.ok("jobs", "logs", "digits", "-f", "--attempt", "1") == cli.ok("jobs", "logs", "digits")
    stamped = cli.ok("jobs", "logs", "digits", "--timestamps", "--tail", "1")
    assert datetime.fromisoformat(stamped.split()[0]).tzinfo is not None
    lines = [json.loads(line) for line in cli.ok("jobs", "logs", "digits", "--json").splitlines()]
    assert [line["text"] for line in lines] == [f"line {n}" for n in range(5)]
    assert datetime.fromisoformat(lines[0]["at"])


def test_metrics_are_drawn(cli: Cli, full: str) -> None:
    heading, loss = cli.ok("jobs", "metrics", "digits").splitlines()
    assert "COURSE" in heading
    assert loss.split("\t")[0] == "loss"
    assert loss.split("\t")[-1].startswith("█")
    assert loss.split("\t")[-1].endswith("▁")


def test_a_terminal_gets_aligned_coloured_tables_and_a_pipe_gets_tabs(live: Live, cli: Cli, full: str) -> None:
    shown = on_terminal(live, "jobs", "list")
    assert "\x1b[31mFailed" in shown.out
    assert "\t" not in shown.out
    assert "\x1b" not in on_terminal(live, "jobs", "list", env={"NO_COLOR": "1"}).out
    piped = ended(started(live, "jobs", "list", env={"CLICOLOR_FORCE": "1"}))
    assert "\x1b[31mFailed" in piped.out
    assert "\t" in piped.out
    assert "\x1b" not in ended(started(live, "jobs", "list", env={"CLICOLOR_FORCE": "1", "NO_COLOR": "1"})).out


def test_a_pager_is_used_on_a_terminal_only_and_only_when_one_is_named(live: Live, cli: Cli, full: str) -> None:
    paged = on_terminal(live, "jobs", "list", env={"PERDURE_PAGER": "sed 's/^/paged /'"})
    assert "paged " in paged.out
    assert "paged " not in ended(started(live, "jobs", "list", env={"PERDURE_PAGER": "sed 's/^/paged /'"})).out


def test_who_stops_reading_does_not_get_a_traceback(live: Live, cli: Cli, full: str) -> None:
    process = started(live, "errors")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    assert process.wait(20) in (0, 1)
