"""SIGKILL at every effect boundary, on both sides of the call: one process set, the same end, nothing left behind.

The control plane is a real one. A test arms a hook, plays a scene that comes to it, and asks the auditor, which reads
the jobs' own marks and /proc.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.audit import Auditor
from tests.support.effects import hooks
from tests.support.polling import eventually
from tests.support.stack import Stack, running_stack, wait_for

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

QUICK = {"retry": {"limit": 3, "backoff": {"initial": "1s"}}, "gracePeriod": "2s"}
TIMING = {"PERDURE_HEARTBEAT": "3s", "PERDURE_SAFETY_POLL": "2s"}
Scene = Callable[[Stack, Auditor, str, Path], None]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("stack") / "home", **TIMING) as running:
        yield running
        running.down()
        running.gone()


@pytest.fixture(scope="module")
def auditor(tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    return Auditor(tmp_path_factory.mktemp("marks"))


def plain(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """A job of two ranks that runs and succeeds."""
    job = submit(stack, auditor, name, nodes=2, options=("--seconds", "0.5"))
    over = stack.until(job, seconds=120)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]
    assert auditor.finished(name, ranks=2)


def cancelled(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    job = submit(stack, auditor, name, options=("--seconds", "600", "--daemon"))
    until_marked(auditor, name)
    stack.ask("POST", f"/jobs/{job}:cancel", json={"reason": "test"})
    over = stack.until(job, seconds=120)
    assert over["phase"] == "Cancelled", over["reason"]
    assert auditor.attempts(name) == [1]


def suspended(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """Suspended, and cancelled while it is: what is recorded without an attempt."""
    job = submit(stack, auditor, name, options=("--seconds", "600"))
    until_marked(auditor, name)
    stack.ask("POST", f"/jobs/{job}:suspend", json={})
    stack.until(job, ("Suspended",), seconds=180)
    stack.ask("POST", f"/jobs/{job}:cancel", json={})
    assert stack.until(job, seconds=120)["phase"] == "Cancelled"


def checkpointed(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    job = submit(stack, auditor, name, options=("--seconds", "4"))
    until_marked(auditor, name)
    stack.until(job, ("Running",))
    response = stack.ask("POST", f"/jobs/{job}:checkpoint", json={})
    assert response.status_code < 300, response.text
    over = stack.until(job, seconds=120)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]


def pruned(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """Saves six checkpoints, of which three are kept, so shortly before its end that nobody sees them any earlier."""
    job = submit(stack, auditor, name, options=("--seconds", "0.2", "--save-at-end", "6"))
    over = stack.until(job, seconds=120)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]
    kept = [entry["step"] for entry in stack.items(job, "checkpoints")]
    assert sorted(kept) == [4, 5, 6]


def pruned_while_running(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    job = submit(stack, auditor, name, options=("--seconds", "5", "--save", "6"))
    eventually(lambda: sorted(c["step"] for c in stack.items(job, "checkpoints")) == [4, 5, 6], 60)
    wait_for(fired)
    assert stack.until(job, seconds=120)["phase"] == "Succeeded"


def polled(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """A job that runs for longer than the first safety poll."""
    job = submit(stack, auditor, name, options=("--seconds", "6"))
    over = stack.until(job, seconds=120)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]


SCENES: dict[str, Scene] = {
    "start-workflow": plain,
    "acknowledge-start": plain,
    "record-starting": plain,
    "launch": plain,
    "record-running": plain,
    "record-collecting": plain,
    "collect": plain,
    "record-collected": plain,
    "heartbeat": plain,
    "prune": pruned,
    "record-pruned": pruned,
    "prune-running": pruned_while_running,
    "record-pruned-running": pruned_while_running,
    "stop": cancelled,
    "control": checkpointed,
    "record": suspended,
    "poll": polled,
}


@pytest.mark.parametrize("hook", hooks())
def test_a_worker_that_dies_at(hook: Any, stack: Any, auditor: Any) -> None:
    scene = SCENES[hook.split(":")[0]]
    name = hook.replace(":", "-")
    fired = stack.arm(hook)
    scene(stack, auditor, name, fired)
    assert fired.exists(), f"the scene {scene.__name__} never came to {hook}"
    assert auditor.doubles(name) == []
    eventually(lambda: not auditor.orphans([name]), 10, f"no process left of {name}")


def test_every_hook_has_a_scene() -> None:
    assert {hook.split(":")[0] for hook in hooks()} == set(SCENES)


def submit(stack: Stack, auditor: Auditor, name: str, *, nodes: int = 1, options: tuple[str, ...] = ()) -> str:
    return stack.submit({**QUICK, "nodes": nodes, "command": auditor.command(name, *options)}, name=name)


def until_marked(auditor: Auditor, name: str) -> None:
    eventually(lambda: any(mark.what == "start" for mark in auditor.marks(name)), 60, f"{name} started")
