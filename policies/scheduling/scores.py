"""What a node is worth for pods still to come. Placing a pod costs what the node loses of it, and the least loss wins.

value(node) = sum over target classes that it can run of share of the class times GPU parts that the class can use there
            + lam * min(idle GPU parts, free cpu / cpu per GPU part, free memory / memory per GPU part)

The first term asks whether one more pod fits, as fragmentation gradient descent does; the second whether there is
processor and memory for all of the GPU that is left. Score of a node = int(100 * sigmoid(drop / 1000)), drop = what the
pod asks of GPUs - (value before - value after). Coarse scores with a fixed order of nodes are part of the rule: nodes
that are nearly equal are then filled one after the other, and whole ones stay free.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from policies.scheduling.model import WHOLE, Shape
from policies.scheduling.nodes import Ints, Nodes

COVER = 0.95  # of all pods: the most frequent classes that together reach it are the targets
LAM = 0.3  # 1 is best while nothing ends, and costs large pods room once pods come and go


@dataclass(frozen=True, slots=True)
class Scoring:
    """Target classes with how often each occurs, and the weight `lam` of the second term.

    Of a class only processors, GPUs and allowed models count. `cpu_per_part` and `memory_per_part`: what pods ask on
    average beside 1/1000 GPU; 0: unknown, and not looked at. `tight`: among devices with equal scores a pod that shares
    takes the one with least left over, else the first.
    """

    classes: tuple[tuple[Shape, int], ...]
    lam: float = LAM
    cpu_per_part: float = 0.0
    memory_per_part: float = 0.0
    tight: bool = True


class Table(NamedTuple):
    """A Scoring as arrays. Classes that ask for the same GPUs are one of Q groups; K kinds of GPU."""

    share: Ints  # [Q], that a group asks for of each device
    gpus: Ints  # [Q]
    steps: Ints  # [B]: processors that some class asks for, sorted
    weight: Ints  # [K * (B + 1) * Q]: of classes of a group that may use a kind and ask for no more than step b - 1
    total: int  # weight of all classes, those without GPUs too
    lam: float
    per_cpu: float  # GPU parts that one unit serves; 0: not looked at
    per_memory: float
    tight: bool


def learnt(pods: Mapping[Shape, int], lam: float = LAM, cover: float = COVER) -> Scoring:
    """Target classes of pods that were seen, with how often. Equally frequent ones: the first seen."""
    counts: dict[Shape, int] = {}
    for shape, count in pods.items():
        reduced = Shape(cpu=shape.cpu, gpus=shape.gpus, share=shape.share, gpu_models=shape.gpu_models)
        counts[reduced] = counts.get(reduced, 0) + count
    chosen, reached, all_of_them = [], 0, sum(counts.values())
    for shape, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        if reached >= cover * all_of_them:
            break
        chosen.append((shape, count))
        reached += count
    parts = sum(shape.gpus * shape.share * count for shape, count in pods.items())
    cpu = sum(shape.cpu * count for shape, count in pods.items() if shape.gpus)
    memory = sum(shape.memory * count for shape, count in pods.items() if shape.gpus)
    return Scoring(tuple(chosen), lam, cpu / parts if parts else 0.0, memory / parts if parts else 0.0)


def standard(nodes: Nodes, lam: float = LAM) -> Scoring:
    """For a cluster of which nothing is known yet: pods of 1, 2, 4, ... whole GPUs up to a node's, equally often.

    Small pods then fill nodes that are begun, and whole nodes stay free.
    """
    most, parts = int(nodes.gpus.max(initial=0)), int(nodes.gpus.sum()) * WHOLE
    sizes = sorted({most, *(1 << power for power in range(most.bit_length()))} - {0})
    classes = tuple((Shape(gpus=size), 1) for size in sizes)
    if not parts:
        return Scoring(classes, lam)
    with_gpus = nodes.gpus > 0
    return Scoring(
        classes, lam, float(nodes.cpu[with_gpus].sum()) / parts, float(nodes.memory[with_gpus].sum()) / parts
    )


def tabled(scoring: Scoring, nodes: Nodes) -> tuple[Table, Ints]:
    """The arrays of it, and the kind of GPU of each node (int64[N]): nodes of one kind can serve the same classes."""
    models = tuple(sorted(nodes.models))
    kind = np.array([models.index(model) for model in nodes.models], np.int64)[nodes.model]
    wanted = [(shape, weight) for shape, weight in scoring.classes if shape.gpus]
    groups = sorted({(shape.gpus, shape.share) for shape, _ in wanted})
    steps = sorted({shape.cpu for shape, _ in wanted})
    weight: Ints = np.zeros((len(models), len(steps) + 1, len(groups)), np.int64)
    for row, model in enumerate(models):
        for shape, count in wanted:
            if not shape.gpu_models or model in shape.gpu_models:
                weight[row, steps.index(shape.cpu) + 1 :, groups.index((shape.gpus, shape.share))] += count
    table = Table(
        np.array([share for _, share in groups], np.int64),
        np.array([gpus for gpus, _ in groups], np.int64),
        np.array(steps, np.int64),
        weight.reshape(-1),
        max(sum(count for _, count in scoring.classes), 1),
        float(scoring.lam),
        1 / scoring.cpu_per_part if scoring.cpu_per_part else 0.0,
        1 / scoring.memory_per_part if scoring.memory_per_part else 0.0,
        bool(scoring.tight),
    )
    return table, kind
