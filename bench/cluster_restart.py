"""SIGKILL to the worker of a cluster on which jobs run: how soon all is known again, and that nothing is done twice."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.cluster_calls import jobs_made
from bench.cluster_informer import alone
from bench.cluster_latency import told
from bench.cluster_rig import NAME, PODS, RUN_FOR, Rig, Slots
from bench.cluster_witness import JOB
from bench.harness import client, say, spread
from tests.support.polling import eventually

SHARE_AWAY = 20  # one job in so many ends while no worker watches
WITHIN = 1800.0
HANDS = 8
Objects = dict[str, dict[str, str]]  # kind -> uid -> job


def restart(rig: Rig, count: int) -> dict[str, Any]:
    rig.let_pods_end(None)
    made_before, mark = jobs_made(rig.cluster, rig.space), time.perf_counter()
    jobs = _start(rig, count)
    started = time.perf_counter() - mark
    picture = alone(rig.kubeconfig, rig.space.name)
    memory, before = rig.worker_memory(), _objects(rig, jobs)
    say("killing the worker")
    away = set(jobs[: count // SHARE_AWAY])
    killed, serving = _kill(rig, sorted(away))
    known = _until_known(rig, jobs, away, killed)
    say("every workflow has been told again")
    after = _objects(rig, jobs)
    _end(rig, jobs)
    return {
        "jobs": count,
        "all_running_after_seconds": round(started, 1),
        "informer_alone": picture,
        "worker_mib": memory,
        "worker_serves_after_seconds": round(serving - killed, 2),
        "workflow_told_after_seconds": spread([at - killed for at in known.values()], 2),
        "all_known_after_seconds": round(max(known.values()) - killed, 2),
        "ended_while_away": {
            "jobs": len(away),
            "pods_ended_before_the_worker_served": _ended_before(rig, away, serving),
            "known_after_seconds": round(max((known[job] for job in away), default=killed) - killed, 2),
        },
        "nothing_twice": _count(rig, jobs, away, before, after, made_before),
    }


def _start(rig: Rig, count: int) -> list[str]:
    """Jobs whose pods run until they are told to end; returns once the control plane knows that all run."""
    jobs: list[str] = []
    with client(rig.stack) as submitting:
        Slots(count).fill(count, lambda number: jobs.append(rig.submit(submitting, f"stays-{number}")))
    say(f"{count} jobs are submitted")
    mine = set(jobs)

    def running() -> bool:
        return all(phase == "Running" for job, phase in rig.phases().items() if job in mine)

    eventually(running, WITHIN, "every job runs")
    say("every job runs")
    return jobs


def _kill(rig: Rig, away: Sequence[str]) -> tuple[float, float]:
    """Kill the worker and end these jobs' pods meanwhile; when it died, and when the next one served."""
    pods = [item for item in _pods(rig) if item["metadata"]["labels"][JOB] in set(away)]
    ready, dead = rig.stack.home / f"cluster-{NAME}.ready", rig.worker.pid
    killed = time.time()
    rig.worker.kill()
    _let_end(rig, pods)
    eventually(lambda: ready.read_text().strip() not in ("", str(dead)), WITHIN, "the next worker serves")
    return killed, ready.stat().st_mtime


def _until_known(rig: Rig, jobs: Sequence[str], away: set[str], killed: float) -> dict[str, float]:
    """When each job's workflow was told by the new worker what is true: that it runs, or that it has ended."""
    known: dict[str, float] = {}

    def all_known() -> bool:
        missing = [job for job in jobs if job not in known]
        for job, signals in asyncio.run(told(rig.stack, missing)).items():
            truth = "ended" if job in away else "running"
            at = next((each.at for each in signals if each.at > killed and each.what == truth), None)
            if at is not None:
                known[job] = at
        return len(known) == len(jobs)

    eventually(all_known, WITHIN, "every workflow is told")
    return known


def _end(rig: Rig, jobs: Sequence[str]) -> None:
    mine = set(jobs)
    _let_end(rig, [item for item in _pods(rig) if item["metadata"]["labels"][JOB] in mine])

    def ends() -> Counter[str]:
        return Counter(phase for job, phase in rig.phases().items() if job in mine)

    eventually(lambda: ends() == {"Succeeded": len(jobs)}, WITHIN, "every job has succeeded")
    say("every job is over")


def _let_end(rig: Rig, pods: Sequence[dict[str, Any]]) -> None:
    body = {"metadata": {"annotations": {RUN_FOR: "1ms"}}}
    running = [item["metadata"]["name"] for item in pods if item["status"]["phase"] == "Running"]
    with ThreadPoolExecutor(HANDS) as pool:
        for _ in pool.map(lambda name: rig.space.api.patch(f"{rig.space.path}/pods/{name}", body), running):
            pass


def _ended_before(rig: Rig, away: set[str], serving: float) -> int:
    seen = rig.witness.sightings()
    return sum(1 for job in away for each in seen[job] if each.phase == "Succeeded" and each.at < serving)


def _pods(rig: Rig) -> list[dict[str, Any]]:
    return rig.space.pods(labelSelector=JOB)


def _objects(rig: Rig, jobs: Sequence[str]) -> Objects:
    """What the API server has of these jobs now."""
    mine = set(jobs)
    found = {"jobs": rig.space.api.items(rig.space.jobs, labelSelector=JOB), "pods": _pods(rig)}
    return {
        kind: {
            item["metadata"]["uid"]: item["metadata"]["labels"][JOB]
            for item in items
            if item["metadata"]["labels"][JOB] in mine
        }
        for kind, items in found.items()
    }


def _count(
    rig: Rig, jobs: Sequence[str], away: set[str], before: Objects, after: Objects, made_before: int
) -> dict[str, Any]:
    """Counted in the API server, its audit log and the witness's notes, not in the control plane's tables."""
    seen = rig.witness.sightings()
    pods_ever = {job: len({each.pod for each in seen[job]}) for job in jobs}
    counted = {
        "jobs_made_by_the_worker": jobs_made(rig.cluster, rig.space) - made_before,
        "pods_ever": sum(pods_ever.values()),
        "jobs_with_other_than_their_pods": sum(1 for number in pods_ever.values() if number != PODS),
        "objects_made_by_the_restart": sum(len(after[kind].keys() - before[kind].keys()) for kind in after),
        "objects_lost_by_the_restart": sum(
            1 for kind, was in before.items() for uid, job in was.items() if uid not in after[kind] and job not in away
        ),
        "objects_left_at_the_end": sum(len(found) for found in _objects(rig, jobs).values()),
    }
    wanted = {"jobs_made_by_the_worker": len(jobs), "pods_ever": PODS * len(jobs)}
    return {**counted, "holds": all(number == wanted.get(what, 0) for what, number in counted.items())}
