"""One round of the scheduler: who is next by quota and share, and where it goes, with arrays that are kept.

320,000 gangs wait in 500 queues below 10 organisations of 10 departments, in 4 priorities, for 1,000 nodes of 8 GPUs.
Between rounds 5 % of what runs ends, and as many gangs arrive as have started.
"""

import argparse
import gc
import random
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from bench.harness import report, say, spread
from policies.scheduling.demands import capacity
from policies.scheduling.model import Node, Pod, QueueRules, Quota, Refusal, Request, Role, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.order import Round, places
from policies.scheduling.placing import Placer
from policies.scheduling.quotas import Quotas
from policies.scheduling.scores import standard
from policies.scheduling.waiting import Waiting

GOAL = "a round in less than 0.3 s"
GIB = 1 << 30
GPUS, MEMORY, MODEL = 8, 1024 * GIB, "a100"  # of a node
ORGANISATIONS, DEPARTMENTS, TEAMS, PRIORITIES = 10, 10, 5, 4
PODS, SMALL = 16, (1, 1, 2, 4)  # the most pods of 8 GPUs in a gang; GPUs of the only pod of other gangs
MIX = (
    "half of the shapes 1-16 pods of 8 GPUs, the other half one pod of 1 (twice as often), 2 or 4; all equally popular"
)


def main(words: Sequence[str]) -> int:
    options = _options(words)
    made = [_node(number, options.cores) for number in range(options.nodes)]
    _Bench(200, 50, made[:20], options.seed).round()  # loads what is compiled
    bench = _Bench(options.waiting, options.shapes, made, options.seed)
    say(f"{options.waiting} gangs wait")
    sorting = bench.sort()
    gc.freeze()
    first = bench.round()
    rounds = []
    for _ in range(options.rounds):
        bench.change()
        rounds.append(bench.round())
    seconds = spread([each["seconds"] for each in rounds], 4)
    say(f"first round {first['seconds']:.3f} s, later ones {seconds['p50']:.3f} s")
    result: dict[str, Any] = {
        "seconds": seconds,
        "first_seconds": first["seconds"],
        "sorting_all_seconds": sorting,
        "processor_seconds": spread([each["processor_seconds"] for each in rounds], 4),
        "waiting": options.waiting,
        "distinct_shapes": len({kind[0] for kind in bench.waiting.kinds}),
        "queues": ORGANISATIONS * DEPARTMENTS * TEAMS,
        "nodes": options.nodes,
        "cores_of_a_node": options.cores,
        "mix": MIX,
        "places_of_all_seconds": bench.places(),
        "seed": options.seed,
        "versions": {package: version(package) for package in ("numpy", "numba")},
        "rounds": [first, *rounds],
    }
    report("round", GOAL, result)
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench round", description=__doc__)
    parser.add_argument("--waiting", type=int, default=320_000)
    parser.add_argument("--shapes", type=int, default=2_000, help="distinct gangs")
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument(
        "--cores", type=int, default=128, help="of a node; fewer make more gangs fail where GPUs are free"
    )
    parser.add_argument("--rounds", type=int, default=8, help="after the first, which fills the empty nodes")
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args(words)


class _Bench:
    def __init__(self, waiting: int, shapes: int, made: Sequence[Node], seed: int) -> None:
        self.source = random.Random(seed)
        self.teams, rules = _queues(self.source)
        self.kinds = [_roles(number, self.source) for number in range(shapes)]
        self.nodes = Nodes(made)
        self.placer = Placer(self.nodes, standard(self.nodes))
        self.quotas = Quotas(rules, capacity(made))
        self.waiting = Waiting()
        self.running: dict[str, tuple[Request, tuple[Pod, ...]]] = {}
        self.begun: list[tuple[Request, tuple[Pod, ...]]] = []
        self.count = 0
        self.arrive(waiting)

    def arrive(self, count: int) -> None:
        for _ in range(count):
            self.count += 1
            self.waiting.add(
                Request(
                    id=f"j{self.count}",
                    queue=self.source.choice(self.teams),
                    roles=self.source.choice(self.kinds),
                    submitted=self.count,
                    priority=self.source.randrange(PRIORITIES),
                )
            )

    def sort(self) -> float:
        """Seconds to sort all that waits, which happens once."""
        begun = time.perf_counter()
        self.waiting.settle()
        return round(time.perf_counter() - begun, 4)

    def change(self) -> None:
        """What happens between rounds: 5 % of what runs ends, and as many gangs come as have left."""
        for name in self.source.sample(sorted(self.running), len(self.running) // 20):
            request, pods = self.running.pop(name)
            self.placer.undo(request, pods)
            self.quotas.remove(request.queue, self.quotas.demand(request))
        self.arrive(len(self.begun))

    def round(self) -> dict[str, Any]:
        """Everything that a round needs: arrays brought up to date, order, limits, places."""
        begun, processor = time.perf_counter(), time.process_time()
        placing, refused = 0.0, 0
        self.begun = []
        order = Round(self.waiting, self.quotas)
        ready = time.perf_counter() - begun
        for number in order:
            request = self.waiting.request(number)
            before = time.perf_counter()
            placed = self.placer.place(request)
            placing += time.perf_counter() - before
            if isinstance(placed, Refusal):
                refused += 1
                order.failed(number, whole_shape=True)
            else:
                order.started(number)
                self.begun.append((request, placed))
        for request, placed in self.begun:
            self.waiting.remove(request.id)
            self.running[request.id] = (request, placed)
        return {
            "seconds": round(time.perf_counter() - begun, 4),
            "processor_seconds": round(time.process_time() - processor, 4),
            "arrays_seconds": round(ready, 4),
            "placing_seconds": round(placing, 4),
            "tries": order.tries,
            "starts": len(self.begun),
            "pods": sum(len(pods) for _, pods in self.begun),
            "kinds_refused": refused,
            "gpus_in_use": self.quotas.used("", "gpu") // 1000,
        }

    def places(self) -> float:
        """Seconds to tell every waiting gang its place in the order."""
        begun = time.perf_counter()
        places(self.waiting, self.quotas)
        return round(time.perf_counter() - begun, 3)


def _node(number: int, cores: int) -> Node:
    return Node(f"n{number}", cores * 1000, MEMORY, GPUS, MODEL)


def _queues(source: random.Random) -> tuple[list[str], list[QueueRules]]:
    """Three levels, weights 1 to 3; an organisation is guaranteed 200 GPUs and may have 1,600, every other team 8."""
    teams, rules = [], []
    for organisation in range(ORGANISATIONS):
        top = f"o{organisation}"
        rules.append(QueueRules(top, weight=source.randint(1, 3), quotas={"gpu": Quota(200_000, 1_600_000)}))
        for department in range(DEPARTMENTS):
            middle = f"{top}.d{department}"
            rules.append(QueueRules(middle, top, weight=source.randint(1, 3)))
            for team in range(TEAMS):
                teams.append(f"{middle}.t{team}")
                quotas = {"gpu": Quota(8_000)} if team % 2 else {}
                rules.append(QueueRules(teams[-1], middle, weight=source.randint(1, 3), quotas=quotas))
    return teams, rules


def _roles(number: int, source: random.Random) -> tuple[Role, ...]:
    """The number goes into the memory, so that no two shapes are equal."""
    pods, gpus = (source.randint(1, PODS), GPUS) if number % 2 else (1, source.choice(SMALL))
    cpu, memory = gpus * 1000 * source.randint(4, 15), gpus * 64 * GIB + number * (1 << 20)
    return (Role("worker", pods, Shape(cpu, memory, gpus, gpu_models=(MODEL,))),)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
