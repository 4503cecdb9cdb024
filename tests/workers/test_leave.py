"""Leaving a process keeps its exit status and everything it has said."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.temporal import TemporalServer

STARTS = 100
AT_ONCE = 2

WORKER = """
import asyncio, sys
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker
from workers.leave import leave

@activity.defn
async def nothing() -> None: ...

async def main(address: str, queue: str) -> None:
    client = await Client.connect(address)
    async with Worker(client, task_queue=queue, activities=[nothing]):
        await client.count_workflows()

asyncio.run(main(*sys.argv[1:]))
leave(0)
"""


def run(script: str, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, check=False)


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_status_is_the_one_asked_for(code: int) -> None:
    assert run(f"from workers.leave import leave; leave({code})").returncode == code


def test_what_was_printed_and_logged_arrives(tmp_path: Path) -> None:
    log = tmp_path / "buffered.log"
    done = run(
        "import logging, logging.handlers, sys\n"
        "from workers.leave import leave\n"
        "target = logging.FileHandler(sys.argv[1])\n"
        "logging.getLogger('part').addHandler(logging.handlers.MemoryHandler(1000, target=target))\n"
        "logging.getLogger('part').error('kept in memory')\n"
        "print('out', end=''); print('err', end='', file=sys.stderr)\n"
        "leave(0)",
        str(log),
    )
    assert (done.stdout, done.stderr, log.read_text()) == ("out", "err", "kept in memory\n")


def test_a_closed_standard_output_does_not_change_the_status() -> None:
    script = "import os; from workers.leave import leave; print('lost', end=''); os.close(1); leave(4)"
    assert run(script).returncode == 4


def test_nothing_of_the_interpreter_runs_afterwards() -> None:
    script = "import atexit; from workers.leave import leave; atexit.register(print, 'teardown'); leave(0)"
    assert run(script).stdout == ""


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_hundred_workers_start_and_stop_with_status_zero(temporal_server: TemporalServer) -> None:
    def start_and_stop(number: int) -> tuple[int, str]:
        done = run(WORKER, temporal_server.address, f"leave-{number}")
        return done.returncode, done.stderr[-500:]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(start_and_stop, range(STARTS)))
    assert [end for end in ends if end[0] != 0] == []
    assert len(ends) == STARTS
