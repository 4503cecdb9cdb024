"""The arrays under `Quotas`: one row for each holder of limits, one column for each resource."""

import copy
from collections.abc import Mapping, Sequence
from typing import Self

from policies.scheduling.model import QueueRules, Quota

ENDLESS = 1 << 62
MODEL = "gpu/"  # how resources that are GPUs of one model begin
POOL, BESIDE = 0, 1  # rows above all queues, and above all holders beside them


class QuotaTree:
    """Rows come after the row above them. `path`: from the topmost row down to the row itself."""

    roots = 2  # rows before the first holder

    def __init__(self, queues: Sequence[QueueRules], beside: Sequence[QueueRules], capacity: Mapping[str, int]) -> None:
        above = [QueueRules(""), QueueRules("")]
        self.rules: list[QueueRules] = [*above, *_parents_first(queues), *_parents_first(beside)]
        self.names = [rule.name for rule in self.rules]
        self.index = {rule.name: row for row, rule in enumerate(self.rules) if row >= self.roots}
        if len(self.index) + self.roots != len(self.rules):
            raise ValueError("a queue and a holder beside it have the same name")
        self.first_beside = first_beside = self.roots + len(queues)
        self.parent = [-1, -1]
        for row, rule in enumerate(self.rules[self.roots :], self.roots):
            top = POOL if row < first_beside else BESIDE
            self.parent.append(top if rule.parent is None else self.index[rule.parent])
        self.path = [self._path(row) for row in range(len(self.rules))]
        self.children: list[list[int]] = [[] for _ in self.rules]
        for row, parent in enumerate(self.parent):
            if parent >= 0:
                self.children[parent].append(row)
        self.resources: list[str] = []
        self._columns: dict[str, int] = {}
        self.limit: list[list[int]] = [[] for _ in self.rules]
        self.guarantee: list[list[int]] = [[] for _ in self.rules]
        self.borrowable: list[list[int]] = [[] for _ in self.rules]  # guarantee and what may be borrowed beyond it
        self.kept: list[list[int]] = [[] for _ in self.rules]
        self.used: list[list[int]] = [[] for _ in self.rules]  # in and below, held amounts included
        self.held: list[list[int]] = [[] for _ in self.rules]
        self.filled: list[list[int]] = [[] for _ in self.rules]  # used by itself, and occupied by those right below
        named = (resource for rule in self.rules for resource in rule.quotas)
        for resource in ("cpu", "memory", "gpu", *capacity, *named):
            self.column(resource)
        self.resize(capacity)
        self._bounding: dict[int, int] = {}

    def bounding(self, row: int) -> int:
        """The first at or above a row that bounds anything, else the topmost: it and those above decide what fits."""
        found = self._bounding.get(row)
        if found is None:
            path = reversed(self.path[row])
            found = self._bounding[row] = next((each for each in path if self._bounds(each)), self.path[row][0])
        return found

    def column(self, resource: str) -> int:
        """Of a resource; one that nobody spoke of yet gets a column, and the pool has none of it."""
        found = self._columns.get(resource)
        return self._new_column(resource) if found is None else found

    def resize(self, capacity: Mapping[str, int]) -> None:
        self.limit[POOL] = [capacity.get(resource, 0) for resource in self.resources]

    def assured(self, row: int) -> list[int]:
        """The guarantee as shares see it. GPUs of a model are GPUs too and count in two columns: what guarantees any
        guarantees those of each model that is not named itself, and what guarantees models guarantees GPUs."""
        found = list(self.guarantee[row])
        models = [at for at, name in enumerate(self.resources) if name.startswith(MODEL)]
        gpu = self._columns["gpu"]
        for column in models:
            found[column] = found[column] or found[gpu]
        found[gpu] = max(found[gpu], sum(self.guarantee[row][column] for column in models))
        return found

    def count(self, row: int, column: int, amount: int, held: bool) -> None:
        """Add to the row and all above it; what the kept part of a row covers is not felt above."""
        grown = amount
        while row >= 0:
            self.used[row][column] += amount
            if held:
                self.held[row][column] += amount
            kept, filled = self.kept[row][column], self.filled[row][column]
            self.filled[row][column] = filled + grown
            grown = max(kept, filled + grown) - max(kept, filled)
            row = self.parent[row]

    def copy(self) -> Self:
        made = copy.copy(self)
        made.resources, made._columns = list(self.resources), dict(self._columns)
        for name in ("limit", "guarantee", "borrowable", "kept", "used", "held", "filled"):
            setattr(made, name, [list(row) for row in getattr(self, name)])
        return made

    def _bounds(self, row: int) -> bool:
        given = self.rules[row].quotas.values()
        return any(self.kept[row]) or any((each.limit, each.borrowing) != (None, None) for each in given)

    def _path(self, row: int) -> tuple[int, ...]:
        found = [row]
        while self.parent[found[-1]] >= 0:
            found.append(self.parent[found[-1]])
        return tuple(reversed(found))

    def _new_column(self, resource: str) -> int:
        column = self._columns[resource] = len(self.resources)
        self.resources.append(resource)
        for row, rule in enumerate(self.rules):
            quota = rule.quotas.get(resource, Quota())
            self.guarantee[row].append(quota.guarantee)
            self.limit[row].append(ENDLESS if quota.limit is None else quota.limit)
            self.kept[row].append(0)
            for amounts in (self.used, self.held, self.filled, self.borrowable):
                amounts[row].append(0)
        self.limit[POOL][column] = 0
        for row in reversed(range(len(self.rules))):
            self._settle(row, column)
        return column

    def _settle(self, row: int, column: int) -> None:
        """A row guarantees at least what those below it do, and keeps at least what they keep."""
        quota = self.rules[row].quotas.get(self.resources[column], Quota())
        below = self.children[row]
        guarantee = max(quota.guarantee, sum(self.guarantee[child][column] for child in below))
        own = 0 if quota.lending is None else max(0, guarantee - quota.lending)
        kept_below = sum(self.kept[child][column] for child in below)
        self.guarantee[row][column] = guarantee
        self.kept[row][column] = max(own, kept_below) if row >= self.roots else 0
        self.filled[row][column] = kept_below
        self.borrowable[row][column] = ENDLESS if quota.borrowing is None else guarantee + quota.borrowing


def _parents_first(rules: Sequence[QueueRules]) -> list[QueueRules]:
    """Errors: ValueError for a name twice, a parent that is not there, a circle."""
    names = {rule.name for rule in rules}
    if len(names) != len(rules):
        raise ValueError("two queues have the same name")
    placed: dict[str, QueueRules] = {}
    left = list(rules)
    while left:
        ready = [rule for rule in left if rule.parent is None or rule.parent in placed]
        if not ready:
            lost = left[0]
            why = "is below itself" if lost.parent in names else f"has no parent {lost.parent!r}"
            raise ValueError(f"queue {lost.name!r} {why}")
        placed.update((rule.name, rule) for rule in ready)
        left = [rule for rule in left if rule.name not in placed]
    return list(placed.values())
