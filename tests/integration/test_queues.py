"""Queues on a real control plane: two jobs for one GPU, one that is worth more, and people who ask meanwhile.

The GPU is simulated, the jobs are real processes: a control plane without any GPU plays the node.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.polling import eventually
from tests.support.stack import Stack, running_stack

SAVE_EVERY = "1s"
TRAINER = """
import os, sys, time
from pathlib import Path
from perdure import job
stop = Path(sys.argv[1])
seen = job.resume()
step = seen.step if seen else 0
print("devices", os.environ["PERDURE_DEVICES"], "from", step, flush=True)
while not stop.exists():
    time.sleep(0.02)
    step += 1
    job.progress(step)
    if job.should_checkpoint(step):
        with job.checkpoint(step) as folder:
            (folder / "weights").write_text(str(step))
"""
ONE_GPU = {"resources": {"gpus": 1}, "queue": "research", "gracePeriod": "5s"}


def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


DOCUMENTS = [
    document("Queue", "research", quotas={"gpus": {"limit": 4}}),
    document("PriorityClass", "urgent", value=10),
    document("ResourceFlavor", "h100", gpuType="H100", gpuMemory="80Gi"),
    document("NodePool", "one", simulated={"count": 1, "cpus": 8, "memory": "64Gi", "gpus": 1, "flavor": "h100"}),
]


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("queued") / "home", PERDURE_SWEEP="1s") as running:
        applied = running.ask("POST", "/scheduling-documents:apply", json={"documents": DOCUMENTS})
        assert applied.status_code == 200, applied.text
        yield running


class Trainer:
    """A job for the one GPU, which trains until it is told that it is done."""

    def __init__(self, stack: Stack, folder: Path, name: str, **spec: Any) -> None:
        self._stack = stack
        self._stop = folder / f"{name}.stop"
        command = [sys.executable, "-c", TRAINER, str(self._stop)]
        self.id = stack.submit({**ONE_GPU, "command": command, "checkpoints": {"every": SAVE_EVERY}, **spec})

    def until(self, *phases: str) -> dict[str, Any]:
        return self._stack.until(self.id, phases)

    def saved(self) -> None:
        """Wait for a step that was reported, so that it has begun to train."""
        eventually(lambda: (self._stack.job(self.id).get("progress") or {}).get("step"), 60, "a step of its own")

    def finish(self) -> dict[str, Any]:
        self._stop.touch()
        return self.until("Succeeded", "Failed", "Cancelled")

    def is_in(self, phase: str) -> bool:
        return bool(self._stack.job(self.id)["phase"] == phase)


def test_of_two_jobs_for_one_gpu_the_second_waits_and_then_runs(queued: Stack, tmp_path: Path) -> None:
    first = Trainer(queued, tmp_path, "first")
    first.until("Running")
    second = Trainer(queued, tmp_path, "second")
    waiting = second.until("Queued")
    assert waiting["attempt"] == 0
    assert "waits in queue research" in waiting["reason"]
    assert first.finish()["phase"] == "Succeeded"
    second.until("Running")
    assert second.finish()["phase"] == "Succeeded"
    [line] = [event for event in queued.items(second.id, "events") if event["kind"] == "placed"]
    assert "one-0000" in line["reason"]


def test_a_job_of_a_higher_class_gets_the_gpu_and_the_other_goes_on_from_its_checkpoint(
    queued: Stack, tmp_path: Path
) -> None:
    lower = Trainer(queued, tmp_path, "lower")
    lower.until("Running")
    lower.saved()
    higher = Trainer(queued, tmp_path, "higher", priorityClass="urgent")
    higher.until("Running")
    assert lower.is_in("Queued")
    [told] = [event for event in queued.items(lower.id, "events") if event["kind"] == "displaced"]
    assert higher.id in told["reason"]
    assert higher.finish()["phase"] == "Succeeded"
    lower.until("Running")
    over = lower.finish()
    assert over["phase"] == "Succeeded"
    first, second = queued.items(lower.id, "attempts")
    assert (first["failure"], first["counted"]) == ("preempted", False)
    assert second["fromStep"] > 0


def test_a_job_that_waits_is_passed_when_another_is_worth_more_and_leaves_when_it_is_cancelled(
    queued: Stack, tmp_path: Path
) -> None:
    holder = Trainer(queued, tmp_path, "holder", priority=100)
    holder.until("Running")
    third, fourth = (Trainer(queued, tmp_path, name) for name in ("third", "fourth"))
    for trainer in (third, fourth):
        trainer.until("Queued")
    asked = queued.ask("POST", f"/jobs/{fourth.id}:reprioritise", json={"priority": 50})
    assert asked.status_code == 200, asked.text
    assert holder.finish()["phase"] == "Succeeded"
    fourth.until("Running")
    assert third.is_in("Queued")
    assert queued.ask("POST", f"/jobs/{third.id}:cancel").status_code == 200
    assert third.until("Cancelled")["attempt"] == 0
    assert fourth.finish()["phase"] == "Succeeded"


def test_a_suspended_job_gives_its_places_up_and_waits_when_it_is_resumed(queued: Stack, tmp_path: Path) -> None:
    fifth = Trainer(queued, tmp_path, "fifth")
    fifth.until("Running")
    fifth.saved()
    assert queued.ask("POST", f"/jobs/{fifth.id}:suspend").status_code == 200
    fifth.until("Suspended")
    sixth = Trainer(queued, tmp_path, "sixth")
    sixth.until("Running")
    assert queued.ask("POST", f"/jobs/{fifth.id}:resume").status_code == 200
    fifth.until("Queued")
    assert sixth.finish()["phase"] == "Succeeded"
    fifth.until("Running")
    assert fifth.finish()["phase"] == "Succeeded"
    assert queued.items(fifth.id, "attempts")[1]["fromStep"] > 0


def test_a_worker_that_dies_while_a_job_is_displaced_loses_and_doubles_nothing(queued: Stack, tmp_path: Path) -> None:
    lower = Trainer(queued, tmp_path, "seventh")
    lower.until("Running")
    lower.saved()
    higher = Trainer(queued, tmp_path, "eighth", priorityClass="urgent")
    lower.until("Suspending", "Collecting", "Queued")
    queued.process("worker").kill()
    higher.until("Running")
    assert lower.until("Queued")["attempt"] == 1
    assert higher.finish()["phase"] == "Succeeded"
    lower.until("Running")
    assert lower.finish()["phase"] == "Succeeded"
    assert [attempt["failure"] for attempt in queued.items(lower.id, "attempts")] == ["preempted", None]
    assert len(queued.items(higher.id, "attempts")) == 1


def test_more_than_the_queue_may_ever_use_is_refused(queued: Stack) -> None:
    spec = {**ONE_GPU, "command": ["true"], "resources": {"gpus": 5}}
    body = {"document": document("Job", "greedy", **spec)}
    refused = queued.ask("POST", "/jobs", json=body)
    assert refused.status_code == 422
    assert "4 GPUs" in refused.json()["detail"]
