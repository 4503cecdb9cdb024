"""Shares down a tree of queues: whose turn it is, and what changes when a gang starts.

Rows are queues, parents before their children; row 0 is the pool. R resources.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

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
    holder: Ints  # [N], the row whose limits hold: its own, or the one above for a queue's own gangs
    guarantee: Ints  # [N, R]
    assured: Ints  # [N, R], the guarantee as shares see it
    limit: Ints  # [N, R]
    borrowable: Ints  # [N, R], guarantee and what may be borrowed beyond it
    kept: Ints  # [N, R], of the guarantee never lent
    filled: Ints  # [N, R], used by itself, and occupied by those right below
    total: Floats  # [R], at least 1
    past: Floats  # [N, R], of leaves
    used: Ints  # [N, R], in and below
    vector: Floats  # [N, R], as the row above sees it
    share: Floats  # [N]
    blocked: Flags  # [N]: nothing in or below it can start
    age: Ints  # [N], when the oldest of the next ones was submitted
    saturated: Flags  # [R]


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
    set_leaf(tree, leaf)
    row = tree.parent[leaf]
    while row >= 0:
        set_inner(tree, row)
        row = tree.parent[row]


@njit(cache=True)
def refresh_all(tree: Tree) -> None:
    for row in range(len(tree.parent) - 1, -1, -1):
        if tree.begin[row] == tree.begin[row + 1]:
            set_leaf(tree, row)
        else:
            set_inner(tree, row)


@njit(cache=True)
def use(tree: Tree, leaf: int, amounts: Ints) -> None:
    """As `QuotaTree.count` does, for all resources at once."""
    for resource in range(len(amounts)):
        grown = amounts[resource]
        if leaf != tree.holder[leaf]:
            tree.used[leaf, resource] += grown
        row = tree.holder[leaf]
        while row >= 0:
            tree.used[row, resource] += amounts[resource]
            kept, filled = tree.kept[row, resource], tree.filled[row, resource]
            tree.filled[row, resource] = filled + grown
            grown = max(kept, filled + grown) - max(kept, filled)
            row = tree.parent[row]


@njit(cache=True)
def set_leaf(tree: Tree, row: int) -> None:
    for resource in range(len(tree.total)):
        tree.vector[row, resource] = (tree.used[row, resource] + tree.past[row, resource]) / tree.total[resource]
    tree.share[row] = _share(tree, row, False)


@njit(cache=True)
def set_inner(tree: Tree, row: int) -> None:
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
            base = min(vector, tree.assured[child, resource] / tree.total[resource])
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
        guarantee = tree.assured[row, resource] / tree.total[resource]
        most = max(most, vector - guarantee)
        if guarantee > 0:
            guaranteed = True
            full = max(full, vector / guarantee)
    if most <= 1e-12 and guaranteed and full < 1:
        return float(full - 1)
    if tree.weight[row] <= 0:
        return float(np.inf)
    return float(most / tree.weight[row])
