"""Every example of every `--help` is carried out as it is written, by a shell, in a world in which it can work."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from definitions.states import Phase
from perdure.cli.main import app
from store.verdicts import Told, Verdict
from tests.api.world import cluster_document, schedule_document, template_document
from tests.perdure.cli.filling import EVENING, add_array, add_cluster, add_reservation, add_scheduling, fill
from tests.perdure.live import JOB_YAML, Live, live_api
from tests.support.stack import Stack, stack_logs
from tests.support.waiting_world import decide

BIN = Path(sys.executable).parent
TRACE_CSV = """\
id,submitted,queue,priority,nodes,gpus,gpuModel,cpus,memory,seconds,limit
train-1,0,research,0,2,8,,,,3600,
train-2,60,research,0,1,8,,,,1800,
notebook,120,teaching,10,1,0.5,,4,16Gi,600,1200
"""
KUBERNETES_YAML = """\
apiVersion: batch/v1
kind: Job
metadata: {name: training}
spec: {template: {spec: {containers: [{name: main, image: train, command: [python, train.py]}]}}}
"""
STACK = ("up", "down", "status", "doctor")  # they are about a control plane of this machine, and have one below
SERVING = ("perdure serve",)  # tests/perdure/local/test_serve.py
VISITING = ("perdure jobs exec", "perdure jobs port-forward")  # tests/integration/test_sessions.py
WORKER = "perdure clusters worker "  # it lasts, and needs a cluster: tests/integration has one
CREATING = "perdure secrets create "  # the one kind that must not be there yet
SCHEDULING = {"queues", "flavors", "priority-classes", "topologies", "pools", "queue"}
PHASES = {  # of the job that is asked for something; else it has ended
    **dict.fromkeys(("cancel", "suspend", "extend", "reprioritise", "resize", "checkpoint"), Phase.RUNNING),
    "resume": Phase.SUSPENDED,
}


def helps() -> dict[str, str]:
    """The help text of the program, of each noun and of each command, by their words behind `perdure`."""
    return dict(walk("", typer.main.get_command(app)))


def walk(path: str, command: Any) -> Iterator[tuple[str, str]]:
    yield path, command.get_help(typer.Context(command, info_name=f"perdure {path}".strip()))
    for name, member in getattr(command, "commands", {}).items():
        yield from walk(f"{path} {name}".strip(), member)


def examples(text: str) -> list[str]:
    """The lines below `Example:` in a help text, up to the first empty one."""
    _, _, below = text.partition("  Example:\n")
    return [line.strip() for line in below.partition("\n\n")[0].splitlines()]


HELPS = helps()
EVERY = list(dict.fromkeys(example for text in HELPS.values() for example in examples(text)))


@pytest.mark.parametrize("path", HELPS)
def test_each_help_has_an_example_of_its_own_command(path: str) -> None:
    found = examples(HELPS[path])
    assert found
    for example in found:
        assert f"perdure {path}".strip() in example


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[Live, Path]]:
    """An API with a job, a template, a secret and a schedule of the names in the examples; a folder with the files."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "train.py").write_text("print('hello')\n")
    (folder / "token.txt").write_text("t0ken-value\n")
    (folder / "job.yaml").write_text(JOB_YAML)
    (folder / "jobs.csv").write_text(TRACE_CSV)
    (folder / "training.yaml").write_text(KUBERNETES_YAML)
    (folder / "finetune.yaml").write_text(yaml.safe_dump(template_document()))
    (folder / "nightly.yaml").write_text(yaml.safe_dump(schedule_document()))
    (folder / "evening.yaml").write_text(yaml.safe_dump(EVENING))
    (folder / "north.yaml").write_text(yaml.safe_dump(cluster_document("north-1")))
    with live_api(tmp_path) as live:
        yield live, folder


def prepare(live: Live, example: str) -> None:
    """Put there what the example speaks of, as it must be for it."""
    job = fill(live)
    live.world.checkpoint(job, 1200)
    there = add_cluster(live)
    if "clusters remove" in example or "--template" in example:
        live.world.end(there)  # the cluster is free, and so is the name
    _, noun, verb, *_ = [*example.split(), ""]
    phase = PHASES.get(verb, Phase.SUCCEEDED) if noun == "jobs" else Phase.SUCCEEDED
    live.world.change(job, phase=phase, failure=None)
    if noun == "reservations":
        add_reservation(live, stored=verb != "create")
    elif noun in SCHEDULING or "--queue" in example:
        add_scheduling(live)
    if verb == "children":
        add_array(live)
    if noun == "decisions":
        decide(live.world.engine, Verdict(digest="d1", told=(Told("gone", 1, 1, None, "it ended"),)), datetime.now(UTC))
    if CREATING in example:
        with live.client() as client:
            client.secrets.delete("hub-token")


@contextmanager
def engine(live: Live) -> Iterator[None]:
    """Carries out each job at once and with success, as far as the API can tell."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.05):
            with live.client() as client:
                for job in client.jobs.list().items:
                    if job.phase.value == Phase.PENDING:
                        live.world.attempt(job.id, 1, ended=True)
                        live.world.end(job.id)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)


def carried_out(example: str, folder: Path, environment: dict[str, str]) -> str:
    """Standard output of an example, which must end with 0 and have said no error."""
    script = f"set -euo pipefail\n{example}"
    shell = ["bash", "--noprofile", "--norc", "-c", script]
    done = subprocess.run(
        shell, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{example}\n{done.stdout}\n{done.stderr}"
    assert "error PD-" not in done.stderr, done.stderr
    return done.stdout


def has_a_test_of_its_own(example: str) -> bool:
    return example.split()[1] in STACK or example.startswith((WORKER, *SERVING, *VISITING))


@pytest.mark.parametrize("example", [example for example in EVERY if not has_a_test_of_its_own(example)])
def test_an_example_works_as_it_is_written(world: tuple[Live, Path], example: str) -> None:
    live, folder = world
    prepare(live, example)
    environment = {**live.environment, "PATH": f"{BIN}:{os.environ['PATH']}", "TOKEN": "s3cr3t-value"}
    stays = {"--wait", "--follow"} & set(example.split())
    with engine(live) if stays else nullcontext():
        carried_out(example, folder, environment)


def test_examples_of_the_control_plane_work_in_their_order(tmp_path: Path) -> None:
    """`up` as often as it has examples, each with a `down` behind it; `status` and `doctor` while it runs."""
    stack = Stack(tmp_path / "home")
    environment = {**stack.environment, "PATH": f"{BIN}:{os.environ['PATH']}"}
    told = {command: examples(HELPS[command]) for command in STACK}
    try:
        for up in told["up"]:
            assert "127.0.0.1" in carried_out(up, tmp_path, environment)
            for status in told["status"]:
                assert "ready" in carried_out(status, tmp_path, environment)
            for doctor in told["doctor"]:
                assert "ok" in carried_out(doctor, tmp_path, environment)
            for down in told["down"]:
                carried_out(down, tmp_path, environment)
    except BaseException:
        print(stack_logs(stack), file=sys.stderr)
        raise
    finally:
        stack.run("down", check=False)
    assert {example for example in EVERY if example.split()[1] in STACK} == {*chain(*told.values())}
