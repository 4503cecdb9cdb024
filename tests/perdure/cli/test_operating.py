"""Verbs that change something: requests to jobs, templates, secrets, schedules; and asking before destroying."""

import json
from pathlib import Path

import pytest
import yaml

from definitions.facts import Verb
from definitions.states import Phase
from tests.api.world import schedule_document, template_document
from tests.perdure.cli.calling import Cli, on_terminal
from tests.perdure.live import Live


@pytest.mark.parametrize("verb", ["cancel", "suspend", "resume", "extend", "reprioritise", "resize", "checkpoint"])
def test_a_request_reaches_the_job_once_with_its_reason(cli: Cli, job: str, verb: str) -> None:
    flags = {
        "cancel": ["-y"],
        "extend": ["--by", "30m"],
        "reprioritise": ["--priority", "50"],
        "resize": ["--nodes", "2"],
    }.get(verb, [])
    answer = json.loads(cli.ok("jobs", verb, "digits", *flags, "--reason", "making room", "--json"))
    assert (answer["verb"], answer["job"]) == (verb, job)
    [(tenant, asked, request)] = cli.live.world.operator.asked
    assert (tenant, asked, request.verb, request.reason) == ("acme", job, Verb(verb), "making room")


def test_a_clone_is_the_same_document_with_the_changes_that_are_named(cli: Cli, job: str) -> None:
    cli.live.world.end(job)
    line = ("jobs", "clone", "digits", "--name", "again", "--set", "spec.timeout=4h", "--set", "spec.nodes=2", "--json")
    clone = json.loads(cli.ok(*line))
    assert (clone["name"], clone["clonedFrom"], clone["nodes"]) == ("again", job, 2)
    assert clone["spec"]["spec"]["timeout"] == "4h"
    clash = cli("jobs", "clone", "digits", "--set", "spec=1", "--set", "spec.nodes=2")
    assert (clash.code, "another --set" in clash.err) == (2, True)


DESTROYING = [
    ("jobs", "cancel", "digits"),
    ("jobs", "delete", "digits"),
    ("jobs", "artifacts", "delete", "digits", "model.npz"),
    ("templates", "delete", "finetune"),
    ("secrets", "delete", "hub-token"),
    ("schedules", "delete", "nightly"),
]


@pytest.mark.parametrize("line", DESTROYING)
def test_what_destroys_names_the_flag_when_nobody_can_be_asked(cli: Cli, line: tuple[str, ...]) -> None:
    result = cli(*line)
    assert result.code == 2
    assert "PD-2903" in result.err
    assert "Add -y" in result.err


def test_what_destroys_asks_on_a_terminal_and_does_nothing_without_a_yes(live: Live, cli: Cli, job: str) -> None:
    live.world.end(job)
    refused = on_terminal(live, "jobs", "delete", "digits", answer="n")
    assert refused.code == 2
    assert "Delete job digits with all it left? [y/N]" in refused.out
    assert live.world.row(job).deleted_at is None
    assert on_terminal(live, "jobs", "delete", "digits", answer="y").code == 0
    assert live.world.row(job).deleted_at is not None
    assert cli("jobs", "show", "digits").code == 3


def test_everything_there_is_can_be_deleted(cli: Cli, job: str) -> None:
    with cli.live.client() as client:
        client.templates.create(template_document())
        client.secrets.create("hub-token", "s3cr3t-value")
        client.schedule(schedule_document())
    cli.live.world.artifact(job, "model.npz", b"weights")
    cli.live.world.end(job, Phase.FAILED)
    for line in (DESTROYING[2], DESTROYING[1], *DESTROYING[3:]):
        result = cli(*line, "-y")
        assert (result.code, result.out) == (0, "")
        assert result.err.startswith("deleted ")
    for noun in ("jobs", "templates", "secrets", "schedules"):
        assert json.loads(cli.ok(noun, "list", "--json"))["items"] == []


