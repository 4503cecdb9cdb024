"""Gangs in a queue on a real API server: throughput beside plain Jobs, a gang that displaces others, and a restart."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from bench.gangs_preempt import preempt
from bench.gangs_restart import restart
from bench.gangs_rig import field
from bench.gangs_throughput import throughput
from bench.harness import report, say
from deploy.testcluster import cluster
from tests.support.kernels import compile_all
from workers.leave import leave

PARTS = ("throughput", "preempt", "restart")
GOAL = "10 jobs a second, no gang half started; a quarter of the nodes within 3.9 s; a decision 2 s after a start"


def main(words: Sequence[str]) -> int:
    options = _options(words)
    say("loading the kernels")
    compile_all()
    found = {part: _measured(part, options) for part in options.part or PARTS}
    report("gangs", GOAL, {**found, "size": options.size, "cluster": cluster.versions(real=False), "seed": None})
    return 0


def _measured(part: str, options: argparse.Namespace) -> dict[str, Any]:
    """Each part has a rig of its own. There are so few nodes that an eighth of all gangs can run at a time."""
    size = options.size
    if part == "throughput":
        with field(max(4, size // 4), options.seconds) as made:
            return throughput(made, size, options.seconds)
    if part == "preempt":
        with field(max(4, size * 3 // 20), None) as made:
            return preempt(made)
    with field(max(4, size // 4), None) as made:
        return restart(made, made.nodes * 4)


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench gangs", description=__doc__)
    parser.add_argument("--size", type=int, default=2_000, help="gangs; nodes, and jobs of other parts, follow from it")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; may be repeated")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each pod runs where the rate is measured")
    return parser.parse_args(words)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
