"""How jobs end on a real control plane: exit codes never lie, and the cause is named."""

import os
import signal
import sys
import time
from typing import Any

import pytest

from tests.support.audit import shims
from tests.support.polling import eventually

FAST = {"retry": {"limit": 1, "backoff": {"initial": "200ms"}}, "gracePeriod": "2s"}
EXITS_WITH_3 = [sys.executable, "-c", "import sys; print('about to fail'); sys.exit(3)"]
KILLS_ITSELF = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
ONE_OF_EIGHT = """
import os, sys, time
if os.environ["PERDURE_RANK"] == "5":
    print("rank five gives up", flush=True)
    sys.exit(7)
time.sleep(120)
"""


@pytest.mark.parametrize(
    ("spec", "phase", "failure", "exit_code", "words"),
    [
        ({"command": ["true"]}, "Succeeded", None, 0, "ended with 0"),
        ({"command": EXITS_WITH_3}, "Failed", "user-error", 3, "exit code 3"),
        ({"shell": "false; true"}, "Succeeded", None, 0, "ended with 0"),
        ({"shell": "true; false"}, "Failed", "user-error", 1, "exit code 1"),
        ({"shell": "exit 137"}, "Failed", "signal", 137, "as shells report SIGKILL"),
        ({"command": ["no-such-program"]}, "Failed", "command-not-found", 127, "not found"),
        ({"command": ["/etc/hostname"]}, "Failed", "command-not-found", 126, "not executable"),
        ({"command": KILLS_ITSELF}, "Failed", "signal", None, "SIGKILL"),
        ({"command": ["sleep", "60"], "timeout": "1s"}, "Failed", "timeout", None, "time limit"),
        (
            {"command": ["sleep", "60"], "progress": {"hangAfter": "1s"}, "retry": {"limit": 0}},
            "Failed",
            "hang",
            None,
            "no progress",
        ),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else None,
)
def test_the_end_is_told_as_it_was(spec: Any, phase: Any, failure: Any, exit_code: Any, words: Any, stack: Any) -> None:
    over = stack.until(stack.submit({**FAST, **spec}))
    assert (over["phase"], over["failure"], over["exitCode"]) == (phase, failure, exit_code), over["reason"]
    assert words in over["reason"]


def test_one_of_eight_ranks_failing_ends_the_gang_and_is_named_with_its_last_lines(stack: Any) -> None:
    started = time.monotonic()
    job = stack.submit({**FAST, "nodes": 8, "command": [sys.executable, "-c", ONE_OF_EIGHT]})
    over = stack.until(job)
    assert time.monotonic() - started < 30
    assert over["phase"] == "Failed"
    assert "rank 5 of 8" in over["reason"]
    assert "exit code 7" in over["reason"]
    why = stack.ask("GET", f"/jobs/{job}/why").json()
    assert why["firstRank"] == 5
    assert "rank five gives up" in why["lastLines"]
    assert why["help"]
    (attempt,) = stack.items(job, "attempts")
    assert attempt["firstRank"] == 5


def test_a_killed_rank_is_retried_from_its_last_verified_checkpoint(stack: Any, auditor: Any) -> None:
    name = "killed-once"
    job = stack.submit({**FAST, "command": auditor.command(name, "--seconds", "5", "--save", "2")}, name=name)
    (mark,) = eventually(lambda: [m for m in auditor.marks(name) if m.what == "start"], 30)
    eventually(
        lambda: [c["step"] for c in stack.items(job, "checkpoints")] == [1, 2], 30, "checkpoints are listed live"
    )
    os.kill(mark.pid, signal.SIGKILL)
    over = stack.until(job)
    assert over["phase"] == "Succeeded"
    first, second = stack.items(job, "attempts")
    assert (first["failure"], second["fromStep"]) == ("signal", 2)
    assert auditor.attempts(name) == [1, 2]
    assert auditor.doubles(name) == []


def test_cancel_ends_every_descendant_and_says_who_asked(stack: Any, auditor: Any) -> None:
    name = "cancelled"
    job = stack.submit({**FAST, "command": auditor.command(name, "--seconds", "600", "--daemon")}, name=name)
    eventually(lambda: [m for m in auditor.marks(name) if m.what == "child"], 30)
    response = stack.ask("POST", f"/jobs/{job}:cancel", json={"reason": "wrong data"})
    assert response.status_code < 300, response.text
    over = stack.until(job)
    assert over["phase"] == "Cancelled"
    assert auditor.orphans([name]) == []
    events = stack.items(job, "events")
    assert any("wrong data" in event["reason"] and event["actor"] == "local-admin" for event in events)


def test_suspend_keeps_the_step_and_resume_goes_on_from_it(stack: Any, auditor: Any) -> None:
    name = "suspended"
    spec = {**FAST, "command": auditor.command(name, "--seconds", "600", "--save", "3")}
    job = stack.submit(spec, name=name)
    eventually(lambda: stack.items(job, "checkpoints"), 30)
    stack.ask("POST", f"/jobs/{job}:suspend", json={})
    view = stack.until(job, ("Suspended",), seconds=180)
    assert view["checkpointStep"] == 4  # saved because it was asked to, before it was stopped
    assert auditor.orphans([name]) == []
    stack.ask("POST", f"/jobs/{job}:resume", json={})
    eventually(lambda: auditor.attempts(name) == [1, 2], 30, "resumed")
    stack.ask("POST", f"/jobs/{job}:cancel", json={})
    assert stack.until(job)["phase"] == "Cancelled"
    assert stack.items(job, "attempts")[1]["fromStep"] == 4


def test_a_service_restarts_in_place_becomes_ready_and_ends_only_when_cancelled(stack: Any, folder: Any) -> None:
    crash_once = f"""
import os, pathlib, sys, time
flag = pathlib.Path({str(folder)!r}, "crashed")
if not flag.exists():
    flag.touch()
    sys.exit(1)
pathlib.Path(os.environ["PERDURE_RUN_DIR"], "ready").touch()
time.sleep(600)
"""
    service = {"readiness": {"file": "ready", "period": "200ms"}, "restart": {"initial": "100ms"}}
    job = stack.submit({"mode": "service", "service": service, "command": [sys.executable, "-c", crash_once]})
    eventually(lambda: (folder / "crashed").exists(), 30)
    stack.until(job, ("Running",))
    stack.ask("POST", f"/jobs/{job}:cancel", json={})
    over = stack.until(job)
    assert (over["phase"], over["attempt"]) == ("Cancelled", 1)
    (attempt,) = stack.items(job, "attempts")
    assert attempt["ranks"][0]["restarts"] == 1
    eventually(lambda: not shims(stack.home), 10)


def test_the_last_step_that_a_job_reported_stays_with_it(stack: Any) -> None:
    code = "from perdure import job\nfor step in range(1, 51): job.progress(step, total=50, loss=1 / step)"
    over = stack.until(stack.submit({**FAST, "command": [sys.executable, "-c", code]}))
    assert over["phase"] == "Succeeded"
    assert over["step"] == 50
    assert over["progress"]["metrics"] == {"loss": 0.02}
