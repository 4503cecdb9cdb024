"""A launcher that is really started as a job's command. The others install too much: their variables are checked."""

import os
import signal
import sys
from pathlib import Path

from tests.integration.test_fields import lines
from tests.support.polling import eventually
from tests.support.stack import Stack

MPIRUN = Path(sys.executable).with_name("mpirun")
SUMS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
print("rank", world.Get_rank(), "of", world.Get_size(), "sum", world.allreduce(world.Get_rank() + 1), flush=True)
"""
WAITS = """
import os, time
from mpi4py import MPI
print("pid", MPI.COMM_WORLD.Get_rank(), os.getpid(), flush=True)
time.sleep(600)
"""


def mpi(code: str) -> dict[str, object]:
    command = [str(MPIRUN), "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-c", code]
    retry = {"limit": 1, "backoff": {"initial": "200ms"}, "rules": {"user-error": 1}}
    return {"command": command, "distributed": {"framework": "mpi"}, "retry": retry, "gracePeriod": "2s"}


def test_mpirun_forms_a_world_of_its_own_ranks(stack: Stack) -> None:
    job = stack.submit(mpi(SUMS))
    over = stack.until(job)
    assert over["phase"] == "Succeeded", (over["reason"], lines(stack, job))
    assert sorted(lines(stack, job)) == ["rank 0 of 2 sum 3", "rank 1 of 2 sum 3"]


def test_a_killed_mpi_process_ends_its_world_and_the_job_begins_anew(stack: Stack) -> None:
    job = stack.submit(mpi(WAITS))

    def pids(attempt: int) -> list[int]:
        if stack.job(job)["attempt"] < attempt:
            return []
        found = [line.split() for line in lines(stack, job, attempt=attempt)]
        return [int(words[2]) for words in found if words[:1] == ["pid"]]

    first = eventually(lambda: found if len(found := pids(1)) == 2 else None, 30, "both ranks told their pids")
    os.kill(first[1], signal.SIGKILL)
    second = eventually(lambda: found if len(found := pids(2)) == 2 else None, 60, "a second attempt runs")
    assert not [pid for pid in first if Path(f"/proc/{pid}").exists()]
    stack.ask("POST", f"/jobs/{job}:cancel", json={})
    assert stack.until(job)["phase"] == "Cancelled"
    assert not [pid for pid in second if Path(f"/proc/{pid}").exists()]
