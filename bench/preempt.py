"""How long a preemption decision takes on 2,000 full nodes, and how much more work is lost than must be.

A gang of whole nodes needs a quarter of all GPUs: in one block of 667 nodes, and in slices of 20 pods that are each
within one rack of 40. The clusters and the exact solver are in `tests/support/preemption.py`, with the mix of sizes.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.harness import report, say, spread
from policies.scheduling.eligible import Rules, anybody, lost_work
from policies.scheduling.model import Near
from policies.scheduling.victims import Proof, find_victims
from tests.support.preemption import MIX, NOW, QUEUES, Cluster, beneficiary, crowded, exact_loss

BLOCK, ANYWHERE, SLICES = "one block", "anywhere", "slices in racks"
GAP = 1e-4  # to which the solver is asked to be exact on 2,000 nodes; on small ones it is


class Case(NamedTuple):
    name: str
    nodes: int
    candidates: int
    width: int  # of a domain
    pods: int
    slice: int = 0  # pods of one slice

    @property
    def near(self) -> Near:
        if self.slice:
            return Near(slice_level="domain", slice_size=self.slice)
        return Near(required="domain" if self.name == BLOCK else None)


LARGE = (Case(BLOCK, 2000, 700, 667, 500), Case(SLICES, 2000, 700, 40, 500, 20))
SMALL = (
    Case(BLOCK, 40, 14, 20, 12),
    Case(BLOCK, 120, 42, 40, 30),
    Case(ANYWHERE, 60, 21, 60, 15),
    Case(SLICES, 40, 14, 8, 12, 4),
    Case(SLICES, 80, 28, 10, 20, 5),
    Case(SLICES, 120, 42, 12, 30, 6),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench preempt", description=__doc__)
    parser.add_argument("--seeds", default="1-5", help="of the clusters with 2,000 nodes: first-last")
    parser.add_argument("--small-seeds", default="1-20", help="of the small ones")
    parser.add_argument("--times", type=int, default=5, help="how often each decision is made on 2,000 nodes")
    options = parser.parse_args()
    seeds, small_seeds = _seeds(options.seeds), _seeds(options.small_seeds)
    result = {
        "nodes_of_a_gang": {str(size or "half"): weight for size, weight in MIX},
        "seeds": options.seeds,
        "large": [_large(case, seeds, options.times) for case in LARGE],
        "small_seeds": options.small_seeds,
        "small": [_small(case, small_seeds) for case in SMALL],
    }
    report("preemption decision", "< 0.1 s; within 1 % of the exact least loss on small cases", result)


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def _large(case: Case, seeds: Sequence[int], times: int) -> dict[str, Any]:
    seconds, victims, excess = [], [], []
    for seed in seeds:
        cluster = _cluster(case, seed)
        for _ in range(times):
            started = time.perf_counter()
            proof = _decided(case, cluster)
            seconds.append(time.perf_counter() - started)
        assert proof is not None, f"seed {seed} has no set of victims"
        victims.append(len(proof.evictions))
        excess.append(_excess(case, cluster, proof, GAP))
        say(f"{case.name}, seed {seed}: {min(seconds[-times:]):.3f} s, {excess[-1]:+.2f} %")
    return {**case._asdict(), "seconds": spread(seconds), "victims": victims, "excess_percent": excess}


def _small(case: Case, seeds: Sequence[int]) -> dict[str, Any]:
    """`excess_percent` has a value for each seed that has a set of victims at all."""
    excess = []
    for seed in seeds:
        cluster = _cluster(case, seed)
        proof = _decided(case, cluster)
        if proof is not None:
            excess.append(_excess(case, cluster, proof, 0.0))
        else:
            assert exact_loss(cluster, beneficiary(case.pods, case.near)) is None, f"seed {seed}: victims were missed"
    say(f"{case.nodes} nodes, {case.name}: {max(excess):+.2f} % at the most")
    summary = {"mean": round(statistics.fmean(excess), 3), **spread(excess)}
    return {**case._asdict(), "solved": len(excess), "excess_percent": summary}


def _cluster(case: Case, seed: int) -> Cluster:
    return crowded(seed, case.nodes, case.candidates, "domain", case.width)


def _decided(case: Case, cluster: Cluster) -> Proof | None:
    request = beneficiary(case.pods, case.near)
    found = find_victims(cluster.nodes, None, request, cluster.running, anybody, NOW, Rules(QUEUES))
    return found if isinstance(found, Proof) else None


def _excess(case: Case, cluster: Cluster, proof: Proof, gap: float) -> float:
    """By how many percent more is lost than by the exact solver's victims."""
    gangs = {gang.request.id: gang for gang in cluster.running}
    lost = sum(lost_work(gangs[eviction.victim], NOW) for eviction in proof.evictions)
    least = exact_loss(cluster, beneficiary(case.pods, case.near), gap)
    assert least, "where victims were found there are some"
    return round((lost / least - 1) * 100, 3)


if __name__ == "__main__":
    main()
