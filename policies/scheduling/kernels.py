"""The hot loops of placing pods, compiled. With NUMBA_DISABLE_JIT=1 the same source runs as plain Python.

Each shape has a row of scores, one for each node, that is brought up to date only when a pod of that shape is to be
placed, and only for nodes whose stamp is newer than the row.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from policies.scheduling.model import WHOLE
from policies.scheduling.scores import Table

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
P = ParamSpec("P")
R = TypeVar("R")

NO = -1  # the score of a node that cannot take the pod
UNKNOWN = -2


class State(NamedTuple):
    """What the loops read and change of N nodes with at most G devices and P slice profiles; Q groups of the table."""

    cpu: Ints  # [N], free
    memory: Ints  # [N], free
    gpu: Ints  # [N, G], free
    slices: Ints  # [N, P], free
    open: Flags  # [N]
    stamp: Ints  # [N]
    clock: Ints  # [1]
    kind: Ints  # [N], of GPU
    twin: Ints  # [N]: nodes with the same number are the same while nothing is on them
    weighed: Ints  # [N]: the stamp at which the following were right
    whole: Ints  # [N]: GPUs that nobody has a part of
    largest: Ints  # [N]: the most parts that are free of one GPU
    idle: Ints  # [N]: GPU parts that nobody has
    usable: Ints  # [N]: weighted GPU parts that target classes can use
    fluid: Floats  # [N]
    enough: Ints  # [N * Q]: devices with at least a group's share free
    held: Ints  # [N * Q]: what is free on those
    twin_score: NDArray[np.int16]  # [T], scratch
    twin_device: NDArray[np.int8]  # [T], scratch


class Rows(NamedTuple):
    """Shapes that were asked for so far, S of them."""

    asked: Ints  # [S, 4 + P]: cpu, memory, GPUs, share of each, slices by profile
    may: Flags  # [S, N]
    score: NDArray[np.int16]  # [S, N]
    device: NDArray[np.int8]  # [S, N]: the one to share
    seen: Ints  # [S]: the clock when the row was right; -1: never
    failed: Ints  # [S]: what `given` was when no node could take it; -1: it did not fail


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """No memory is taken in these loops. Without the counting of references that only it would need they are nine times
    faster: each array that is passed on costs two locked instructions."""
    options: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
    return cast(Callable[P, R], numba.njit(**options)(function))


@compiled
def place(
    state: State, table: Table, rows: Rows, order: Ints, allowed: Flags, spread: bool, stop: bool, given: int,
    nodes: Ints, devices: Ints,
) -> int:  # fmt: skip
    """Place pods of the shapes `order` (rows), one after the other, and take their room. Returns how many it placed.

    `nodes[i]` becomes the node of pod i, -1 if there is none, and `devices[i]` its GPUs as bits. `spread`: no two on
    one node, by changing `allowed`. `stop`: at the first that finds no node. `given`: the count of capacity given back
    if all nodes are allowed, -1 if not: what fails on some may fit on others.
    """
    placed = 0
    for i in range(order.size):
        row = order[i]
        nodes[i] = -1
        if rows.failed[row] != given or given < 0:
            _update(state, table, rows, row)
            nodes[i] = _best(rows.score[row], allowed)
            if nodes[i] < 0 and given >= 0:
                rows.failed[row] = given
        if nodes[i] < 0:
            if stop:
                return placed
            continue
        state.clock[0] += 1
        state.stamp[nodes[i]] = state.clock[0]
        device = rows.device[row, nodes[i]]
        devices[i] = _take(state.cpu, state.memory, state.gpu, state.slices, rows.asked[row], nodes[i], device)
        placed += 1
        if spread:
            allowed[nodes[i]] = False
    return placed


@compiled
def _best(score: NDArray[np.int16], allowed: Flags) -> int:
    """The first of the allowed nodes with the highest score; -1 if none can take the pod."""
    best, where = -1, -1
    for n in range(score.size):
        if score[n] > best and allowed[n]:
            best, where = score[n], n
    return where


@compiled
def _update(state: State, table: Table, rows: Rows, row: int) -> None:
    """Look again at the nodes that changed since the row was right, of those that nothing ever was on one of a kind."""
    seen, stamp, twin, twins = rows.seen[row], state.stamp, state.twin, state.twin_score
    score, device, asked, may = rows.score[row], rows.device[row], rows.asked[row], rows.may[row]
    if seen < 0:
        twins[:] = UNKNOWN
    for n in range(stamp.size):
        if stamp[n] <= seen:
            continue
        score[n] = NO
        if state.weighed[n] != stamp[n]:
            _weigh(state, table, n)
        if not (may[n] and state.open[n]):
            continue
        if not _fits(state.cpu, state.memory, state.whole, state.largest, state.slices, asked, n):
            continue
        fresh = seen < 0 and stamp[n] == 0
        if fresh and twins[twin[n]] != UNKNOWN:
            score[n], device[n] = twins[twin[n]], state.twin_device[twin[n]]
            continue
        score[n], device[n] = _evaluate(
            table, state.cpu, state.memory, state.gpu, state.idle, state.usable, state.fluid, state.enough, state.held,
            state.kind[n], asked, n,
        )  # fmt: skip
        if fresh:
            twins[twin[n]], state.twin_device[twin[n]] = score[n], device[n]
    rows.seen[row] = state.clock[0]


@compiled
def _fits(cpu: Ints, memory: Ints, whole: Ints, largest: Ints, slices: Ints, asked: Ints, n: int) -> bool:
    if (asked[0] and cpu[n] < asked[0]) or (asked[1] and memory[n] < asked[1]):
        return False
    if (asked[2] == 1 and largest[n] < asked[3]) or (asked[2] > 1 and whole[n] < asked[2]):
        return False
    short = False
    for p in range(slices.shape[1]):
        short = short or (asked[4 + p] > 0 and slices[n, p] < asked[4 + p])
    return not short


@compiled
def _weigh(state: State, table: Table, n: int) -> None:
    """What the node has and is worth as it is."""
    gpu, groups = state.gpu, table.share.size
    idle, whole, largest, usable = 0, 0, 0, 0
    for g in range(gpu.shape[1]):
        idle += max(gpu[n, g], 0)
        whole += int(gpu[n, g] >= WHOLE)
        largest = max(largest, gpu[n, g])
    first = _first(table.steps, state.kind[n], state.cpu[n]) * groups
    for q in range(groups):
        enough, held = 0, 0
        for g in range(gpu.shape[1]):
            if gpu[n, g] >= table.share[q]:
                enough += 1
                held += gpu[n, g]
        state.enough[n * groups + q], state.held[n * groups + q] = enough, held
        if enough >= table.gpus[q]:
            usable += table.weight[first + q] * held
    state.idle[n], state.whole[n], state.largest[n], state.usable[n] = idle, whole, largest, usable
    state.fluid[n] = _fluid(table.per_cpu, table.per_memory, idle, state.cpu[n], state.memory[n])
    state.weighed[n] = state.stamp[n]


@compiled
def _first(steps: Ints, kind: int, cpu: int) -> int:
    """The row of weights of those classes of a kind that ask for no more processors than this."""
    step, above = 0, steps.size
    while step < above:
        middle = (step + above) // 2
        if steps[middle] <= cpu:
            step = middle + 1
        else:
            above = middle
    return kind * (steps.size + 1) + step


@compiled
def _kept(
    share: Ints, need: Ints, weight: Ints, enough: Ints, held: Ints, first: int, start: int, gpus: int, free: int,
    less: int,
) -> int:  # fmt: skip
    """GPU parts that classes can use once `less` is gone of each of `gpus` devices with `free` left, weighted.

    Weights from `first`, the node's groups from `start` on. Numbers without sign, as the loop is then a plain one.
    """
    found, row, base = 0, np.uint64(first), np.uint64(start)
    for q in range(np.uint64(share.size)):
        lost, kept = int(share[q] <= free), int(share[q] <= free - less)
        if enough[base + q] - gpus * (lost - kept) >= need[q]:
            found += weight[row + q] * (held[base + q] - gpus * (free * lost - (free - less) * kept))
    return found


@compiled
def _fluid(per_cpu: float, per_memory: float, idle: int, cpu: int, memory: int) -> float:
    """GPU parts that could be used if pods were as fine as sand."""
    found = float(idle)
    if per_cpu > 0:
        found = min(found, cpu * per_cpu)
    if per_memory > 0:
        found = min(found, memory * per_memory)
    return found


@compiled
def _evaluate(
    table: Table, cpu: Ints, memory: Ints, gpu: Ints, idle: Ints, usable: Ints, fluid: Floats, enough: Ints, held: Ints,
    kind: int, asked: Ints, n: int,
) -> tuple[int, int]:  # fmt: skip
    """Score of the node for a pod that fits on it, and the device that it would share (0 if it shares none)."""
    gpus, share = asked[2], asked[3]
    cpu_after, demand, other = cpu[n] - asked[0], gpus * share, 0.0
    if table.lam > 0:
        after = _fluid(table.per_cpu, table.per_memory, idle[n] - demand, cpu_after, memory[n] - asked[1])
        other = table.lam * (fluid[n] - after)
    sharing = gpus == 1 and share < WHOLE
    first, start = _first(table.steps, kind, cpu_after) * table.share.size, n * table.share.size
    best, chosen, left = -1, 0, 0
    for g in range(gpu.shape[1] if sharing else 1):
        free = WHOLE
        if sharing:
            free = gpu[n, g]
            if free < share or _among(gpu, n, g):
                continue
        kept = _kept(table.share, table.gpus, table.weight, enough, held, first, start, gpus, free, share)
        drop = demand - (usable[n] - kept) / table.total - other
        score = int(100 / (1 + math.exp(-drop / 1000)))
        if score > best or (score == best and table.tight and free < left):
            best, chosen, left = score, g, free
    return best, chosen


@compiled
def _among(gpu: Ints, n: int, g: int) -> bool:
    """Whether a device before g has as much free: it scores the same, and the first of them is taken."""
    before = 0
    while gpu[n, before] != gpu[n, g]:
        before += 1
    return before < g


@compiled
def _take(cpu: Ints, memory: Ints, gpu: Ints, slices: Ints, asked: Ints, n: int, device: int) -> int:
    """Take the pod's room; its devices as bits: the one chosen to share, or the first that are whole."""
    cpu[n] -= asked[0]
    memory[n] -= asked[1]
    for p in range(slices.shape[1]):
        slices[n, p] -= asked[4 + p]
    gpus, share, bits = asked[2], asked[3], 0
    if gpus == 1 and share < WHOLE:
        gpu[n, device] -= share
        return 1 << int(device)
    for g in range(gpu.shape[1]):
        if gpus > 0 and gpu[n, g] >= share:
            gpu[n, g] -= share
            gpus -= 1
            bits |= 1 << g
    return bits
