"""The gavel trace under the scheduler and under FIFO, strict priority, EASY and first-fit, in one simulator.

Three parts. `pool`: the baselines on a plain number of GPUs, beside figures of another simulator of the same rules, so
that the one that compares is itself compared. `nodes`: all policies on nodes of 8 GPUs, where a gang of 8 needs a whole
one. `priorities`: the same with a priority for each job, drawn from the seed, since the trace has none.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from bench.harness import report, say
from policies.scheduling.model import QueueRules
from simulator.baselines import BASELINES
from simulator.fairness import alone
from simulator.gavel import gavel
from simulator.loop import Loop, Ran
from simulator.node_file import equal_nodes
from simulator.outcome import outcome
from simulator.policies import planner
from simulator.setting import Setting, folder_of
from simulator.trace import Trace, declared, first
from simulator.wire import PolicyOutcome

GOAL = "mean and p99 completion and finish-time ratio better than FIFO, strict priority and EASY"
PER_NODE = 8
DEPTH = 500  # waiting jobs that the other simulator looks at
TELL_EVERY = 20.0  # seconds
ARRIVING = 56 * 86_400  # the trace's load falls off then
# GPUs, jobs of 16 and 32 GPUs too, policy -> mean wait of all and of the largest jobs in hours.
PRINTED: dict[tuple[int, bool, str], tuple[float, float]] = {
    (512, False, "fifo"): (49.558, 33.759),
    (512, False, "first-fit"): (18.349, 78.129),
    (512, False, "easy"): (45.367, 33.427),
    (400, False, "fifo"): (215.347, 172.268),
    (400, False, "first-fit"): (130.105, 385.059),
    (400, False, "easy"): (204.548, 170.742),
    (64, True, "fifo"): (7940.806, 9246.214),
    (64, True, "first-fit"): (6387.148, 12056.827),
    (64, True, "easy"): (7080.087, 8444.703),
    (128, True, "fifo"): (3186.785, 3658.919),
    (128, True, "first-fit"): (2575.408, 5395.768),
    (128, True, "easy"): (3000.341, 3532.036),
}
PRIORITIES = {100: 0.1, 50: 0.7, 0: 0.2}  # priority -> part of the jobs
PLAIN = ("perdure", "fifo", "easy", "first-fit")
PRIORITISED = ("perdure", "priority")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench gavel", description=__doc__)
    parser.add_argument(
        "--part", nargs="+", choices=("pool", "nodes", "priorities"), default=["pool", "nodes", "priorities"]
    )
    parser.add_argument("--gpus", nargs="+", type=int, default=[512, 400], help="of the parts with nodes")
    parser.add_argument("--policies", nargs="+", help="of the parts with nodes; all that belong to it when left out")
    parser.add_argument("--jobs", type=int, help="only so many, the first to arrive")
    parser.add_argument("--seed", type=int, default=1, help="of the priorities")
    given = parser.parse_args()
    result: dict[str, Any] = {"seed": given.seed}
    if "pool" in given.part:
        result["pool"] = [_printed(*case) for case in PRINTED]
    for part, policies in (("nodes", PLAIN), ("priorities", PRIORITISED)):
        if part in given.part:
            trace = _trace(given.jobs, given.seed if part == "priorities" else None)
            result[part] = [
                found for gpus in given.gpus for found in _compared(trace, gpus, given.policies or policies)
            ]
    report("gavel", GOAL, result)


def prioritised(trace: Trace, seed: int) -> Trace:
    """Each job with a priority, drawn with the parts of `PRIORITIES`."""
    draw = Random(seed)
    drawn = draw.choices(list(PRIORITIES), list(PRIORITIES.values()), k=len(trace.jobs))
    jobs = [
        replace(job, request=replace(job.request, priority=value)) for job, value in zip(trace.jobs, drawn, strict=True)
    ]
    return replace(trace, jobs=tuple(jobs))


def _trace(jobs: int | None, seed: int | None) -> Trace:
    """With run times declared exactly."""
    trace = declared(gavel(folder_of("gavel")), 1, 0)
    trace = trace if seed is None else prioritised(trace, seed)
    return trace if jobs is None else first(trace, jobs)


def _printed(gpus: int, big: bool, policy: str) -> dict[str, Any]:
    """One baseline on a pool, which is one node with all GPUs, and its difference from the printed figures."""
    trace = declared(gavel(folder_of("gavel"), gpus_per_node=gpus, big=big), 1, 0)
    nodes = equal_nodes(1, gpus)
    baseline = BASELINES[policy](nodes)
    baseline.depth = DEPTH
    ran = Loop(nodes, trace, baseline).run()
    found = outcome(policy, trace, ran, dict.fromkeys(ran.ledger.gangs, 0))
    wait, biggest = PRINTED[gpus, big, policy]
    seen = {"mean_wait_h": found.wait.mean / 3600, "biggest_wait_h": found.biggest_wait / 3600}
    say(f"pool of {gpus}, {policy}: mean wait {seen['mean_wait_h']:.2f} h, printed {wait:.2f} h")
    return {
        "gpus": gpus,
        "jobs": found.jobs,
        "policy": policy,
        **{name: round(value, 3) for name, value in seen.items()},
        "printed": {"mean_wait_h": wait, "biggest_wait_h": biggest},
        "difference_percent": round(100 * (seen["mean_wait_h"] / wait - 1), 2),
    }


def _compared(trace: Trace, gpus: int, policies: Sequence[str]) -> list[dict[str, Any]]:
    nodes = equal_nodes(gpus // PER_NODE, PER_NODE)
    queues = tuple(QueueRules(name) for name in trace.queues)
    where = Setting(trace, nodes, queues, documented=False)
    apart = alone(trace.jobs, gpus * 1000)
    found = []
    for policy in policies:
        began = time.perf_counter()
        ran = Loop(nodes, trace, planner(policy, where), progress=_progress(f"{gpus} GPUs, {policy}")).run()
        seconds = time.perf_counter() - began
        row = _row(gpus, outcome(policy, trace, ran, apart), ran, seconds)
        say(f"{gpus} GPUs, {policy}: completion {row['completion_h']['mean']:.1f} h, ratio {row['ratio']['mean']:.2f}")
        found.append(row)
    return found


def _progress(what: str) -> Callable[[int, int], None]:
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > TELL_EVERY:
            told = time.monotonic()
            say(f"{what}: {done} of {total} jobs are over")

    return tell


def _row(gpus: int, found: PolicyOutcome, ran: Ran, seconds: float) -> dict[str, Any]:
    hours = {"mean": found.completion.mean / 3600, "p99": found.completion.p99 / 3600}
    waits = {"mean": found.wait.mean / 3600, "p99": found.wait.p99 / 3600, "biggest": found.biggest_wait / 3600}
    return {
        "gpus": gpus,
        "jobs": found.jobs,
        "policy": found.policy,
        "completion_h": {name: round(value, 2) for name, value in hours.items()},
        "wait_h": {name: round(value, 2) for name, value in waits.items()},
        "ratio": {"mean": found.ratio.mean, "p99": found.ratio.p99, "worst_queue": found.worst_queue_ratio},
        "jain": found.jain,
        "use_56_days_percent": round(100 * ran.series.use(0, ARRIVING), 2),
        "promises": found.promises.model_dump(),
        "evictions": found.evictions,
        "lost_gpu_hours": found.lost_gpu_hours,
        "unfinished": found.unfinished,
        "rounds": found.rounds,
        "milliseconds_per_round": round(1000 * seconds / max(1, found.rounds), 3),
    }


if __name__ == "__main__":
    main()
