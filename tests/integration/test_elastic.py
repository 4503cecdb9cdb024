"""Jobs that change their size on a real control plane: their ranks meet in every step, and none is lost or doubled."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.polling import eventually
from tests.support.stack import FINAL, Stack, running_stack

TRAINER = """
import os, sys, time
from pathlib import Path
from perdure import job

stop = Path(sys.argv[1])
rank, size = job.rank(), job.world_size()
assert size == int(os.environ["PERDURE_NODES"])
meet = job.run_dir() / f"meet-{os.environ['PERDURE_ATTEMPT']}"
meet.mkdir(exist_ok=True)
seen = job.resume()
step = seen.step if seen else 0
total = int((seen.root / "rank-0" / "total").read_text()) if seen else 0
print("size", size, "from", step, flush=True)

def number(file):
    return int(file.read_text()) if file.exists() else -1

def write(file, value):
    part = file.with_suffix(f".{rank}")
    part.write_text(str(value))
    part.replace(file)

while True:
    time.sleep(0.01)
    step += 1
    if rank == 0 and stop.exists():
        write(meet / "end", step)
    write(meet / str(rank), step)
    while any(number(meet / str(other)) < step for other in range(size)):
        time.sleep(0.002)
    if number(meet / "end") == step:
        break
    total += step
    job.progress(step)
    if job.should_checkpoint(step):
        with job.checkpoint(step) as folder:
            if rank == 0:
                (folder / "total").write_text(str(total))
assert total == step * (step - 1) // 2, "each step was taken once"
"""
SPEC: dict[str, Any] = {"gracePeriod": "5s", "checkpoints": {"every": "1h"}}


def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


POOL = {"count": 4, "cpus": 8, "memory": "64Gi", "gpus": 1, "flavor": "h100"}
DOCUMENTS = [
    document("Queue", "research"),
    document("PriorityClass", "urgent", value=10),
    document("ResourceFlavor", "h100", gpuType="H100"),
    document("NodePool", "four", simulated=POOL),
]


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("elastic") / "home", PERDURE_RESIZE_EVERY="1s") as running:
        applied = running.ask("POST", "/scheduling-documents:apply", json={"documents": DOCUMENTS})
        assert applied.status_code == 200, applied.text
        yield running


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Without any queue."""
    with running_stack(tmp_path_factory.mktemp("plain") / "home") as running:
        yield running


class Trainer:
    """A job whose ranks train together until it is told that it is done."""

    def __init__(self, stack: Stack, folder: Path, name: str, **spec: Any) -> None:
        self._stack, self._stop = stack, folder / f"{name}.stop"
        command = [sys.executable, "-c", TRAINER, str(self._stop)]
        self.id = stack.submit({**SPEC, "command": command, **spec})

    def runs(self, nodes: int, attempt: int) -> dict[str, Any]:
        """Wait until it runs so, and has taken a step of its own."""

        def there() -> dict[str, Any] | None:
            job = self._stack.job(self.id)
            assert job["phase"] not in FINAL, job["reason"]
            found = (job["phase"], job["nodes"], job["attempt"]) == ("Running", nodes, attempt)
            return job if found and self._has_begun(job) else None

        return eventually(there, 100, f"{self.id} on {nodes} nodes")

    def finish(self) -> list[dict[str, Any]]:
        """End it well; its attempts."""
        self._stop.touch()
        over = self._stack.until(self.id)
        assert over["phase"] == "Succeeded", over["reason"]
        return self._stack.items(self.id, "attempts")

    def events(self, kind: str) -> list[str]:
        return [event["reason"] for event in self._stack.items(self.id, "events") if event["kind"] == kind]

    def _has_begun(self, job: dict[str, Any]) -> bool:
        step = (job.get("progress") or {}).get("step")
        began = self._stack.items(self.id, "attempts")[-1]["fromStep"]
        return step is not None and step > (began or 0)


def gpus(nodes: int, least: int | None = None, **more: Any) -> dict[str, Any]:
    elastic = {} if least is None else {"elastic": {"minNodes": least, "maxNodes": 4}}
    return {"nodes": nodes, "resources": {"gpus": 1}, "queue": "research", **elastic, **more}


def test_a_job_starts_on_what_is_free_grows_when_it_can_and_shrinks_for_another(queued: Stack, tmp_path: Path) -> None:
    """The worker dies while it grows."""
    other = Trainer(queued, tmp_path, "other", **gpus(2))
    other.runs(2, 1)
    wide = Trainer(queued, tmp_path, "wide", **gpus(4, least=2))
    assert wide.runs(2, 1)["askedNodes"] == 4
    other.finish()
    queued.until(wide.id, ("Suspending", "Collecting", "Queued"))
    queued.process("worker").kill()
    wide.runs(4, 2)
    assert "grows from 2 to 4 nodes" in wide.events("resized")
    urgent = Trainer(queued, tmp_path, "urgent", **gpus(2, priorityClass="urgent"))
    urgent.runs(2, 1)
    wide.runs(2, 3)
    assert any(said.startswith("shrinks from 4 to 2 nodes: job") for said in wide.events("resized"))
    urgent.finish()
    first, second, third, *_ = wide.finish()
    assert [first["failure"], second["failure"]] == ["preempted", "preempted"]
    assert 0 < second["fromStep"] < third["fromStep"]
    assert not any(attempt["counted"] for attempt in (first, second))


def test_a_person_resizes_a_running_job_up_and_down_where_there_are_no_queues(plain: Stack, tmp_path: Path) -> None:
    """The worker dies while it makes way for the last of its sizes."""
    trainer = Trainer(plain, tmp_path, "sized", nodes=2, elastic={"minNodes": 1, "maxNodes": 3})
    trainer.runs(2, 1)
    plain.run("jobs", "resize", trainer.id, "--nodes", "3", "--reason", "more machines")
    trainer.runs(3, 2)
    plain.run("jobs", "resize", trainer.id, "--nodes", "1")
    plain.process("worker").kill()
    assert trainer.runs(1, 3)["askedNodes"] == 1
    refused = plain.run("jobs", "resize", trainer.id, "--nodes", "4", check=False)
    assert (refused.returncode != 0, "from 1 to 3" in refused.stderr) == (True, True)
    logs = plain.run("jobs", "logs", trainer.id, "--attempt", "2").stdout
    assert logs.count("size 3 from") == 3
    first, second, third = trainer.finish()
    assert first["reason"].startswith("resized to 3 nodes by ")
    assert 0 < second["fromStep"] < third["fromStep"]