def test_a_secret_comes_from_a_pipe_or_a_file_and_never_shows(cli: Cli, folder: Path) -> None:
    (folder / "value").write_text("f1le-value\n")
    first = cli("secrets", "create", "hub-token", "--json", input="p1pe-value\n")
    second = cli("secrets", "rotate", "hub-token", "--from-file", "value", "--json")
    assert (json.loads(first.out)["version"], json.loads(second.out)["version"]) == (1, 2)
    listed = cli("secrets", "list", "--json")
    for result in (first, second, listed):
        assert "value" not in result.out + result.err
    nothing = cli("secrets", "create", "other", input="")
    assert (nothing.code, "PD-2917" in nothing.err) == (2, True)


def test_a_secret_is_not_taken_from_the_command_line(cli: Cli) -> None:
    for line in (("secrets", "create", "hub-token", "s3cr3t"), ("secrets", "create", "hub-token", "--value", "s3cr3t")):
        assert cli(*line).code == 2


def test_a_secret_typed_at_a_terminal_is_not_echoed(live: Live) -> None:
    result = on_terminal(live, "secrets", "create", "hub-token", answer="typ3d-value")
    assert result.code == 0
    assert "Value of hub-token (not shown)" in result.out
    assert "typ3d-value" not in result.out
    with live.client() as client:
        assert [secret.name for secret in client.secrets.each()] == ["hub-token"]


def test_a_template_is_stored_rendered_and_run_with_checked_values(cli: Cli, folder: Path) -> None:
    (folder / "finetune.yaml").write_text(yaml.safe_dump(template_document()))
    assert json.loads(cli.ok("templates", "create", "-f", "finetune.yaml", "--json"))["version"] == 1
    assert "epochs" in cli.ok("templates", "show", "finetune")
    rendered = yaml.safe_load(cli.ok("templates", "render", "finetune", "--set", "epochs=7"))
    assert rendered["spec"]["command"][-1] == "7"
    job = json.loads(cli.ok("run", "--template", "finetune", "--set", "epochs=5", "--name", "tuned-5", "--json"))
    assert (job["name"], job["template"], job["spec"]["spec"]["command"][-1]) == ("tuned-5", "finetune@1", "5")
    assert json.loads(cli.ok("templates", "list", "--json", "jobs"))["items"] == [{"jobs": 1}]
    wrong = cli("run", "--template", "finetune", "--set", "epochs=0", "--set", "epoch=1")
    assert wrong.code == 2
    assert "did you mean epochs" in wrong.err.lower()
    assert "is below 1" in wrong.err


def test_a_schedule_shows_its_next_runs_before_it_is_created(cli: Cli, folder: Path) -> None:
    document = schedule_document()
    document["spec"]["job"]["spec"]["workdir"] = {"mode": "snapshot"}
    (folder / "nightly.yaml").write_text(yaml.safe_dump(document))
    planned = json.loads(cli.ok("schedules", "create", "-f", "nightly.yaml", "--dry-run", "--json"))
    assert len(planned["nextRuns"]) > 1
    assert json.loads(cli.ok("schedules", "list", "--json"))["items"] == []
    assert cli.live.objects.list("") == []
    created = cli("schedules", "create", "-f", "nightly.yaml", "--json")
    assert created.code == 0, created
    assert "next runs" in created.err
    assert json.loads(created.out)["nextRuns"] == planned["nextRuns"]
    digest = json.loads(created.out)["document"]["spec"]["job"]["spec"]["workdir"]["snapshot"]
    assert digest in cli.live.objects.list("")[0].key, "all its jobs run in the copy that was kept"
    assert json.loads(cli.ok("schedules", "pause", "nightly", "--json"))["paused"] is True
    assert json.loads(cli.ok("schedules", "resume", "nightly", "--json"))["paused"] is False
    assert json.loads(cli.ok("schedules", "trigger", "nightly", "--json"))["schedule"] == "nightly"


def test_apply_takes_templates_and_schedules_too(cli: Cli, folder: Path) -> None:
    (folder / "t.yaml").write_text(yaml.safe_dump(template_document()))
    (folder / "s.yaml").write_text(yaml.safe_dump(schedule_document()))
    assert json.loads(cli.ok("apply", "-f", "t.yaml", "--json"))["name"] == "finetune"
    assert json.loads(cli.ok("apply", "-f", "s.yaml", "--json"))["name"] == "nightly"
