"""How many GPUs can be given away before fragmentation keeps pods out: the openb trace, against its published results.

`python -m bench openb --workload default --seeds 42-51`. Random, BestFit and FGD are run beside ours: what they differ
from the published means says how far the replay can be trusted.
"""

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from bench.harness import report, say
from bench.openb_replay import LIVES, LIVES_UNSEEN, LOAD, churn, replay
from bench.openb_trace import WORKLOADS, Workload, load_nodes, load_workload, published
from policies.scheduling.scores import LAM

GOAL = "baselines within 0.3 of the published means; ours at least 0.3 above FGD on each workload"
GOAL_CHURN = "ours, with the default setting, no worse than FGD"
POLICIES = ("Random", "BestFit", "FGD", "ours")


def main(words: Sequence[str]) -> int:
    options = _options(words)
    names = WORKLOADS if options.workload == "all" else tuple(options.workload.split(","))
    rows = {}
    for name in names:
        workload = load_workload(name)
        rows[name] = _churned(workload, options) if options.departures else _arrived(workload, options)
        say(f"{name}: {rows[name]['summary']}")
    result = {
        "seeds": options.seeds,
        "order": options.order,
        "lam": options.lam,
        "versions": {package: version(package) for package in ("numpy", "numba")},
        "workloads": rows,
    }
    if options.departures:
        result |= {"load": LOAD, "mean_lives": LIVES, "mean_lives_unseen": LIVES_UNSEEN}
    if options.json:
        report("openb", GOAL_CHURN if options.departures else GOAL, result)
    else:
        print("\n".join(_table(rows)))
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench openb", description=__doc__)
    parser.add_argument("--workload", default="all", help=f"all, or some of {', '.join(WORKLOADS)}, with commas")
    parser.add_argument("--seeds", type=_seeds, default="42-51", help="the first and the last")
    parser.add_argument(
        "--order", choices=("shuffled", "file"), default="shuffled", help="of nodes; ties go to the first"
    )
    parser.add_argument("--departures", action="store_true", help="pods come and go, in place of arrivals alone")
    parser.add_argument("--lam", type=float, help="weight of the second term of our score")
    parser.add_argument("--table", dest="json", action="store_false", help="a table for people, in place of JSON")
    parser.add_argument("--json", action="store_true", default=True, help="one line of JSON, which is the default")
    options = parser.parse_args(words)
    if options.lam is None:
        options.lam = LAM if options.departures else 1.0
    unknown = set(options.workload.split(",")) - {"all", *WORKLOADS}
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    return options


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def _arrived(workload: Workload, options: argparse.Namespace) -> dict[str, Any]:
    """Allocated per cent at 130 % arrival, by policy, beside the published."""
    known, found = published(), dict[str, list[float]]()
    for policy in POLICIES:
        found[policy] = [replay(workload, _nodes(seed, options), policy, seed, options.lam) for seed in options.seeds]
    policies = {policy: _spread(values) for policy, values in found.items()}
    for policy in POLICIES[:-1]:
        mean, deviation = known[workload.name, policy]
        difference = round(statistics.mean(found[policy]) - mean, 3)
        policies[policy] |= {"published": mean, "published_sd": deviation, "difference": difference}
    gains = [ours - fgd for ours, fgd in zip(found["ours"], found["FGD"], strict=True)]
    gain = {"gain": round(statistics.mean(gains), 3), "least_gain_of_a_seed": round(min(gains), 3)}
    summary = f"FGD {policies['FGD']['mean']:.2f}, ours {policies['ours']['mean']:.2f}, gain {gain['gain']:.2f}"
    return {"allocated_gpu_percent": policies, **gain, "summary": summary}


def _churned(workload: Workload, options: argparse.Namespace) -> dict[str, Any]:
    """Mean allocated and dropped per cent while pods come and go."""
    found = {
        policy: [churn(workload, _nodes(seed, options), policy, seed, options.lam) for seed in options.seeds]
        for policy in ("FGD", "ours")
    }
    allocated = {policy: _spread([held for held, _ in pairs]) for policy, pairs in found.items()}
    dropped = {policy: _spread([lost for _, lost in pairs]) for policy, pairs in found.items()}
    gains = [ours - fgd for (ours, _), (fgd, _) in zip(found["ours"], found["FGD"], strict=True)]
    gain = round(statistics.mean(gains), 3)
    summary = f"FGD {allocated['FGD']['mean']:.2f}, ours {allocated['ours']['mean']:.2f}, gain {gain:.2f}"
    return {"allocated_gpu_percent": allocated, "dropped_percent": dropped, "gain": gain, "summary": summary}


def _table(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    policies = list(next(iter(rows.values()))["allocated_gpu_percent"])
    lines = [f"| workload | {' | '.join(policies)} | gain |", "|---" * (len(policies) + 2) + "|"]
    for name, row in rows.items():
        cells = [
            f"{each['mean']:.2f}" + (f" ({each['difference']:+.2f})" if "difference" in each else "")
            for each in row["allocated_gpu_percent"].values()
        ]
        lines.append(f"| {name} | {' | '.join(cells)} | {row['gain']:+.2f} |")
    return lines


def _nodes(seed: int, options: argparse.Namespace) -> list[Any]:
    return list(load_nodes(seed if options.order == "shuffled" else None))


def _spread(values: Sequence[float]) -> dict[str, float]:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": round(statistics.mean(values), 3), "sd": round(deviation, 3)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
