"""`perdure run` and `apply`: the plan first, then the submit, then staying with the job if wanted."""

import json
import re
import signal
from pathlib import Path

import pytest

from definitions.states import Phase
from perdure.cli.job_document import Flags, document, name_from
from perdure.codes import USAGE
from perdure.errors import PerdureError
from tests.api.world import template_document
from tests.perdure.cli.calling import Cli, ended, on_terminal, started
from tests.perdure.cli.filling import add_scheduling
from tests.perdure.live import JOB_YAML, Live
from tests.support.polling import eventually


def rows(live: Live) -> dict[str, list[tuple[object, ...]]]:
    """Every row of the store. When a key was last used is the only thing that a mere question may write."""
    return {table: found for table, found in live.world.dump().items() if table != "tokens"}


def newest(live: Live) -> str:
    """Id of the newest job, once there is one."""
    with live.client() as client:
        return eventually(lambda: client.jobs.list(limit=1).items, 20, "a job")[0].id


def test_the_plan_is_talk_and_the_job_is_data(cli: Cli, folder: Path) -> None:
    result = cli("run", "--nodes", "2", "--timeout", "2h", "--env", "LR=0.1", "--json", "--", "python", "train.py")
    assert result.code == 0
    job = json.loads(result.out)
    assert (job["name"], job["phase"], job["nodes"]) == ("train", "Pending", 2)
    for words in ("python train.py", "2 processes on 2 nodes", "LR", "at most 2h", f"copy of {folder}: 1 file, 15 B"):
        assert words in result.err
    assert "\x1b" not in result.err + result.out


def test_plan_job_and_reason_name_the_job_that_is_waited_for(cli: Cli, folder: Path) -> None:
    first = json.loads(cli.ok("run", "--name", "prepare", "--json", "id", "--", "true"))["id"]
    result = cli("run", "--name", "train", "--after", "prepare:any", "--", "true")
    line = f"job prepare ({first}) has to end"
    assert (result.code, line in result.err) == (0, True)
    assert line in cli.ok("jobs", "show", "train")
    assert f"{line}: Pending" in cli.ok("jobs", "why", "train")
    with cli.live.client() as client:
        client.templates.create(template_document())
    assert line in cli("run", "--template", "finetune", "--after", "prepare:any").err
    refused = cli("run", "--name", "report", "--after", "prepair", "--", "true")
    assert (refused.code, "PD-2190" in refused.err, "Did you mean prepare?" in refused.err) == (2, True, True)


def test_the_plan_names_the_queue_and_what_no_node_could_hold(cli: Cli, folder: Path) -> None:
    add_scheduling(cli.live)
    asked = ("--queue", "research", "--priority", "7", "--priority-class", "urgent", "--gpus", "64")
    result = cli("run", *asked, "--dry-run", "--", "python", "train.py")
    assert result.code == 0
    shown = result.err + result.out
    assert "research, class urgent, priority 7" in shown
    assert "no node of local as it is today could hold it: it needs 64 GPUs on one node" in " ".join(shown.split())


def test_a_dry_run_writes_nothing_anywhere(cli: Cli, folder: Path) -> None:
    before = rows(cli.live)
    homes = sorted((path, path.stat().st_mtime_ns) for path in [*cli.live.home.rglob("*"), *folder.rglob("*")])
    plan = json.loads(cli.ok("run", "--dry-run", "--json", "--", "python", "train.py"))
    assert (plan["command"], plan["workdir"]["mode"]) == (["python", "train.py"], "snapshot")
    assert rows(cli.live) == before
    assert cli.live.objects.list("") == []
    assert sorted((path, path.stat().st_mtime_ns) for path in [*cli.live.home.rglob("*"), *folder.rglob("*")]) == homes


