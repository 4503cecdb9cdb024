"""Input that cannot be meant is refused before it does harm, in the words of whoever typed it."""

import json

import pytest

from definitions.states import FailureClass
from perdure.client.call import segment, segments
from perdure.errors import PerdureError
from tests.perdure.cli.calling import Cli, on_terminal
from tests.perdure.live import Live


@pytest.mark.parametrize("line", [(), ("jobs",), ("jobs", "artifacts"), ("secrets",)])
def test_a_noun_alone_shows_its_help_and_is_a_usage_error(cli: Cli, line: tuple[str, ...]) -> None:
    result = cli(*line)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"Usage: {' '.join(('perdure', *line))} ")
    assert "Commands:" in result.err
    assert "error" not in result.err.splitlines()[0]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/"])
def test_what_is_no_name_never_becomes_another_path_of_the_api(cli: Cli, name: str) -> None:
    for line in (("jobs", "show", name), ("jobs", "cancel", name, "-y"), ("templates", "show", name)):
        result = cli(*line)
        assert result.code == 2
        assert f"error PD-2901: {name!r} is neither a name nor an id" in result.err
    with pytest.raises(PerdureError, match="neither a name nor an id"):
        segment(name)


@pytest.mark.parametrize("path", ["../logs", "a/../b", "a//b", "", "./a"])
def test_an_artifacts_path_stays_below_the_artifacts(cli: Cli, job: str, path: str) -> None:
    assert cli("jobs", "artifacts", "get", "digits", path, "--to", "-").code == 2
    with pytest.raises(PerdureError):
        segments(path)
    assert segments("a b/c#1?.bin") == "a%20b/c%231%3F.bin"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--attempt", "9"), "the job has had 1 attempt, and no number 9"),
        (("--attempt", "9", "-f"), "the job has had 1 attempt, and no number 9"),
        (("--rank", "3"), "the job has one rank, 0, and no rank 3"),
    ],
)
def test_logs_of_what_there_is_not_are_refused_by_the_options_name(
    cli: Cli, job: str, flags: tuple[str, ...], words: str
) -> None:
    cli.live.world.attempt(job, 1, ended=True, failure=FailureClass.USER_ERROR)
    cli.live.world.end(job)
    result = cli("jobs", "logs", "digits", *flags)
    assert result.code == 2
    assert words in result.err
    assert f"where  {flags[0]}" in result.err


def test_an_attempt_that_is_still_to_come_can_be_asked_for_but_is_not_there(cli: Cli, job: str) -> None:
    result = cli("jobs", "logs", "digits", "--attempt", "1")
    assert (result.code, "no attempt yet" in result.err) == (2, True)


@pytest.mark.parametrize("project", ["../../evil", "No Pe", "ünï", "x" * 64, "-a"])
def test_a_project_has_a_name_before_anything_is_put_into_it(cli: Cli, project: str) -> None:
    before = cli.live.world.dump()["jobs"]
    for line in (
        ("run", "--workdir", "none", f"--project={project}", "--", "true"),
        ("jobs", "list", f"--project={project}"),
        ("secrets", "create", "hub-token", f"--project={project}"),
    ):
        result = cli(*line, input="s3cr3t-value")
        assert (result.code, "PD-1107" in result.err, "where  --project" in result.err) == (2, True, True), result
    assert cli.live.world.dump()["jobs"] == before


def test_a_key_that_no_header_can_carry_is_told_as_such(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("b\u00e4d", "two\nlines"):
        monkeypatch.setenv("PERDURE_API_KEY", key)
        result = cli("jobs", "list")
        assert (result.code, "PD-2906" in result.err, "PERDURE_API_KEY" in result.err) == (2, True, True)
        assert key not in result.err


@pytest.mark.parametrize("pager", ["no-such-pager", "'unclosed"])
def test_a_pager_that_is_not_there_costs_no_output(live: Live, cli: Cli, job: str, pager: str) -> None:
    shown = on_terminal(live, "jobs", "list", env={"PERDURE_PAGER": pager})
    assert shown.code == 0
    assert "cannot be used" in shown.out
    assert "digits" in shown.out


@pytest.mark.parametrize("flags", [("--set", "epochs=3"), ("--template-version", "2")])
def test_options_of_templates_without_a_template_are_refused(cli: Cli, flags: tuple[str, ...]) -> None:
    result = cli("run", "--workdir", "none", *flags, "--", "true")
    assert result.code == 2
    assert f"{flags[0]} is about a template, and none is named" in result.err
    assert json.loads(cli.ok("jobs", "list", "--json"))["items"] == []


@pytest.mark.parametrize("phase", ["pending", "PENDING", "Pending"])
def test_phases_are_known_in_any_case(cli: Cli, job: str, phase: str) -> None:
    assert cli.ok("jobs", "list", "--phase", phase, "-o", "name") == "digits\n"


def test_an_unknown_phase_is_told_without_the_parsers_own_words(cli: Cli) -> None:
    error = cli("jobs", "list", "--phase", "happy").err
    assert "'happy' is not one of" in error
    assert "Value error" not in error


@pytest.mark.parametrize("fields", ["name,phase", "name, phase", "name,phase,", "name,  phase, "])
def test_fields_may_be_written_with_spaces_and_a_comma_too_many(cli: Cli, job: str, fields: str) -> None:
    assert json.loads(cli.ok("jobs", "show", "digits", "--json", fields)) == {"name": "digits", "phase": "Pending"}


def test_a_field_inside_an_object_is_one_too_and_no_field_is_refused(cli: Cli, job: str) -> None:
    assert json.loads(cli.ok("jobs", "show", "digits", "--json", "links.workflow")).keys() == {"links.workflow"}
    nothing = cli("jobs", "show", "digits", "--json", "")
    assert (nothing.code, "PD-2908" in nothing.err) == (2, True)


def test_more_time_is_read_before_it_is_asked_for(cli: Cli, job: str) -> None:
    result = cli("jobs", "extend", "digits", "--by", "30")
    assert result.code == 2
    assert "where  --by" in result.err
    assert cli.live.world.operator.asked == []


def test_a_remedy_is_a_sentence(cli: Cli) -> None:
    error = cli("secrets", "create", "Bad Name", input="s3cr3t-value").err
    assert "do     Use lower-case letters" in error
    assert "ending with a letter or digit.\n" in error


@pytest.mark.parametrize(("flags", "key"), [(("--json",), "client"), (("-o", "json"), "client")])
def test_the_version_is_data_too(cli: Cli, flags: tuple[str, ...], key: str) -> None:
    assert key in json.loads(cli.ok("version", *flags))
    assert cli.ok("version", "-o", "name").count(".") == 2


def test_the_status_of_a_home_without_a_control_plane_has_every_form(cli: Cli) -> None:
    for flags in (("--json",), ("-o", "json")):
        status = cli("status", *flags)
        assert (status.code, json.loads(status.out)["phase"]) == (3, "stopped")
    assert cli("status", "-o", "name").out == f"{cli.live.home}\n"
    assert json.loads(cli("status", "--json", "phase,api").out) == {"phase": "stopped", "api": None}
