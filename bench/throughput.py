"""500 jobs of 5 s, 20 at a time: wall time against the ideal, history per job, memory of the control plane."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from bench.harness import client, control_plane, memory, report, say, spread, submit, wait
from tests.support.stack import Stack
from workers.leave import leave

JOBS = 500
AT_ONCE = 20
SECONDS = 5
SAMPLE = 20


def main() -> None:
    with control_plane() as stack:
        peak: dict[str, float] = {}
        done = Event()
        watcher = Thread(target=_watch_memory, args=(stack, peak, done))
        watcher.start()
        started = time.perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            jobs = list(pool.map(lambda number: _one(stack, number), range(JOBS)))
        wall = time.perf_counter() - started
        done.set()
        watcher.join()
        histories = asyncio.run(_histories(stack, jobs[:: JOBS // SAMPLE]))
    ideal = JOBS / AT_ONCE * SECONDS
    result = {
        "jobs": JOBS,
        "at_once": AT_ONCE,
        "seconds_each": SECONDS,
        "wall_seconds": round(wall, 1),
        "ideal_seconds": ideal,
        "ratio_to_ideal": round(wall / ideal, 3),
        "history_events_per_job": spread([events for events, _ in histories], 0),
        "activities_per_job": spread([activities for _, activities in histories], 0),
        "peak_memory_mib": peak,
    }
    report("500 jobs of 5 s, 20 at a time", "wall <= 1.3 x ideal; control plane <= 700 MiB", result)


def _one(stack: Stack, number: int) -> str:
    with client(stack) as opened:
        job = submit(opened, f"job-{number}", ("sleep", str(SECONDS)))
        over = wait(opened, job)
    assert over["phase"] == "Succeeded", over["reason"]
    if number % 50 == 49:
        say(f"job {number + 1} of {JOBS}")
    return job


def _watch_memory(stack: Stack, peak: dict[str, float], done: Event) -> None:
    while not done.wait(5):
        now = memory(stack)
        if now["total"] > peak.get("total", 0):
            peak.update(now)


async def _histories(stack: Stack, jobs: list[str]) -> list[tuple[int, int]]:
    engine = await Client.connect(stack.temporal_address, data_converter=pydantic_data_converter)
    found = []
    for job in jobs:
        history = await engine.get_workflow_handle(f"job/default/{job}").fetch_history()
        activities = sum(1 for e in history.events if e.HasField("activity_task_scheduled_event_attributes"))
        found.append((len(history.events), activities))
    return found


if __name__ == "__main__":
    main()
    leave(0)
