"""Jobs that wait for others, on a real control plane: from the command line to the last one's end."""

import json
import re
from pathlib import Path
from typing import Any

from tests.support.audit import Auditor
from tests.support.polling import eventually
from tests.support.stack import Stack

PAGE = Path("docs/dependencies.md")
QUICK = {"retry": {"limit": 0}, "gracePeriod": "1s"}


def run(stack: Stack, folder: Path, name: str, *options: str, code: int = 0) -> str:
    """`perdure run` of a job that ends with a code; its id."""
    asked = ("run", "--name", name, *options, "-y", "--json", "id", "--", "sh", "-c", f"exit {code}")
    view: dict[str, str] = json.loads(stack.run(*asked, cwd=folder).stdout)
    return view["id"]


def ended(stack: Stack, job: str) -> tuple[Any, ...]:
    over = stack.until(job)
    return over["phase"], over["failure"], over["attempt"]


def test_the_jobs_of_the_page_run_in_their_order(stack: Stack, tmp_path: Path) -> None:
    commands = re.findall(r"^\$ (perdure run .*) -- python (\w+)\.py$", PAGE.read_text(), re.MULTILINE)
    assert [program for _, program in commands] == ["prepare", "clean_up", "train", "report"]
    for _, program in commands:
        failing = "; sys.exit(1)" if program == "clean_up" else ""
        (tmp_path / f"{program}.py").write_text(f"import sys, time; time.sleep(0.3){failing}")
    ids = {}
    for command, program in commands:
        asked = (*command.split()[1:], "--retries", "0", "-y", "--json", "id", "--", "python3", f"{program}.py")
        ids[program] = json.loads(stack.run(*asked, cwd=tmp_path).stdout)["id"]
    assert ended(stack, ids["train"]) == ("Succeeded", None, 1)
    train, others = stack.job(ids["train"]), [stack.job(ids[name]) for name in ("prepare", "clean_up")]
    assert [other["phase"] for other in others] == ["Succeeded", "Failed"]
    assert train["startedAt"] >= max(other["endedAt"] for other in others)
    assert ended(stack, ids["report"]) == ("Failed", "dependency", 0)


def test_a_chain_whose_first_job_fails_ends_as_a_whole_and_says_why(stack: Stack, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = ["sh", "-c", f"until test -e {gate}; do sleep 0.05; done; exit 3"]
    first = stack.submit({**QUICK, "command": command}, "head")
    second = run(stack, tmp_path, "middle", "--after", "head")
    third = run(stack, tmp_path, "tail", "--after", "middle:ok")
    eventually(lambda: stack.job(third)["reason"] == "waits for job middle to succeed")
    why = stack.run("jobs", "why", "middle").stdout
    assert "Pending: waits for job head to succeed" in why
    assert re.search(rf"job head \({first}\) has to succeed: (Starting|Running)", why)
    assert f"job head ({first}) has to succeed" in stack.run("jobs", "show", "middle").stdout
    gate.touch()
    assert ended(stack, first) == ("Failed", "user-error", 1)
    for job in (second, third):
        assert ended(stack, job) == ("Failed", "dependency", 0)
    why = stack.run("jobs", "why", "tail").stdout
    assert "job middle failed (dependency); this job was to begin when it had succeeded" in why
    assert "and it had not to" in why


def test_one_that_waits_is_suspended_resumed_cancelled_and_deleted_like_any_other(stack: Stack, tmp_path: Path) -> None:
    auditor = Auditor(tmp_path / "marks")
    first = stack.submit({**QUICK, "command": auditor.command("first", "--seconds", "600")}, "long")
    jobs = {
        name: stack.submit(
            {**QUICK, "command": auditor.command(name), "after": [{"job": first, "outcome": "finished"}]}
        )
        for name in ("goes-on", "cancelled")
    }
    for job in jobs.values():
        eventually(lambda job=job: stack.job(job)["reason"].startswith("waits"))  # type: ignore[misc]
    stack.ask("POST", f"/jobs/{jobs['goes-on']}:suspend", json={})
    stack.ask("POST", f"/jobs/{jobs['cancelled']}:cancel", json={})
    assert ended(stack, jobs["cancelled"]) == ("Cancelled", None, 0)
    assert stack.ask("DELETE", f"/jobs/{jobs['cancelled']}").status_code == 204
    stack.until(jobs["goes-on"], ("Suspended",))
    stack.ask("POST", f"/jobs/{first}:cancel", json={})
    assert ended(stack, first)[0] == "Cancelled"
    assert stack.ask("DELETE", f"/jobs/{first}").status_code == 204  # and purged within a second
    stack.ask("POST", f"/jobs/{jobs['goes-on']}:resume", json={})
    assert ended(stack, jobs["goes-on"]) == ("Succeeded", None, 1)
    assert auditor.marks("cancelled") == []


def test_an_array_waits_as_a_whole_and_is_waited_for_as_a_whole(stack: Stack) -> None:
    first = stack.submit({**QUICK, "command": ["true"]}, "before-it")
    command = ["sh", "-c", "exit $PERDURE_ARRAY_INDEX"]
    array = stack.submit(
        {**QUICK, "command": command, "array": {"last": 1}, "after": [{"job": "before-it"}]}, "one-fails"
    )
    outcomes = {"succeeded": ("Failed", "dependency", 0), "finished": ("Succeeded", None, 1)}
    jobs = {
        outcome: stack.submit({**QUICK, "command": ["true"], "after": [{"job": array, "outcome": outcome}]})
        for outcome in outcomes
    }
    over = stack.until(array)
    assert (over["phase"], over["failure"]) == ("Failed", "user-error"), over["reason"]
    assert over["startedAt"] >= stack.job(first)["endedAt"]
    assert {outcome: ended(stack, job) for outcome, job in jobs.items()} == outcomes
