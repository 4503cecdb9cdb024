"""Which nodes a pod may be on by labels, taints and names, as arrays over nodes."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.model import Expression, Node, Operator, Taint, Tolerated, Where

Mask = NDArray[np.bool_]
SOFT = "PreferNoSchedule"  # the effect of a taint that keeps nobody away: other nodes are taken first


class Labels:
    """Labels and taints of nodes by column, so that a condition is one comparison for all nodes."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._size = len(nodes)
        self._names = {node.name: number for number, node in enumerate(nodes)}
        self._values: dict[str, dict[str, int]] = {}
        self._columns: dict[str, NDArray[np.int32]] = {}
        for number, node in enumerate(nodes):
            for key, value in node.labels.items():
                known = self._values.setdefault(key, {})
                column = self._columns.setdefault(key, np.full(self._size, -1, np.int32))
                column[number] = known.setdefault(value, len(known))
        sets = {taints: number for number, taints in enumerate(dict.fromkeys(node.taints for node in nodes))}
        self._taints = tuple(sets)
        self._tainted = np.array([sets[node.taints] for node in nodes], np.int64)
        self._known: dict[Where, Mask] = {}
        self._calm: dict[tuple[Tolerated, ...], Mask | None] = {}

    def column(self, key: str) -> tuple[NDArray[np.int32], Mapping[str, int]]:
        """A number for each node's value of this label, -1 without it, and what the numbers mean."""
        column = self._columns.get(key)
        return (np.full(self._size, -1, np.int32) if column is None else column), self._values.get(key, {})

    def mask(self, where: Where) -> Mask:
        """bool[N], read-only: the nodes that fulfil all of it."""
        found = self._known.get(where)
        if found is None:
            found = self._match(where)
            found.setflags(write=False)
            self._known[where] = found
        return found

    def calm(self, where: Where) -> Mask | None:
        """bool[N], read-only: nodes without a soft taint that bothers such a pod; None: there are no others."""
        key = where.tolerates
        if key not in self._calm:
            stands = np.array([_bears(_soft(taints), key) for taints in self._taints], np.bool_)
            found = stands[self._tainted] if self._size else stands
            found.setflags(write=False)
            self._calm[key] = None if found.all() else found
        return self._calm[key]

    def _match(self, where: Where) -> Mask:
        stands = np.array([tolerated(taints, where.tolerates) for taints in self._taints], np.bool_)
        found: Mask = stands[self._tainted] if self._size else np.zeros(0, np.bool_)
        for expression in where.expressions:
            found &= self._holds(expression)
        if where.nodes:
            named = np.zeros(self._size, np.bool_)
            named[[self._names[name] for name in where.nodes if name in self._names]] = True
            found &= named
        return found

    def _holds(self, expression: Expression) -> Mask:
        column, values = self.column(expression.key)
        wanted = [values[value] for value in expression.values if value in values]
        match expression.operator:
            case Operator.EXISTS:
                return column >= 0
            case Operator.DOES_NOT_EXIST:
                return column < 0
            case Operator.IN:
                return np.isin(column, wanted)
            case Operator.NOT_IN:
                return ~np.isin(column, wanted)


def tolerated(taints: Sequence[Taint], tolerates: Sequence[Tolerated]) -> bool:
    """Whether a pod that puts up with these may be on a node with those taints."""
    soft = _soft(taints)
    return _bears([taint for taint in taints if taint not in soft], tolerates)


def _soft(taints: Sequence[Taint]) -> list[Taint]:
    return [taint for taint in taints if taint.effect == SOFT]


def _bears(taints: Sequence[Taint], tolerates: Sequence[Tolerated]) -> bool:
    return all(any(_covers(one, taint) for one in tolerates) for taint in taints)


def _covers(one: Tolerated, taint: Taint) -> bool:
    return (
        one.key in ("", taint.key)
        and (one.value is None or one.value == taint.value)
        and one.effect in ("", taint.effect)
    )
