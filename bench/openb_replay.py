"""Replays of openb under one policy: arrivals alone, as the published results have them, or with pods that end."""

import heapq
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from bench.openb_trace import Ints, Workload
from policies.scheduling.model import WHOLE, Node, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.rows import ScoreRows, numbers
from policies.scheduling.scores import LAM

POLICIES = {"Random", "BestFit", "FGD", "ours"}
LOAD = 1.05  # of all GPUs, offered while pods come and go
LIVES = 10  # mean lives of a pod, of which the first LIVES_UNSEEN only fill the cluster
LIVES_UNSEEN = 3


def replay(workload: Workload, nodes: list[Node], policy: str, seed: int, lam: float = 1.0) -> float:
    """Allocated GPU parts in per cent of all, at 130 % arrival."""
    room = Nodes(nodes)
    capacity = int(room.gpus.sum()) * WHOLE
    order = workload.arrivals(seed, capacity)
    if policy in ("FGD", "ours"):
        rows = score_rows(workload, room, policy, lam)
        rows.fill(np.array([rows.row(shape) for shape in workload.shapes], np.int64)[order], stop=False)
    else:
        asked = np.array([(shape.cpu, shape.memory, shape.gpus, shape.share) for shape in workload.shapes], np.int64)
        may = np.array([room.mask(shape) for shape in workload.shapes])
        draws = np.random.default_rng(seed).random((order.size, 2))
        _baseline(policy == "Random", room.free_cpu, room.free_memory, room.free_gpu, asked, may, order, draws)
    return 100 * (1 - float(np.maximum(room.free_gpu, 0).sum()) / capacity)


def churn(workload: Workload, nodes: list[Node], policy: str, seed: int, lam: float = LAM) -> tuple[float, float]:
    """Mean of allocated GPU parts and of demand that was dropped, in per cent, while pods come and go.

    Pods of the trace arrive at random and live exponentially long, so that they ask for 105 % of all GPUs at a time.
    """
    room = Nodes(nodes)
    capacity = int(room.gpus.sum()) * WHOLE
    rows = score_rows(workload, room, policy, lam)
    numbered = np.array([rows.row(shape) for shape in workload.shapes], np.int64)
    source = np.random.default_rng(seed)
    rate = LOAD * capacity / float(workload.demand[list(workload.pods)].mean())  # arrivals a mean life
    kinds = source.choice(np.array(workload.pods), int(LIVES * rate))
    moments = source.exponential(1 / rate, kinds.size).cumsum()
    ends = moments + source.exponential(1, kinds.size)
    tally = _Tally(room, workload.shapes, workload.demand)
    for number, kind in enumerate(kinds.tolist()):
        tally.until(float(moments[number]))
        placed, where, devices = rows.fill(numbered[kind : kind + 1], stop=False)
        tally.arrived(float(ends[number]), kind, int(where[0]) if placed else -1, int(devices[0]))
    return 100 * tally.held / (tally.time * capacity), 100 * tally.dropped / tally.asked


def score_rows(workload: Workload, room: Nodes, policy: str, lam: float) -> ScoreRows:
    """FGD as published takes the first device of equal score, and has no second term."""
    ours = policy == "ours"
    return ScoreRows(room, workload.scoring(lam if ours else 0.0, ours))


class _Tally:
    """GPU parts held over time, once the cluster is full."""

    def __init__(self, nodes: Nodes, shapes: tuple[Shape, ...], demand: Ints) -> None:
        self._nodes, self._shapes, self._demand = nodes, shapes, demand.tolist()
        self._running: list[tuple[float, int, int, int]] = []
        self._now, self._parts = 0.0, 0
        self.time = self.held = 0.0
        self.dropped = self.asked = 0

    def until(self, moment: float) -> None:
        """Let pods end up to this moment."""
        while self._running and self._running[0][0] <= moment:
            end, kind, node, devices = heapq.heappop(self._running)
            self._pass(end)
            self._nodes.give(self._shapes[kind], node, numbers(devices))
            self._parts -= self._demand[kind]
        self._pass(moment)

    def arrived(self, end: float, kind: int, node: int, devices: int) -> None:
        """A pod that has this node until `end`, or none (-1) and is dropped."""
        seen = self._now >= LIVES_UNSEEN
        self.asked += self._demand[kind] * seen
        if node < 0:
            self.dropped += self._demand[kind] * seen
            return
        heapq.heappush(self._running, (end, kind, node, devices))
        self._parts += self._demand[kind]

    def _pass(self, moment: float) -> None:
        length = moment - max(self._now, LIVES_UNSEEN)
        if length > 0:
            self.time += length
            self.held += length * self._parts
        self._now = moment


def _compiled(function: Callable[..., None]) -> Callable[..., None]:
    made: Callable[..., None] = numba.njit(cache=True)(function)
    return made


@_compiled
def _baseline(
    chance: bool, cpu: Ints, memory: Ints, gpu: Ints, asked: Ints, may: NDArray[np.bool_], order: Ints,
    draws: NDArray[np.float64],
) -> None:  # fmt: skip
    """Random: any node that fits, any device that fits. BestFit: the node with least processors and GPUs left, in equal
    parts of the largest node's, and the device with least left."""
    fits = np.zeros(cpu.size, np.bool_)
    for i in range(order.size):
        need, best, chosen, able = asked[order[i]], -1.0, -1, 0
        for n in range(cpu.size):
            devices, idle = 0, 0
            for g in range(gpu.shape[1]):
                devices += int(gpu[n, g] >= need[3])
                idle += max(gpu[n, g], 0)
            fits[n] = may[order[i], n] and cpu[n] >= need[0] and memory[n] >= need[1] and devices >= need[2]
            if fits[n]:
                able += 1
                score = 2.0 - (cpu[n] - need[0]) / 128000 - (idle - need[2] * need[3]) / 8000
                if score > best:
                    best, chosen = score, n
        if able == 0:
            continue
        if chance:
            chosen = np.flatnonzero(fits)[int(draws[i, 0] * able)]
        free = gpu[chosen]
        cpu[chosen] -= need[0]
        memory[chosen] -= need[1]
        if need[2] == 1:
            able_devices = np.flatnonzero(free >= need[3])
            if chance:
                free[able_devices[int(draws[i, 1] * able_devices.size)]] -= need[3]
            else:
                free[able_devices[np.argmin(free[able_devices])]] -= need[3]
        elif need[2] > 1:
            free[np.flatnonzero(free >= need[3])[: need[2]]] -= need[3]