@pytest.mark.parametrize(
    ("flags", "spec"),
    [
        (Flags(), {}),
        (Flags(nodes=2, processes_per_node=4, gpus=8), {"nodes": 2, "processesPerNode": 4, "resources": {"gpus": 8}}),
        (Flags(gpus=0), {"resources": {"gpus": 0}}),
        (
            Flags(queue="research", priority=0, priority_class="urgent", reservation="evening"),
            {"queue": "research", "priority": 0, "priorityClass": "urgent", "reservation": "evening"},
        ),
        (
            Flags(after=("prepare", "load:ok", "clean:any", "check:fail")),
            {
                "after": [
                    {"job": "prepare"},
                    {"job": "load", "outcome": "succeeded"},
                    {"job": "clean", "outcome": "finished"},
                    {"job": "check", "outcome": "failed"},
                ]
            },
        ),
        (Flags(env={"A": "1", "B": "secret:b"}), {"env": {"A": "1", "B": {"secret": "b"}}}),
        (Flags(timeout="2h", grace="1m"), {"timeout": "2h", "gracePeriod": "1m"}),
        (Flags(retries=0, checkpoint_every="5m"), {"retry": {"limit": 0}, "checkpoints": {"every": "5m"}}),
        (
            Flags(hang_after="10m", framework="pytorch"),
            {"progress": {"hangAfter": "10m"}, "distributed": {"framework": "pytorch"}},
        ),
        (Flags(workdir="live"), {"workdir": {"mode": "live"}}),
        (
            Flags(mode="service", readiness_http=8000, readiness_path="/ready"),
            {"mode": "service", "service": {"readiness": {"httpPort": 8000, "httpPath": "/ready"}}},
        ),
        (Flags(mode="service", readiness_tcp=80), {"mode": "service", "service": {"readiness": {"tcpPort": 80}}}),
        (Flags(mode="service", readiness_file="up"), {"mode": "service", "service": {"readiness": {"file": "up"}}}),
    ],
)
def test_each_flag_is_one_field_of_the_document_and_nothing_more(flags: Flags, spec: dict[str, object]) -> None:
    given = Flags(**{**vars(flags), "command": ("true",), "labels": {"team": "vision"}})
    assert document(given, "digits") == {
        "apiVersion": "perdure/v1",
        "kind": "Job",
        "metadata": {"name": "digits", "labels": {"team": "vision"}},
        "spec": {"command": ["true"], **spec},
    }


@pytest.mark.parametrize("wrong", ["prepare:", "prepare:done", ":ok", ""])
def test_what_a_job_waits_for_is_read_or_refused_with_the_words_there_are(wrong: str) -> None:
    with pytest.raises(PerdureError, match=re.escape("JOB:ok|fail|any")) as refused:
        document(Flags(command=("true",), after=(wrong,)), "digits")
    assert (refused.value.code, refused.value.where) == (USAGE.code, "--after")
    assert "with :any to end" in (refused.value.remedy or "")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "train.py", "--lr", "1"), "train"),
        (("python3.11", "-u", "src/My_Train.v2.py"), "my-train-v2"),
        (("torchrun", "--nproc-per-node", "2", "fit.py"), "fit"),
        (("env", "LR=1", "./fit"), "fit"),
        (("/usr/bin/true",), "true"),
        (("python", "-c", "import train.py"), "python"),
        (("python", "-m", "vision.train"), "vision-train"),
        (("¡hola!",), "hola"),
        (("日本",), "job"),
        (("./" + "x" * 90,), "x" * 58),
    ],
)
def test_a_name_comes_from_the_command(command: tuple[str, ...], name: str) -> None:
    assert name_from(command) == name


def test_a_name_that_a_live_job_has_gets_a_few_letters(cli: Cli, folder: Path) -> None:
    first, second = (json.loads(cli.ok("run", "--json", "--", "python", "train.py"))["name"] for _ in range(2))
    assert first == "train"
    assert second.startswith("train-")
    cli.live.world.end(newest(cli.live))


def test_a_name_that_was_asked_for_and_is_taken_is_a_conflict(cli: Cli, job: str) -> None:
    result = cli("run", "--workdir", "none", "--name", "digits", "--", "true")
    assert result.code == 6
    assert result.out == ""


