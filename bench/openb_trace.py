"""The openb trace: nodes, the pods of each workload, published results, and the order in which pods arrive."""

import csv
import gzip
import random
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.model import WHOLE, Node, Shape
from policies.scheduling.scores import Scoring, learnt

DATA = Path(__file__).parent / "data" / "openb"
MIB = 1024**2
ARRIVAL = 1.3  # of all GPUs: where results are read
WORKLOADS = (
    "default", "cpu050", "cpu100", "cpu200", "cpu250", "gpushare40", "gpushare60", "gpushare80", "gpushare100",
    "gpuspec10", "gpuspec20", "gpuspec25", "gpuspec33", "multigpu20", "multigpu30", "multigpu40", "multigpu50",
)  # fmt: skip

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Workload:
    """`pods`: for each pod of the trace which of the distinct `shapes` it has."""

    name: str
    shapes: tuple[Shape, ...]
    pods: tuple[int, ...]

    @cached_property
    def demand(self) -> Ints:
        """int64[S]: GPU parts that a pod of each shape asks for."""
        return np.array([shape.gpus * shape.share for shape in self.shapes], np.int64)

    def scoring(self, lam: float, tight: bool) -> Scoring:
        """Target classes of the whole trace, as the published results have them."""
        counts = Counter(self.pods)
        found = learnt({shape: counts[number] for number, shape in enumerate(self.shapes)}, lam)
        return Scoring(found.classes, found.lam, found.cpu_per_part, found.memory_per_part, tight)

    def arrivals(self, seed: int, capacity: int) -> Ints:
        """Shapes in order of arrival: the trace shuffled, then pods drawn from it, until they ask for 130 % of all
        GPU parts; a longer trace is cut there."""
        source = random.Random(seed)
        asked, drawn = int(self.demand[list(self.pods)].sum()), list[int]()
        while True:
            pod = self.pods[source.randrange(len(self.pods))]
            if asked + self.demand[pod] > ARRIVAL * capacity:
                break
            asked += int(self.demand[pod])
            drawn.append(pod)
        head = list(self.pods)
        source.shuffle(head)
        order: Ints = np.array(head + drawn, np.int64)
        return order[: int(np.searchsorted(self.demand[order].cumsum(), ARRIVAL * capacity)) + 1]


def load_nodes(seed: int | None = None) -> list[Node]:
    """All nodes; in an order of this seed's, or of the file."""
    with (DATA / "openb_node_list_gpu_node.csv").open() as file:
        nodes = [
            Node(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]) * MIB, int(row["gpu"]), row["model"])
            for row in csv.DictReader(file)
        ]
    if seed is not None:
        random.Random(1000 + seed).shuffle(nodes)
    return nodes


def load_workload(name: str) -> Workload:
    with gzip.open(DATA / f"openb_pod_list_{name}.csv.gz", "rt") as file:
        shapes = [_shape(row) for row in csv.DictReader(file)]
    numbers = {shape: number for number, shape in enumerate(dict.fromkeys(shapes))}
    return Workload(name, tuple(numbers), tuple(numbers[shape] for shape in shapes))


def published() -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and standard deviation of ten seeds at 130 % arrival, by workload and policy."""
    with (DATA / "expected" / "summary_by_policy.csv").open() as file:
        return {
            (row["workload"], row["policy"]): (
                float(row["alloc_pct_at_arrival_130"]),
                float(row["alloc_pct_130_stdev"]),
            )
            for row in csv.DictReader(file)
        }


def _shape(row: dict[str, str]) -> Shape:
    gpus = int(row["num_gpu"])
    return Shape(
        cpu=int(row["cpu_milli"]),
        memory=int(row["memory_mib"]) * MIB,
        gpus=gpus,
        share=int(row["gpu_milli"]) if gpus else WHOLE,
        gpu_models=tuple(sorted(filter(None, (row.get("gpu_spec") or "").split("|")))),
    )
