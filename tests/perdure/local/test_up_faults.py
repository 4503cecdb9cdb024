"""The real stack under kills: every part comes back, nothing is left behind, and the next `up` works."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure.local.lock import is_held
from tests.support.polling import eventually
from tests.support.processes import seen, wait_until_gone
from tests.support.stack import PERDURE, Stack, running_stack

pytestmark = pytest.mark.faults


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with running_stack(tmp_path / "home") as running:
        yield running


def part(stack: Stack, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(entry for entry in stack.status()["processes"] if entry["name"] == name)
    return found


def recorded(stack: Stack) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((stack.home / "state.json").read_text())
    return record


def test_each_part_that_is_killed_serves_again_and_the_others_go_on(stack: Stack) -> None:
    for name in ("api", "worker", "temporal"):
        before = {entry["name"]: entry["pid"] for entry in stack.status()["processes"]}
        os.kill(before[name], signal.SIGKILL)

        def back(name: str = name, pid: int = before[name]) -> bool:
            now = part(stack, name)
            return bool(now["state"] == "ready" and now["pid"] != pid)

        eventually(back, 60, f"{name} is ready again")
        after = {entry["name"]: entry["pid"] for entry in stack.status()["processes"]}
        assert {other for other in before if before[other] != after[other]} == {name}
        assert part(stack, name)["restarts"] == 1
    assert stack.status()["phase"] == "ready"
    job = stack.submit({"command": ["true"]})
    assert stack.until(job)["phase"] == "Succeeded"


def test_a_killed_supervisor_takes_its_parts_along_and_the_next_up_works(stack: Stack) -> None:
    everything = stack.everything()
    os.kill(part(stack, "supervisor")["pid"], signal.SIGKILL)
    wait_until_gone(everything, 10)
    status = stack.run("status", "--json", check=False)
    assert (status.returncode, json.loads(status.stdout)["running"]) == (3, False)
    stack.up()
    assert stack.status()["phase"] == "ready"


def test_down_ends_every_process_with_zero_and_frees_the_lock(stack: Stack) -> None:
    everything = stack.everything()
    assert len(everything) >= 4
    stack.down()
    assert not [process for process in everything if process.alive()]
    assert stack.everything() == []
    assert not is_held(stack.home / "lock")
    assert {entry["name"]: entry["exit"] for entry in recorded(stack)["processes"]} == {
        "api": 0,
        "worker": 0,
        "temporal": 0,
    }
    assert "nothing was running" in stack.run("down").stderr


def test_in_the_foreground_an_interrupt_stops_all_and_ends_with_zero(tmp_path: Path) -> None:
    stack = Stack(tmp_path / "home")
    with subprocess.Popen(
        [PERDURE, "up", "--json"], env=stack.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as up:
        assert up.stdout is not None
        status = json.loads(up.stdout.readline())
        assert status["phase"] == "ready"
        everything = [seen(entry["pid"]) for entry in status["processes"]]
        assert up.pid in [process.pid for process in everything]
        up.send_signal(signal.SIGINT)
        _, told = up.communicate(timeout=60)
    assert up.returncode == 0, told
    assert "ready at http://127.0.0.1:" in told
    assert not [process for process in everything if process.alive()]


def test_a_home_survives_ups_that_are_killed_at_any_moment(tmp_path: Path) -> None:
    stack = Stack(tmp_path / "home")
    for hundredths in (40, 90, 130, 170, 210, 260, 320, 400):
        with subprocess.Popen([PERDURE, "up"], env=stack.environment, stderr=subprocess.PIPE, text=True) as up:
            with pytest.raises(subprocess.TimeoutExpired):
                up.wait(hundredths / 100)
            up.kill()
    stack.up()
    job = stack.submit({"command": ["true"]})
    assert stack.until(job)["phase"] == "Succeeded"
    stack.down()
    stack.gone()


@pytest.mark.parametrize("ending", ["down", "kill"])
def test_a_running_job_outlives_the_control_plane_and_the_same_attempt_is_taken_over(
    stack: Stack, tmp_path: Path, ending: str
) -> None:
    gate = tmp_path / "gate"
    job = stack.submit({"command": ["sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.1; done"]})
    stack.until(job, ("Running",))
    (attempt,) = stack.items(job, "attempts")
    if ending == "down":
        stack.down()
    else:
        control_plane = [seen(entry["pid"]) for entry in stack.status()["processes"]]
        control_plane[0].kill()
        wait_until_gone(control_plane, 10)
    stack.up()
    gate.touch()
    assert stack.until(job)["phase"] == "Succeeded"
    assert [later["token"] for later in stack.items(job, "attempts")] == [attempt["token"]]
