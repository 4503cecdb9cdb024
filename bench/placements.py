"""Placements a second on one core: the openb nodes, and pods of its default workload stretched to many shapes."""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.harness import report, say
from bench.openb_trace import Workload, load_nodes, load_workload
from policies.scheduling.model import Refusal, Request, Role, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.placing import Placer
from policies.scheduling.scores import LAM, learnt

GOAL = "at least 50,000 placements a second with 500 distinct shapes in use"
STRETCHED = (0.5, 0.75, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)  # of processors and memory; in steps of 1/8 core and 64 MiB
FIRST_SEED = 42


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench placements", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="the best and the median are told")
    parser.add_argument("--stretched", type=float, default=0.45, help="share of pods that are stretched")
    options = parser.parse_args(words)
    workload = load_workload("default")
    begun = time.perf_counter()
    _run(workload, FIRST_SEED, options.stretched)
    warm = time.perf_counter() - begun
    runs = [_run(workload, FIRST_SEED + number, options.stretched) for number in range(options.runs)]
    rates = sorted(run["placements_per_second"] for run in runs)
    say(f"{rates[-1]:.0f} placements a second at best, {rates[len(rates) // 2]:.0f} in the middle")
    result: dict[str, Any] = {
        "placements_per_second": rates[-1],
        "median": rates[len(rates) // 2],
        "shapes_in_use": min(run["shapes_in_use"] for run in runs),
        "one_gang_at_a_time_per_second": _singly(workload),
        "warm_up_seconds": round(warm, 2),
        "nodes": len(load_nodes()),
        "lam": LAM,
        "seeds": [FIRST_SEED + number for number in range(options.runs)],
        "versions": {package: version(package) for package in ("numpy", "numba")},
        "runs": runs,
    }
    report("placements", GOAL, result)
    return 0


def _run(workload: Workload, seed: int, stretched: float) -> dict[str, Any]:
    """Arrivals until pods ask for 130 % of all GPUs, each placed alone. Only placed pods and their shapes count."""
    nodes = Nodes(load_nodes(seed))
    pods = _stretch(workload, seed, stretched, int(nodes.gpus.sum()) * 1000)
    counts = {shape: pods.count(shape) for shape in dict.fromkeys(pods)}
    placer = Placer(nodes, learnt(counts))
    begun = time.perf_counter()
    where, _ = placer.place_each(pods)
    seconds = time.perf_counter() - begun
    placed = [pods[number] for number in np.flatnonzero(where >= 0)]
    return {
        "placements_per_second": round(len(placed) / seconds),
        "placed": len(placed),
        "arrived": len(pods),
        "shapes_in_use": len(set(placed)),
        "shapes": len(counts),
        "seconds": round(seconds, 4),
    }


def _stretch(workload: Workload, seed: int, stretched: float, capacity: int) -> list[Shape]:
    source = random.Random(seed)
    pods = [workload.shapes[number] for number in workload.arrivals(seed, capacity)]
    return [_stretched(shape, source.choice(STRETCHED)) if source.random() < stretched else shape for shape in pods]


def _stretched(shape: Shape, times: float) -> Shape:
    return replace(shape, cpu=round(shape.cpu * times / 125) * 125, memory=round(shape.memory * times / 2**26) * 2**26)


def _singly(workload: Workload) -> int:
    """Placements a second when each pod is a gang of its own that is asked for by itself."""
    nodes = Nodes(load_nodes(FIRST_SEED))
    pods = [workload.shapes[number] for number in workload.arrivals(FIRST_SEED, int(nodes.gpus.sum()) * 1000)][:5000]
    placer = Placer(nodes, workload.scoring(LAM, True))
    requests = [Request(str(number), "queue", (Role("pod", 1, shape),)) for number, shape in enumerate(pods)]
    begun = time.perf_counter()
    placed = sum(not isinstance(placer.place(request), Refusal) for request in requests)
    return round(placed / (time.perf_counter() - begun))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
