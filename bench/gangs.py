"""Gangs in a queue on a real API server: throughput beside plain Jobs and beside Kueue, a gang that displaces others,
and a restart."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from bench import gangs_kueue
from bench.gangs_against import against_preempt, against_throughput
from bench.gangs_preempt import preempt
from bench.gangs_restart import restart
from bench.gangs_rig import field
from bench.gangs_throughput import throughput
from bench.harness import report, say
from deploy.testcluster import cluster
from tests.support.kernels import compile_all
from workers.leave import leave

PARTS = ("throughput", "preempt", "restart")
COMPARED = PARTS[:2]
GOAL = "10 jobs a second, no gang half started; a quarter of the nodes within 3.9 s; a decision 2 s after a start"


def main(words: Sequence[str]) -> int:
    options = _options(words)
    say("loading the kernels")
    compile_all()
    found = {part: _beside(part, options, _measured(part, options)) for part in options.part or PARTS}
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


def _beside(part: str, options: argparse.Namespace, ours: dict[str, Any]) -> dict[str, Any]:
    """With what Kueue does of the same size right after, if that was asked for."""
    if not options.against or part not in COMPARED:
        return ours
    if part == "preempt":
        return {**ours, "against": against_preempt(ours["nodes"])}
    theirs = against_throughput(max(4, options.size // 4), options.size, options.seconds)
    ratio = ours["ours"]["jobs_per_second"] / theirs["jobs_per_second"]
    return {**ours, "against": {**theirs, "ratio": round(ratio, 3)}}


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench gangs", description=__doc__)
    parser.add_argument("--size", type=int, default=2_000, help="gangs; nodes, and jobs of other parts, follow from it")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; may be repeated")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each pod runs where the rate is measured")
    parser.add_argument("--against", action="store_true", help="also with Kueue, after each of ours; needs root")
    options = parser.parse_args(words)
    if options.against and (why := gangs_kueue.lacks()):
        parser.error(f"--against: {why}")
    return options


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
