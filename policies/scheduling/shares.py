"""The tree of queues as the kernels of the order see it: weighted hierarchical shares of what is used.

Each queue that has queues below it gets a row of its own for gangs that name it itself, beside its children.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.kernels_share import Tree, refresh_all
from policies.scheduling.model import Stop
from policies.scheduling.quotas import Quotas

Past = Callable[[str], Mapping[str, float]]


def nothing(queue: str) -> Mapping[str, float]:
    """The past of queues that have none."""
    return {}


class Leaves:
    """Which row holds a queue's own gangs, and which queue a row belongs to."""

    def __init__(self, quotas: Quotas) -> None:
        tree = quotas.tree
        self.rows = tree.first_beside
        self.row: dict[str, int] = {}
        self.queue = tree.names[: self.rows]
        self.parent = tree.parent[: self.rows]
        for row in range(tree.roots, tree.first_beside):
            name = tree.names[row]
            self.row[name] = row
            if tree.children[row]:
                self.row[name] = len(self.queue)
                self.queue.append(name)
                self.parent.append(row)
        stopped = [tree.rules[row].stop is not Stop.NONE for row in range(tree.first_beside)]
        self.stopped = {
            name: any(stopped[row] for row in tree.path[tree.index[name]]) for name in self.queue[tree.roots :]
        }


def make_tree(quotas: Quotas, leaves: Leaves, past: Past = nothing) -> Tree:
    """All rows blocked and nothing saturated: who waits is not known here."""
    tree, rows, columns = quotas.tree, len(leaves.queue), len(quotas.resources)
    parent = np.array(leaves.parent, np.int64)
    inner = parent >= 0
    order = np.argsort(parent[inner], kind="stable")
    made = Tree(
        parent=parent,
        begin=np.searchsorted(parent[inner][order], np.arange(rows + 1)).astype(np.int64),
        child=np.flatnonzero(inner)[order].astype(np.int64),
        depth=_depths(leaves.parent),
        weight=np.array([tree.rules[row].weight for row in range(leaves.rows)] + [1.0] * (rows - leaves.rows)),
        holder=np.array([*range(leaves.rows), *leaves.parent[leaves.rows :]], np.int64),
        guarantee=_padded(tree.guarantee[: leaves.rows], rows, columns),
        assured=_padded([tree.assured(row) for row in range(leaves.rows)], rows, columns),
        limit=_padded(tree.limit[: leaves.rows], rows, columns),
        borrowable=_padded(tree.borrowable[: leaves.rows], rows, columns),
        kept=_padded(tree.kept[: leaves.rows], rows, columns),
        filled=_padded(tree.filled[: leaves.rows], rows, columns),
        total=np.maximum(1.0, np.array(tree.limit[0], np.float64)),
        past=np.zeros((rows, columns)),
        used=_padded(tree.used[: leaves.rows], rows, columns),
        vector=np.zeros((rows, columns)),
        share=np.zeros(rows),
        blocked=np.ones(rows, np.bool_),
        age=np.zeros(rows, np.int64),
        saturated=np.zeros(columns, np.bool_),
    )
    for row in range(leaves.rows, rows):
        above = leaves.parent[row]
        made.used[row] = made.used[above] - sum(made.used[child] for child in tree.children[above])
    for name, row in leaves.row.items():
        for resource, amount in past(name).items():
            made.past[row, tree.column(resource)] = amount
    refresh_all(made)
    return made


def _padded(amounts: list[list[int]], rows: int, columns: int) -> NDArray[np.int64]:
    padded = np.zeros((rows, columns), np.int64)
    padded[: len(amounts)] = amounts
    return padded


def _depths(parent: list[int]) -> NDArray[np.int64]:
    depths = [0] * len(parent)
    for row, above in enumerate(parent):
        depths[row] = 0 if above < 0 else depths[above] + 1
    return np.array(depths, np.int64)
