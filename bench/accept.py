"""How fast submits are accepted, and how fast the backlog that they make then starts. The two are different numbers."""

import time
from concurrent.futures import ThreadPoolExecutor

from bench.harness import client, control_plane, moment, per_job, processor, report, say, spread, submit
from tests.support.polling import eventually
from tests.support.stack import Stack

JOBS = 500
CLIENTS = 4


def main() -> None:
    with control_plane() as stack:
        before = processor(stack)
        started = time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as pool:
            batches = list(pool.map(lambda number: _submit(stack, number), range(CLIENTS)))
        accepted = time.perf_counter() - started
        say(f"{JOBS} accepted in {accepted:.1f} s")
        eventually(lambda: _all_final(stack), 300, "every job final")
        spent = per_job(before, processor(stack), JOBS)
        with client(stack) as opened:
            views = [opened.get(f"/jobs/{job}").json() for batch in batches for job in batch]
    assert all(view["phase"] == "Succeeded" for view in views)
    starts = [moment(view["startedAt"]) for view in views]
    ends = [moment(view["endedAt"]) for view in views]
    created = [moment(view["createdAt"]) for view in views]
    drained = (max(starts) - min(starts)).total_seconds()
    result = {
        "jobs": JOBS,
        "clients": CLIENTS,
        "accepted_per_second": round(JOBS / accepted, 1),
        "started_per_second": round((JOBS - 1) / drained, 1),
        "ended_per_second": round(JOBS / (max(ends) - min(created)).total_seconds(), 1),
        "processor_milliseconds_per_job": spent,
        "queue_seconds": spread([(s - c).total_seconds() for s, c in zip(starts, created, strict=True)]),
    }
    report("accepting and draining", ">= 100 accepted/s; backlog starts at >= 25/s", result)


def _submit(stack: Stack, number: int) -> list[str]:
    with client(stack) as opened:
        return [submit(opened, f"job-{number}-{index}", ("true",)) for index in range(JOBS // CLIENTS)]


def _all_final(stack: Stack) -> bool:
    with client(stack) as opened:
        phases = ["Pending", "Starting", "Running", "Collecting", "BackingOff"]
        page = opened.get("/jobs", params={"phase": phases, "limit": 1}).json()
    return not page["items"]


if __name__ == "__main__":
    main()
