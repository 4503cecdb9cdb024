"""How fast submits are accepted, and how fast the backlog that they make then starts. The two are different numbers.

Two rounds: in the first the worker is halted while submits come in, so that a backlog stands and nothing else uses the
processors; in the second everything runs at once, as in a real burst.
"""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.harness import client, control_plane, moment, per_job, processor, report, say, spread, submit
from tests.support.polling import eventually
from tests.support.stack import Stack

JOBS = 500
CLIENTS = 4
UNFINISHED = ("Pending", "Queued", "Starting", "Running", "Collecting", "BackingOff")


def main() -> None:
    with control_plane() as stack:
        result = {
            "jobs": JOBS,
            "clients": CLIENTS,
            "backlog_first": _round(stack, "halted", halted=True),
            "all_at_once": _round(stack, "busy", halted=False),
        }
    report("accepting and draining", ">= 100 accepted/s; backlog starts at >= 25/s", result)


def _round(stack: Stack, name: str, *, halted: bool) -> dict[str, Any]:
    worker = stack.process("worker").pid
    before = processor(stack)
    if halted:
        os.kill(worker, signal.SIGSTOP)
    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        batches = list(pool.map(lambda number: _submit(stack, f"{name}-{number}"), range(CLIENTS)))
    accepted = time.perf_counter() - started
    if halted:
        os.kill(worker, signal.SIGCONT)
    say(f"{JOBS} accepted in {accepted:.1f} s")
    drained_from = time.perf_counter()
    eventually(lambda: _all_final(stack), 300, "every job final")
    drained = time.perf_counter() - drained_from
    say(f"drained in {drained:.1f} s")
    spent = per_job(before, processor(stack), JOBS)
    with client(stack) as opened:
        views = [opened.get(f"/jobs/{job}").json() for batch in batches for job in batch]
    assert all(view["phase"] == "Succeeded" for view in views)
    starts = [moment(view["startedAt"]) for view in views]
    queued = [(start - moment(view["createdAt"])).total_seconds() for start, view in zip(starts, views, strict=True)]
    return {
        "accepted_per_second": round(JOBS / accepted, 1),
        "started_per_second": round((JOBS - 1) / (max(starts) - min(starts)).total_seconds(), 1),
        "drained_seconds": round(drained, 1),
        "queue_seconds": spread(queued),
        "processor_milliseconds_per_job": spent,
    }


def _submit(stack: Stack, name: str) -> list[str]:
    with client(stack) as opened:
        return [submit(opened, f"{name}-{index}", ("true",)) for index in range(JOBS // CLIENTS)]


def _all_final(stack: Stack) -> bool:
    with client(stack) as opened:
        page = opened.get("/jobs", params={"phase": list(UNFINISHED), "limit": 1}).json()
    return not page["items"]


if __name__ == "__main__":
    main()
