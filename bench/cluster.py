"""Gang jobs on a real API server with simulated nodes: against the same objects made bare, and through a restart."""

import argparse
import asyncio
from collections.abc import Sequence
from threading import Event, Thread
from typing import Any

from bench.cluster_calls import GOAL, by_job, calls
from bench.cluster_latency import latencies, told
from bench.cluster_objects import template
from bench.cluster_restart import restart
from bench.cluster_rig import PODS, Rig, rig
from bench.cluster_rounds import Round, bare_round, own_round
from bench.harness import memory, per_job, report, say
from deploy.testcluster import cluster
from workers.leave import leave

MEMORY_EVERY = 5.0
GOALS = f"calls per job <= {GOAL}; pod changed to workflow knows p99 < 1 s; nothing twice"


def main() -> None:
    given = _options()
    with rig(given.nodes, given.seconds) as made:
        result = _compare(made, given)
        result["restart"] = restart(made, given.running)
    sizes = {**vars(given), "pods_per_job": PODS}
    report("gang jobs on Kubernetes", GOALS, {"sizes": sizes, "cluster": cluster.versions(real=False), **result})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench cluster", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2000, help="jobs of each side of the comparison")
    parser.add_argument("--nodes", type=int, default=1000, help="simulated nodes")
    parser.add_argument("--at-once", type=int, default=200, help="jobs under way at a time")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each pod runs")
    parser.add_argument("--running", type=int, default=1000, help="jobs that run when the worker is killed")
    return parser.parse_args()


def _compare(made: Rig, given: argparse.Namespace) -> dict[str, Any]:
    """Half of the bare jobs, ours, and the other half, so that a machine that others use changes both."""
    objects, half = template(made), given.jobs // 2
    say("bare jobs, first half")
    first = bare_round(made, objects, "first", half, given.at_once)
    idle = made.worker_memory()
    say("jobs through the control plane")
    before = made.processor()
    with _Peak(made) as peak:
        own = own_round(made, "own", given.jobs, given.at_once)
    spent = per_job(before, made.processor(), given.jobs)
    counted = calls(made.cluster, made.space, own.began, own.began + own.seconds)
    say("bare jobs, second half")
    second = bare_round(made, objects, "second", given.jobs - half, given.at_once)
    ours, bare = _rate((own,)), _rate((first, second))
    say("reading histories")
    known = asyncio.run(told(made.stack, own.jobs))
    return {
        "jobs_per_second": {"ours": ours, "bare": bare, "ratio": round(ours / bare, 3)},
        "wall_seconds": {"ours": round(own.seconds, 1), "bare": round(first.seconds + second.seconds, 1)},
        "ideal_jobs_per_second": round(given.at_once / given.seconds, 1),
        "api_calls_per_job": {"total": round(counted.total() / given.jobs, 2), **by_job(counted, given.jobs)},
        "pod_changed_to_workflow": latencies(known, made.witness.sightings(), PODS),
        "worker_mib": {"idle": idle, "peak": peak.most},
        "control_plane_mib": memory(made.stack),
        "processor_milliseconds_per_job": spent,
    }


def _rate(rounds: Sequence[Round]) -> float:
    return round(sum(each.count for each in rounds) / sum(each.seconds for each in rounds), 2)


class _Peak:
    """The worker's highest memory while the block runs."""

    def __init__(self, made: Rig) -> None:
        self._made = made
        self._done = Event()
        self._thread = Thread(target=self._watch, name="memory")
        self.most = 0.0

    def __enter__(self) -> "_Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(MEMORY_EVERY):
            self.most = max(self.most, self._made.worker_memory())


if __name__ == "__main__":
    main()
    leave(0)
