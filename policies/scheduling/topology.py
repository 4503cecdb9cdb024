"""Domains of a topology: groups of nodes that share the labels of all levels down to one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.masks import Labels


@dataclass(frozen=True, slots=True)
class Topology:
    """Levels from the outermost inwards. Row l of `domains` numbers each node's domain at level l, -1 without one.

    A domain is the path of labels to it: racks with the same name in two zones are two domains, and a node that lacks
    an outer label is in no inner domain either.
    """

    levels: tuple[str, ...]
    domains: NDArray[np.int32]
    names: tuple[tuple[str, ...], ...]  # by level: the path of each domain, joined by slashes

    def level(self, name: str) -> int | None:
        """The row of a level; None if there is no such level, and hence no domain."""
        return self.levels.index(name) if name in self.levels else None


def topology(labels: Labels, levels: Sequence[str], size: int) -> Topology:
    """Domains of `size` nodes, numbered by the first node in them."""
    domains = np.full((len(levels), size), -1, np.int32)
    names: list[tuple[str, ...]] = []
    outer, outer_names = np.zeros(size, np.int32), tuple([""])
    for row, level in enumerate(levels):
        column, values = labels.column(level)
        words = {number: word for word, number in values.items()}
        found: dict[tuple[int, int], int] = {}
        for node in np.flatnonzero((outer >= 0) & (column >= 0)):
            path = (int(outer[node]), int(column[node]))
            domains[row, node] = found.setdefault(path, len(found))
        outer_names = tuple("/".join(filter(None, (outer_names[above], words[own]))) for above, own in found)
        names.append(outer_names)
        outer = domains[row]
    return Topology(tuple(levels), domains, tuple(names))