def test_words_behind_the_command_are_the_commands_own(cli: Cli) -> None:
    line = ("run", "--workdir", "none", "--json", "spec", "true", "--nodes", "7", "-y", "--", "--help")
    spec = json.loads(cli.ok(*line))["spec"]["spec"]
    assert spec["command"] == ["true", "--nodes", "7", "-y", "--", "--help"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run",), "nothing to run"),
        (("run", "--env", "A", "--", "x"), "'A' is not written NAME=VALUE"),
        (("run", "--env", "A=1", "--env", "A=2", "--", "x"), "A is given twice"),
        (("run", "--template", "t", "--nodes", "2", "--", "x"), "a command, --nodes would say it again"),
        (("run", "--nodes", "0", "--", "x"), "greater than or equal to 1"),
        (("run", "--workdir", "elsewhere", "--", "x"), "is not one of"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_before_anything_is_asked(
    cli: Cli, arguments: tuple[str, ...], words: str
) -> None:
    result = cli(*arguments)
    assert result.code == 2
    assert words in " ".join(result.err.split())
    assert "PD-2901" in result.err


@pytest.mark.parametrize(
    ("flags", "phase", "exit_code", "code"),
    [
        (["--wait"], Phase.SUCCEEDED, 0, 0),
        (["--wait"], Phase.FAILED, 42, 1),
        (["--propagate-exit"], Phase.FAILED, 42, 42),
        (["--propagate-exit"], Phase.FAILED, 137, 1),
        (["--propagate-exit"], Phase.FAILED, None, 1),
        (["--wait"], Phase.CANCELLED, None, 1),
        (["--follow", "--propagate-exit"], Phase.FAILED, 3, 3),
    ],
)
def test_waiting_ends_with_the_jobs_outcome(
    live: Live, folder: Path, flags: list[str], phase: Phase, exit_code: int | None, code: int
) -> None:
    process = started(live, "run", *flags, "--workdir", "none", "--", "python", "train.py")
    job = newest(live)
    live.world.attempt(job, 1, ended=True)
    live.world.change(job, exit_code=exit_code)
    live.world.end(job, phase, "because")
    result = ended(process)
    assert result.code == code, result
    assert f"train {phase}: because" in result.err


def test_ctrl_c_detaches_and_says_how_to_come_back_and_how_to_stop(live: Live, folder: Path) -> None:
    process = started(live, "run", "--follow", "--workdir", "none", "--", "python", "train.py")
    job = newest(live)
    assert process.stderr is not None
    seen = [process.stderr.readline() for _ in range(1)]
    while "submitted" not in seen[-1]:
        seen.append(process.stderr.readline())
    process.send_signal(signal.SIGINT)
    result = ended(process)
    assert result.code == 130
    assert f"perdure jobs logs -f {job}" in result.err
    assert f"perdure jobs cancel {job}" in result.err
    assert live.world.operator.asked == []
    assert live.world.row(job).phase is Phase.PENDING


def test_a_terminal_is_asked_and_no_is_an_answer(live: Live, folder: Path) -> None:
    refused = on_terminal(live, "run", "--workdir", "none", "--", "true", answer="n")
    assert refused.code == 0
    assert "Submit this job? [Y/n]" in refused.out
    assert "nothing was submitted" in refused.out
    with live.client() as client:
        assert client.jobs.list().items == []
    assert "submitted true" in on_terminal(live, "run", "--workdir", "none", "--", "true", answer="y").out
    assert "Submit this job?" not in on_terminal(live, "run", "-y", "--workdir", "none", "--", "false").out


def test_apply_submits_once_and_then_finds_nothing_to_do(cli: Cli, folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB_YAML)
    assert "created digits" in cli("apply", "-f", "job.yaml").err
    assert "unchanged digits" in cli("apply", "-f", "job.yaml").err
    (folder / "job.yaml").write_text(JOB_YAML.replace("1h", "2h"))
    conflict = cli("apply", "-f", "job.yaml")
    assert conflict.code == 6
    assert "spec.timeout" in conflict.err


def test_a_fault_in_a_file_is_told_with_place_code_and_remedy(cli: Cli, folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB_YAML.replace("command:", "comand:"))
    for verb in ("apply", "validate", "render", "diff"):
        result = cli(verb, "-f", "job.yaml")
        assert result.code == 2
        assert result.out == ""
        assert "job.yaml:7:3" in result.err
        assert "command" in result.err


def test_a_file_is_checked_rendered_and_compared_without_a_submit(cli: Cli, folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB_YAML)
    before = rows(cli.live)
    assert json.loads(cli.ok("validate", "-f", "job.yaml", "--json"))["name"] == "digits"
    assert cli.ok("render", "-f", "job.yaml").startswith("apiVersion: perdure/v1\n")
    assert "there is no job of that name" in cli.ok("diff", "-f", "job.yaml")
    assert rows(cli.live) == before
    cli.ok("apply", "-f", "job.yaml")
    assert "no difference" in cli.ok("diff", "-f", "job.yaml")
    (folder / "train.py").write_text("print('changed')\n")
    assert "spec.workdir.snapshot" in cli.ok("diff", "-f", "job.yaml")
