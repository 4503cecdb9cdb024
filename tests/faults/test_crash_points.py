"""SIGKILL at every effect boundary, on both sides of the call: one process set, the same end, nothing left behind.

The control plane is a real one. A test arms a hook, plays a scene that comes to it, and asks the auditor, which reads
the jobs' own marks and /proc.
"""

import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.audit import Auditor
from tests.support.effects import hooks
from tests.support.polling import eventually
from tests.support.stack import FINAL, Stack, base_environment, running_stack, wait_for

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

QUICK = {"retry": {"limit": 3, "backoff": {"initial": "1s"}}, "gracePeriod": "2s"}
TIMING = {"PERDURE_HEARTBEAT": "3s", "PERDURE_SAFETY_POLL": "2s"}
MUCH = 1024**3  # bytes
TAKES = 5  # who prunes, the end of the attempt or the look at running jobs, is a matter of moments
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


def kept(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """Leaves so much that keeping it takes longer than the first heartbeat."""
    job = submit(stack, auditor, name, options=("--leave", str(MUCH)))
    over = stack.until(job, seconds=120)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]
    assert [entry["bytes"] for entry in stack.items(job, "artifacts")] == [MUCH]


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


def scheduled(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """A schedule that fires every few seconds, until one of its jobs has run and the worker has died."""
    schedule(stack, auditor, name, "skip", "--seconds", "0.5")
    eventually(lambda: fired.exists() and runs(stack, name, "Succeeded"), 120, f"a run of {name}")
    stack.ask("DELETE", f"/schedules/{name}")
    eventually(lambda: not [run for run in runs(stack, name) if run["phase"] not in FINAL], 60, f"end of {name}")
    assert {run["phase"] for run in runs(stack, name)} == {"Succeeded"}


def replaced(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """A schedule whose next run ends the one before."""
    schedule(stack, auditor, name, "cancelOther", "--seconds", "600")
    eventually(lambda: fired.exists() and runs(stack, name, "Cancelled"), 120, f"a run of {name} ended for the next")
    stack.ask("DELETE", f"/schedules/{name}")

    def none_left() -> bool:
        for run in [run for run in runs(stack, name) if run["phase"] not in FINAL]:
            stack.ask("POST", f"/jobs/{run['id']}:cancel", json={})
        return all(run["phase"] in FINAL for run in runs(stack, name))

    eventually(none_left, 120, f"end of {name}")
    assert {run["phase"] for run in runs(stack, name)} == {"Cancelled"}


def visited(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """A session is lost with the worker, the job is not, and the next session opens."""
    job = submit(stack, auditor, name, options=("--seconds", "600"))
    until_marked(auditor, name)
    stack.until(job, ("Running",))
    visit = ("jobs", "exec", name, "--", "sh", "-c", "exit 9")
    stack.run(*visit, check=False)
    wait_for(fired)
    eventually(lambda: stack.run(*visit, check=False).returncode == 9, 60, "another session opens")
    assert stack.job(job)["attempt"] == 1
    stack.ask("POST", f"/jobs/{job}:cancel", json={})
    assert stack.until(job, seconds=120)["phase"] == "Cancelled"


def queued(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """A job that waits for its place in a queue, gets it and gives it back. The queue is there for this scene alone."""
    document = {"apiVersion": "perdure/v1", "kind": "Queue", "metadata": {"name": "line"}, "spec": {}}
    applied = stack.ask("POST", "/scheduling-documents:apply", json={"documents": [document]})
    assert applied.status_code == 200, applied.text
    command = auditor.command(name, "--seconds", "0.5")
    job = stack.submit({**QUICK, "nodes": 2, "queue": "line", "command": command}, name=name)
    over = stack.until(job, seconds=120)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]
    assert auditor.finished(name, ranks=2)
    assert stack.ask("DELETE", "/queues/line").status_code < 300


def followed(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """Two jobs wait for a third, which fails after the first safety poll: one begins then, once, and the other never.

    The worker also dies between the end of the third and the word of it.
    """
    first = submit(stack, auditor, name, options=("--seconds", "3", "--exit", "3"))
    command = auditor.command(f"{name}-then", "--seconds", "0.5")
    then = stack.submit({**QUICK, "command": command, "after": [{"job": first, "outcome": "failed"}]})
    never = stack.submit({**QUICK, "command": ["false"], "after": [{"job": first}]})
    assert stack.until(first, seconds=120)["failure"] == "user-error"
    over = stack.until(then, seconds=120)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]
    assert auditor.finished(f"{name}-then", ranks=1)
    assert auditor.doubles(f"{name}-then") == []
    refused = stack.until(never, seconds=120)
    assert (refused["phase"], refused["failure"], refused["attempt"]) == ("Failed", "dependency", 0), refused["reason"]


def reserved(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """A job runs in a window that has begun, and the window is given up. All of it is there for this scene alone."""
    start = datetime.now(UTC) - timedelta(minutes=1)
    spec = {"queue": "line", "capacity": {"nodes": 1}, "length": "1h", "timeZone": "Etc/UTC", "grace": "2s"}
    documents = [
        {"apiVersion": "perdure/v1", "kind": "Queue", "metadata": {"name": "line"}, "spec": {}},
        {
            "apiVersion": "perdure/v1",
            "kind": "Reservation",
            "metadata": {"name": name},
            "spec": {**spec, "start": f"{start:%Y-%m-%dT%H:%M}"},
        },
    ]
    applied = stack.ask("POST", "/scheduling-documents:apply", json={"documents": documents})
    assert applied.status_code == 200, applied.text
    command = auditor.command(name, "--seconds", "0.5")
    job = stack.submit({**QUICK, "queue": "line", "reservation": name, "command": command}, name=name)
    over = stack.until(job, seconds=120)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]
    assert stack.ask("POST", f"/reservations/{name}:cancel").status_code in (200, 202)

    def given_up() -> bool:
        (window,) = stack.ask("GET", f"/reservations/{name}/windows").json()["items"]
        return bool(window["phase"] == "ended" and window["cancelledAt"])

    eventually(given_up, 60, f"the window of {name} given up")
    for path in (f"/reservations/{name}", "/queues/line"):
        assert stack.ask("DELETE", path).status_code < 300


def swept(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """An array of four jobs, two at a time."""
    array = sweep(stack, auditor, name, "--seconds", "0.3")
    over = stack.until(array, seconds=120)
    assert (over["phase"], over["array"]["jobs"]) == ("Succeeded", {"Succeeded": 4}), over["reason"]
    for index in range(4):
        assert auditor.finished(f"{name}-{index}")
        assert auditor.doubles(f"{name}-{index}") == []


def swept_away(stack: Stack, auditor: Auditor, name: str, fired: Path) -> None:
    """An array that is cancelled while two of its four jobs run."""
    array = sweep(stack, auditor, name, "--seconds", "600")
    until_marked(auditor, f"{name}-0")
    until_marked(auditor, f"{name}-1")
    stack.ask("POST", f"/jobs/{array}:cancel", json={})
    over = stack.until(array, seconds=120)
    assert (over["phase"], over["array"]["jobs"]) == ("Cancelled", {"Cancelled": 2}), over["reason"]
    assert auditor.orphans([f"{name}-0", f"{name}-1"]) == []


SCENES: dict[str, Scene] = {
    "make-jobs": swept,
    "record-array": swept,
    "pass-on": swept_away,
    "dial-back": visited,
    "open-session": visited,
    "start-workflow": plain,
    "acknowledge-start": plain,
    "record-starting": plain,
    "launch": plain,
    "record-running": plain,
    "record-collecting": plain,
    "collect": plain,
    "record-collected": followed,
    "tell-end": followed,
    "acknowledge-end": followed,
    "look": followed,
    "heartbeat": kept,
    "prune": pruned,
    "record-pruned": pruned,
    "prune-running": pruned_while_running,
    "record-pruned-running": pruned_while_running,
    "record-stopping": cancelled,
    "stop": cancelled,
    "record-control": checkpointed,
    "control": checkpointed,
    "record": suspended,
    "poll": polled,
    "tell-schedule": scheduled,
    "submit-run": scheduled,
    "check-run": scheduled,
    "end-run": replaced,
    "wake-pool": queued,
    "schedule-take": queued,
    "schedule-read": queued,
    "schedule-commit": queued,
    "schedule-notify": queued,
    "schedule-delivered": queued,
    "wake-reservation": reserved,
    "reservation-keep": reserved,
    "reservation-change": reserved,
}


@pytest.mark.parametrize("hook", hooks())
def test_a_worker_that_dies_at(hook: str, stack: Stack, auditor: Auditor) -> None:
    scene = SCENES[hook.split(":")[0]]
    fired = stack.arm(hook)
    for take in range(TAKES):
        name = f"{hook.replace(':', '-')}-{take}"
        scene(stack, auditor, name, fired)
        assert auditor.doubles(name) == []
        eventually(lambda name=name: not auditor.orphans([name]), 10, f"no process left of {name}")  # type: ignore[misc]
        if fired.exists():
            return
    pytest.fail(f"{TAKES} takes of the scene {scene.__name__} never came to {hook}")


def test_every_hook_has_a_scene() -> None:
    assert {hook.split(":")[0] for hook in hooks()} == set(SCENES)


def submit(stack: Stack, auditor: Auditor, name: str, *, nodes: int = 1, options: tuple[str, ...] = ()) -> str:
    return stack.submit({**QUICK, "nodes": nodes, "command": auditor.command(name, *options)}, name=name)


def sweep(stack: Stack, auditor: Auditor, name: str, *options: str) -> str:
    """Each job of the array leaves marks of its own."""
    marked = shlex.join(auditor.command(name)) + "-$PERDURE_ARRAY_INDEX"
    shell = f"exec {marked} {shlex.join(options)}"
    return stack.submit({**QUICK, "shell": shell, "array": {"last": 3, "limit": 2}}, name=name)


def schedule(stack: Stack, auditor: Auditor, name: str, overlap: str, *options: str) -> None:
    """Fires every five seconds."""
    job = {
        "apiVersion": "perdure/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {**QUICK, "workdir": {"mode": "none"}, "command": auditor.command(name, *options)},
    }
    spec = {"calendars": [{"second": "*/5", "minute": "*", "hour": "*"}], "overlap": overlap, "job": job}
    document = {"apiVersion": "perdure/v1", "kind": "Schedule", "metadata": {"name": name}, "spec": spec}
    response = stack.ask("POST", "/schedules", json={"document": document, "submission": base_environment()})
    assert response.status_code == 201, response.text


def runs(stack: Stack, name: str, phase: str = "") -> list[dict[str, Any]]:
    wanted = f"&phase={phase}" if phase else ""
    found: list[dict[str, Any]] = stack.ask("GET", f"/jobs?limit=500&schedule={name}{wanted}").json()["items"]
    return found


def until_marked(auditor: Auditor, name: str) -> None:
    eventually(lambda: any(mark.what == "start" for mark in auditor.marks(name)), 60, f"{name} started")
