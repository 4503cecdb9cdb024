"""Two hundred short jobs while every kind of process is killed at random: 0 lost, 0 double, 0 orphans.

PERDURE_SOAK_JOBS makes it longer, PERDURE_SOAK_SEED another one.
"""

import asyncio
import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from tests.support.audit import Auditor, shims
from tests.support.killer import VICTIMS, Killer
from tests.support.polling import eventually
from tests.support.stack import Stack, running_stack

JOBS = int(os.environ.get("PERDURE_SOAK_JOBS", "200"))
SEED = int(os.environ.get("PERDURE_SOAK_SEED", "20260101"))
AT_ONCE = 16
PAUSE = (0.1, 0.7)  # seconds between two kills
LEAST_KILLS = 5  # of each kind, in a soak of 200 jobs
PATIENT = {"limit": 40, "backoff": {"initial": "200ms", "max": "1s"}}  # kills are no fault of the job

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


def test_no_job_is_lost_doubled_or_orphaned(tmp_path: Path) -> None:
    with running_stack(tmp_path / "home", PERDURE_HEARTBEAT="3s") as stack:
        soak(stack, Auditor(tmp_path / "marks"))


def soak(stack: Stack, auditor: Auditor, jobs: int = JOBS) -> None:
    """Run so many jobs while the killer kills; then count."""
    killer = Killer(stack, auditor, SEED, PAUSE, most=jobs // 10)
    killer.start()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ended = list(pool.map(lambda plan: run(stack, auditor, plan), plans(jobs)))
    killer.done.set()
    killer.join(60)
    print(json.dumps({"seed": SEED, "jobs": jobs, "kills": killer.kills, "in": killer.by_phase()}))
    assert killer.error is None, killer.error
    assert len(ended) == jobs
    audit(stack, auditor, ended)
    least = min(LEAST_KILLS, jobs // 40)
    assert all(killer.kills[victim] >= least for victim in VICTIMS), killer.kills
    assert {"Pending", "Starting", "Running"} <= set(killer.by_phase()), killer.by_phase()


def plans(jobs: int) -> list[tuple[str, int, tuple[str, ...]]]:
    """Name, nodes and options of every job: some with two ranks, some that leave daemons behind."""
    chance = random.Random(SEED)
    found = []
    for number in range(jobs):
        seconds = ("--seconds", f"{chance.uniform(0.2, 3):.2f}")
        daemon = ("--daemon",) if chance.random() < 0.4 else ()
        found.append((f"soak-{number:04d}", 2 if chance.random() < 0.25 else 1, (*seconds, *daemon)))
    return found


def run(stack: Stack, auditor: Auditor, plan: tuple[str, int, tuple[str, ...]]) -> tuple[str, str, int]:
    name, nodes, options = plan
    spec = {"nodes": nodes, "retry": PATIENT, "gracePeriod": "1s", "command": auditor.command(name, *options)}
    job = stack.submit(spec, name=name)
    over = stack.until(job, seconds=300)
    assert over["phase"] == "Succeeded", (name, over["phase"], over["reason"])
    return name, job, nodes


def audit(stack: Stack, auditor: Auditor, ended: list[tuple[str, str, int]]) -> None:
    lost = [name for name, _, nodes in ended if not auditor.finished(name, nodes)]
    assert lost == []
    assert {name: doubles for name, _, _ in ended if (doubles := auditor.doubles(name))} == {}
    eventually(lambda: not auditor.orphans(), 10, "no process of any job left")
    eventually(lambda: not shims(stack.home), 10, "no supervisor left")
    statuses = workflow_statuses(stack)
    assert statuses == {f"job/default/{job}": WorkflowExecutionStatus.COMPLETED for _, job, _ in ended}
    for name, job, _ in ended:
        attempts = [entry["number"] for entry in stack.items(job, "attempts")]
        assert attempts == list(range(1, len(attempts) + 1)), name
        assert set(auditor.attempts(name)) <= set(attempts), name


def workflow_statuses(stack: Stack) -> dict[str, WorkflowExecutionStatus | None]:
    """Of all workflows, from the engine, which may just be starting again after the last kill."""

    def asked() -> dict[str, WorkflowExecutionStatus | None] | None:
        try:
            return asyncio.run(_listed(stack))
        except (RPCError, RuntimeError) as error:
            print(f"the engine does not answer: {error}")
            return None

    return eventually(asked, 60, "the engine lists its workflows")


async def _listed(stack: Stack) -> dict[str, WorkflowExecutionStatus | None]:
    client = await Client.connect(stack.temporal_address, namespace=stack.namespace)
    found: dict[str, WorkflowExecutionStatus | None] = {}
    async for entry in client.list_workflows():
        assert entry.id not in found, f"{entry.id} ran twice"
        found[entry.id] = entry.status
    return found
