"""The loops of the order: shares down a tree of queues, and the next gang of a queue that may start.

Rows are queues, parents before their children; row 0 is the pool. R resources, W waiting gangs in their order, K kinds
of gangs, B bands (reserved or not, then priority). Compiled by numba; the first call of a process loads the cache.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

WAITING, STARTED, FAILED = 0, 1, 2
NEARLY = 1e-9  # shares closer than this are equal, and age decides

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Tree(NamedTuple):
    parent: Ints  # [N]
    begin: Ints  # [N + 1] into child
    child: Ints
    depth: Ints  # [N], 1 right below the pool
    weight: Floats  # [N]
    guarantee: Ints  # [N, R]
    total: Floats  # [R], at least 1
    past: Floats  # [N, R], of leaves
    used: Ints  # [N, R], in and below
    vector: Floats  # [N, R], as the row above sees it
    share: Floats  # [N]
    blocked: Flags  # [N]: nothing in or below it can start
    age: Ints  # [N], when the oldest of the next ones was submitted
    saturated: Flags  # [R]


class Line(NamedTuple):
    kind: Ints  # [W]
    beside: Ints  # [W], row of beside_room
    submitted: Ints  # [W]
    state: NDArray[np.int8]  # [W]
    asks: Ints  # [K, R]
    dead: Flags  # [K]: failed for the whole round
    room: Ints  # [N, R], the most that limits allow; never too little
    beside_room: Ints  # [X, R]
    begin: Ints  # [B, N]: where the gangs of a band and queue begin and end
    end: Ints  # [B, N]
    left: Ints  # [B, N]: of them not started
    cursor: Ints  # [N]
    strict: Flags  # [N]


@njit(cache=True)
def open_band(tree: Tree, line: Line, band: int, levels: int) -> None:
    """Find the first gang of each queue in a band. `levels`: see `find`."""
    rows = len(tree.parent)
    for row in range(rows - 1, -1, -1):
        if tree.begin[row] == tree.begin[row + 1]:
            line.cursor[row] = line.begin[band, row]
            tree.blocked[row] = True
            if line.begin[band, row] < line.end[band, row] and not _waits(line, band, row):
                step(tree, line, band, row, levels)
            _leaf(tree, row)
        else:
            _inner(tree, row)


@njit(cache=True)
def step(tree: Tree, line: Line, band: int, leaf: int, levels: int) -> int:
    """Go to the first gang at or after the cursor that may start, -1 if none; shares are left as they were."""
    at = find(tree, line, band, leaf, levels)
    tree.blocked[leaf] = at < 0
    if at >= 0:
        line.cursor[leaf] = at
        tree.age[leaf] = line.submitted[at]
    return at


@njit(cache=True)
def find(tree: Tree, line: Line, band: int, leaf: int, levels: int) -> int:
    """The first gang of the leaf that is within limits and, with `levels`, within the guarantees of so many levels from
    the top. In a strict queue only the first that has not started is looked at."""
    strict = line.strict[leaf]
    for at in range(line.cursor[leaf], line.end[band, leaf]):
        if line.state[at] == STARTED:
            continue
        kind = line.kind[at]
        if line.state[at] == WAITING and not line.dead[kind]:
            asks = line.asks[kind]
            fits = _fits(asks, line.room[leaf]) and _fits(asks, line.beside_room[line.beside[at]])
            if fits and (levels == 0 or _within(tree, asks, leaf, levels)):
                return at
        if strict:
            return -1
    return -1


@njit(cache=True)
def select(tree: Tree) -> int:
    """The leaf whose turn it is, from the top down: lowest share, then oldest gang, then first row. -1: all blocked."""
    row = 0
    if tree.blocked[row]:
        return -1
    while tree.begin[row] < tree.begin[row + 1]:
        lowest = np.inf
        for at in range(tree.begin[row], tree.begin[row + 1]):
            child = tree.child[at]
            if not tree.blocked[child] and tree.share[child] < lowest:
                lowest = tree.share[child]
        best = -1
        for at in range(tree.begin[row], tree.begin[row + 1]):
            child = tree.child[at]
            if tree.blocked[child] or tree.share[child] > lowest + NEARLY:
                continue
            if best < 0 or tree.age[child] < tree.age[best]:
                best = child
        row = best
    return row


@njit(cache=True)
def refresh(tree: Tree, leaf: int) -> None:
    """Of a leaf and all rows above it."""
    _leaf(tree, leaf)
    row = tree.parent[leaf]
    while row >= 0:
        _inner(tree, row)
        row = tree.parent[row]


@njit(cache=True)
def refresh_all(tree: Tree) -> None:
    for row in range(len(tree.parent) - 1, -1, -1):
        if tree.begin[row] == tree.begin[row + 1]:
            _leaf(tree, row)
        else:
            _inner(tree, row)


@njit(cache=True)
def use(tree: Tree, leaf: int, amounts: Ints) -> None:
    row = leaf
    while row >= 0:
        tree.used[row] += amounts
        row = tree.parent[row]


@njit(cache=True)
def drain(tree: Tree, line: Line, bands: Ints, levels: Ints, places: Ints) -> int:
    """Start every gang in turn and note its place, from 1; tree and line are used up. Returns how many there were."""
    count = 0
    for turn in range(len(bands)):
        open_band(tree, line, bands[turn], levels[turn])
        leaf = select(tree)
        while leaf >= 0:
            at = step(tree, line, bands[turn], leaf, levels[turn])
            if at >= 0:
                count += 1
                places[at] = count
                line.state[at] = STARTED
                line.left[bands[turn], leaf] -= 1
                use(tree, leaf, line.asks[line.kind[at]])
                line.cursor[leaf] = at + 1
                step(tree, line, bands[turn], leaf, levels[turn])
            refresh(tree, leaf)
            leaf = select(tree)
    return count


@njit(cache=True)
def _waits(line: Line, band: int, leaf: int) -> bool:
    """A strict queue of which somebody before this band has not started."""
    if line.strict[leaf]:
        for before in range(band):
            if line.left[before, leaf] > 0:
                return True
    return False


@njit(cache=True)
def _fits(asks: Ints, room: Ints) -> bool:
    for resource in range(len(asks)):  # noqa: SIM110 (a generator cannot be compiled)
        if asks[resource] > room[resource]:
            return False
    return True


@njit(cache=True)
def _within(tree: Tree, asks: Ints, leaf: int, levels: int) -> bool:
    """Each of the topmost `levels` rows guarantees something that is asked, and none would exceed a guarantee."""
    row = leaf
    while row > 0:
        if tree.depth[row] <= levels:
            named = False
            for resource in range(len(asks)):
                guarantee = tree.guarantee[row, resource]
                if asks[resource] > 0 and guarantee > 0:
                    named = True
                    if tree.used[row, resource] + asks[resource] > guarantee:
                        return False
            if not named:
                return False
        row = tree.parent[row]
    return True


@njit(cache=True)
def _leaf(tree: Tree, row: int) -> None:
    for resource in range(len(tree.total)):
        tree.vector[row, resource] = (tree.used[row, resource] + tree.past[row, resource]) / tree.total[resource]
    tree.share[row] = _share(tree, row, False)


@njit(cache=True)
def _inner(tree: Tree, row: int) -> None:
    """Sum the children, each scaled down to the share of the lowest that is not blocked; what is guaranteed stays."""
    lowest, age, blocked = np.inf, np.int64(2**62), True
    for at in range(tree.begin[row], tree.begin[row + 1]):
        child = tree.child[at]
        if not tree.blocked[child]:
            blocked = False
            lowest = min(lowest, tree.share[child])
            age = min(age, tree.age[child])
    tree.blocked[row], tree.age[row] = blocked, age
    lowest = max(lowest, 0.0)
    tree.vector[row] = 0.0
    for at in range(tree.begin[row], tree.begin[row + 1]):
        child = tree.child[at]
        share = tree.share[child]
        scale = 1.0 if tree.blocked[child] or share <= lowest else lowest / share
        for resource in range(len(tree.total)):
            vector = tree.vector[child, resource]
            base = min(vector, tree.guarantee[child, resource] / tree.total[resource])
            tree.vector[row, resource] += base + (vector - base) * scale
    tree.share[row] = _share(tree, row, True)


@njit(cache=True)
def _share(tree: Tree, row: int, inner: bool) -> float:
    """Below 0 within the guarantee: how much of it is used, less 1. Else the largest borrowed part by weight.

    Rows above leaves ignore what is saturated: nobody can get more of it, so it must not keep them from the rest.
    """
    most, full, guaranteed = 0.0, 0.0, False
    for resource in range(len(tree.total)):
        if inner and tree.saturated[resource]:
            continue
        vector = tree.vector[row, resource]
        guarantee = tree.guarantee[row, resource] / tree.total[resource]
        most = max(most, vector - guarantee)
        if guarantee > 0:
            guaranteed = True
            full = max(full, vector / guarantee)
    if most <= 1e-12 and guaranteed and full < 1:
        return float(full - 1)
    if tree.weight[row] <= 0:
        return float(np.inf)
    return float(most / tree.weight[row])
