"""Arrays on a real control plane: from the command line to the end of the last job."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.audit import Auditor
from tests.support.polling import eventually
from tests.support.stack import Stack, running_stack

PAGE = Path("docs/arrays.md")
QUICK = {"retry": {"limit": 0}, "gracePeriod": "1s"}
TRAINER = """
import sys, time
from pathlib import Path
from perdure import job
seen = job.resume()
step = seen.step if seen else 0
while not Path(sys.argv[1]).exists():
    time.sleep(0.02)
    step += 1
    job.progress(step)
    if job.should_checkpoint(step):
        with job.checkpoint(step) as folder:
            (folder / "weights").write_text(str(step))
"""


def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


DOCUMENTS = [
    document("Queue", "research", quotas={"gpus": {"limit": 4}}),
    document("ResourceFlavor", "h100", gpuType="H100", gpuMemory="80Gi"),
    document("NodePool", "one", simulated={"count": 1, "cpus": 8, "memory": "64Gi", "gpus": 2, "flavor": "h100"}),
]


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("queued") / "home", PERDURE_SWEEP="1s") as running:
        applied = running.ask("POST", "/scheduling-documents:apply", json={"documents": DOCUMENTS})
        assert applied.status_code == 200, applied.text
        yield running


def children(stack: Stack, array: str) -> dict[int, dict[str, Any]]:
    return {entry["arrayIndex"]: entry for entry in stack.items(array, "children")}


def counts(stack: Stack, array: str) -> dict[str, int]:
    found: dict[str, int] = stack.job(array)["array"]["jobs"]
    return found


def sweep(stack: Stack, gate: Path, name: str, *, last: int = 5, limit: int = 2, **spec: Any) -> str:
    """Jobs that train until the gate is there, and save when they are asked to."""
    command = [sys.executable, "-c", TRAINER, str(gate)]
    return stack.submit({**QUICK, "command": command, "array": {"last": last, "limit": limit}, **spec}, name)


def running(stack: Stack, array: str, count: int) -> None:
    """Wait until so many jobs of the array train."""
    eventually(lambda: counts(stack, array).get("Running") == count, 150, f"{count} jobs of {array} run")
    alive = [job for job in children(stack, array).values() if job["phase"] == "Running"]
    eventually(lambda: all(stack.job(job["id"])["step"] for job in alive), 60, "each has taken a step")


def test_the_example_of_the_page_runs_as_the_page_says(stack: Stack, tmp_path: Path) -> None:
    text = PAGE.read_text()
    commands = re.findall(r"^\$ perdure (.*)$", text, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["run", "jobs", "jobs", "jobs"]
    submit, show, failed, why = [shlex.split(command) for command in commands]
    at = submit.index("--")
    done = stack.run(*submit[:at], "--retries", "0", "-y", "--workdir", "none", *submit[at:], cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert re.search(r"ends as `Failed`: \*(.*)\*", text)[1] == "1 of 20 failed: 7"  # type: ignore[index]
    shown = stack.run(*show).stdout
    assert "1 of 20 failed: 7" in shown
    assert "0-19, 20 jobs, at most 4 at once" in shown
    rows = stack.run(*failed).stdout.splitlines()[1:]
    assert [row.split("\t")[0] for row in rows] == ["sweep-7"]
    assert "user-error" in stack.run(*why).stdout
    listed = [entry["name"] for entry in stack.ask("GET", "/jobs?limit=500").json()["items"]]
    assert "sweep" in listed
    assert not [name for name in listed if name.startswith("sweep-")]


def test_every_index_runs_once_knowing_its_place_and_never_more_than_the_limit(stack: Stack, tmp_path: Path) -> None:
    auditor = Auditor(tmp_path / "marks")
    marked = shlex.join(auditor.command("job")) + '-"$PERDURE_ARRAY_INDEX"'
    told = "$PERDURE_ARRAY_INDEX $PERDURE_ARRAY_FIRST $PERDURE_ARRAY_LAST $PERDURE_ARRAY_STEP $PERDURE_ARRAY_COUNT"
    out = shlex.quote(str(tmp_path / "told"))
    shell = f'echo "{told}" >> {out}; exec {marked} --seconds 0.2'
    array = stack.submit({**QUICK, "shell": shell, "array": {"first": 3, "last": 14, "step": 3, "limit": 2}})
    assert stack.until(array)["reason"] == "all 4 jobs succeeded"
    lines = sorted((tmp_path / "told").read_text().split("\n")[:-1])
    assert lines == sorted(f"{index} 3 12 3 4" for index in (3, 6, 9, 12))
    assert [auditor.attempts(f"job-{index}") for index in (3, 6, 9, 12)] == [[1]] * 4
    seen = children(stack, array)
    spans = [(job["startedAt"], job["endedAt"]) for job in seen.values()]
    for begun, _ in spans:
        assert sum(start <= begun < end for start, end in spans) <= 2


def test_an_array_that_is_cancelled_ends_its_jobs_and_makes_no_more(stack: Stack, tmp_path: Path) -> None:
    array = sweep(stack, tmp_path / "never", "cancelled")
    running(stack, array, 2)
    assert stack.ask("POST", f"/jobs/{array}:cancel", json={"reason": "wrong data"}).status_code == 200
    over = stack.until(array)
    assert (over["phase"], over["array"]["jobs"]) == ("Cancelled", {"Cancelled": 2})
    assert over["reason"].endswith("wrong data; of 6 jobs 2 were cancelled, 4 never began")
    refused = stack.ask("POST", f"/jobs/{array}:resume", json={})
    assert refused.status_code == 409
    assert stack.ask("DELETE", f"/jobs/{array}").status_code == 204
    assert stack.ask("GET", "/jobs/cancelled-0").status_code == 404


def test_an_array_is_suspended_and_goes_on(stack: Stack, tmp_path: Path) -> None:
    array = sweep(stack, tmp_path / "gate", "paused", last=3, timeout="1h")
    running(stack, array, 2)
    assert stack.ask("POST", f"/jobs/{array}:suspend", json={}).status_code == 200
    stack.until(array, ("Suspended",))
    eventually(lambda: counts(stack, array) == {"Suspended": 2}, 100, "its jobs are suspended")
    assert stack.ask("POST", f"/jobs/{array}:extend", json={"by": "30m"}).status_code == 200
    assert stack.ask("POST", f"/jobs/{array}:resume", json={}).status_code == 200
    (tmp_path / "gate").touch()
    assert stack.until(array)["reason"] == "all 4 jobs succeeded"
    timeouts = {
        stack.job(job["id"])["spec"]["spec"]["timeout"] for index, job in children(stack, array).items() if index > 1
    }
    assert timeouts == {"1h30m"}


def test_jobs_of_an_array_wait_in_a_queue_and_are_moved_forward_together(queued: Stack, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    array = sweep(queued, gate, "queued", last=5, limit=4, queue="research", resources={"gpus": 1})
    running(queued, array, 2)
    eventually(lambda: counts(queued, array) == {"Running": 2, "Queued": 2}, 60, "two run and two wait")
    moved = queued.ask("POST", f"/jobs/{array}:reprioritise", json={"priority": 60})
    assert moved.status_code == 200, moved.text

    def priorities() -> set[int]:
        rows = queued.ask("GET", "/queue?limit=100").json()["items"]
        return {row["priority"] for row in rows}

    eventually(lambda: priorities() == {60}, 30, "those that wait have the new priority")
    assert queued.ask("POST", f"/jobs/{array}:suspend", json={}).status_code == 200
    eventually(lambda: counts(queued, array) == {"Suspended": 4}, 100, "nothing runs and nothing waits")
    assert queued.ask("POST", f"/jobs/{array}:resume", json={}).status_code == 200
    gate.touch()
    assert queued.until(array)["reason"] == "all 6 jobs succeeded"


def test_an_array_that_expires_is_deleted_with_its_jobs(stack: Stack, tmp_path: Path) -> None:
    array = stack.submit({**QUICK, "command": ["true"], "array": {"last": 2}, "ttlAfterFinished": "1s"}, "expires")
    stack.until(array)
    eventually(lambda: stack.ask("GET", f"/jobs/{array}").status_code == 404, 60, "the array is gone")
    eventually(lambda: stack.ask("GET", "/jobs/expires-1").status_code == 404, 60, "its jobs are gone")


def test_a_job_waits_for_all_of_an_array_and_an_array_for_a_job(stack: Stack, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = sweep(stack, gate, "before", last=1)
    after = [{"job": "before"}]
    second = stack.submit({**QUICK, "command": ["true"], "array": {"last": 1}, "after": after}, "second")
    third = stack.submit({**QUICK, "command": ["true"], "after": [{"job": "second"}]}, "third")
    eventually(lambda: stack.job(second)["reason"] == "waits for job before to succeed", 30, "the array waits")
    assert counts(stack, second) == {}
    gate.touch()
    assert stack.until(third)["phase"] == "Succeeded"
    assert [stack.job(job)["phase"] for job in (first, second)] == ["Succeeded", "Succeeded"]
    assert json.loads(stack.run("jobs", "show", "second", "--json").stdout)["array"]["jobs"] == {"Succeeded": 2}
