"""`perdure simulate` end to end: the child process, what is shown, and what is refused where it cannot work."""

import json
from pathlib import Path

import pytest

from perdure.cli.commands.simulate import Policy
from perdure.local import simulation
from simulator.policies import POLICIES
from tests.perdure.cli.calling import Cli

JOBS = "id,submitted,nodes,gpus,seconds\nfirst,0,2,8,3600\nsecond,60,1,8,1800\n"


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a trace in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text(JOBS)
    return tmp_path / "jobs.csv"


def test_the_command_offers_every_policy_that_there_is() -> None:
    assert {each.value for each in Policy} == set(POLICIES)


def test_policies_are_compared_line_by_line_and_a_report_is_written(cli: Cli, trace: Path) -> None:
    result = cli(
        "simulate", "--trace", "jobs.csv", "--nodes", "2", "--policy", "fifo", "--policy", "easy", "--report", "r"
    )
    assert result.code == 0, result
    heading, *lines = [line.split("\t") for line in result.out.splitlines()]
    assert [dict(zip(heading, line, strict=True))["DONE"] for line in lines] == ["1h14m", "1h14m"]
    assert result.err == "wrote r/report.html\n"
    assert (trace.parent / "r" / "report.html").is_file()


def test_json_has_every_number_and_a_change_says_when_the_job_would_start(cli: Cli, trace: Path) -> None:
    change = ("--policy", "fifo", "--what-if", "nodes=+1", "--job", "second")
    answer = json.loads(cli.ok("simulate", "--trace", "jobs.csv", "--nodes", "2", *change, "--json"))
    assert answer["policies"][0]["wait"]["mean"] == 1770
    assert (answer["whatIf"]["start"], answer["whatIf"]["changedStart"]) == (3600, 60)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--trace", "none.csv", "--nodes", "2"), 2, ("PD-4014", "none.csv cannot be read")),
        (("--trace", "jobs.csv"), 2, ("PD-4015", "--nodes")),
        (("--trace", "jobs.csv", "--nodes", "2", "--policy", "best"), 2, ("PD-2901", "--policy")),
        (("--trace", "jobs.csv", "--nodes", "2", "--load", "0"), 2, ("PD-2901", "--load")),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    cli: Cli, trace: Path, arguments: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    result = cli("simulate", *arguments)
    assert (result.code, result.out) == (code, "")
    assert all(word in result.err for word in words), result.err


def test_a_bad_row_is_shown_with_its_place(cli: Cli, trace: Path) -> None:
    trace.write_text("id,submitted,gpus,seconds\na,0,1.5,10\n")
    result = cli("simulate", "--trace", "jobs.csv", "--nodes", "2")
    assert result.code == 2
    assert "jobs.csv:2:5" in result.err
    assert "a part of one such as 0.25" in result.err


def test_without_the_libraries_it_says_what_to_install(cli: Cli, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "LIBRARIES", ("no_such_library",))
    result = cli("simulate", "--trace", "jobs.csv", "--nodes", "2")
    assert result.code == 2
    assert "PD-4013" in result.err
    assert 'pip install "perdure[simulator]"' in result.err


def test_a_child_that_ends_without_an_answer_is_told_of_with_its_last_words(
    cli: Cli, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "MODULE", "simulator.nothing_of_that_name")
    result = cli("simulate", "--trace", "jobs.csv", "--nodes", "2")
    assert result.code == 8
    assert "PD-4016" in result.err
    assert "nothing_of_that_name" in result.err
