"""Limits of queues over time, for the gangs of a profile: which bound whom, and what each counts.

Only holders that bound something, and only resources that are bounded, have arrays: without any a gang costs nothing.
"""

import numpy as np

from policies.scheduling.asks import Ask, Asks, Kind
from policies.scheduling.demands import gpu_parts
from policies.scheduling.extendable import Extendable
from policies.scheduling.kernels_limits import Limits, drop_past
from policies.scheduling.kernels_time import Ints
from policies.scheduling.quota_tree import ENDLESS, MODEL, POOL, QuotaTree
from policies.scheduling.quotas import Quotas

PIECES = 32  # of each holder's time at first


class Limiting:
    """What is used of each limit from `now` on, as if nothing that is counted in `quotas` ever ended; the profile tells
    when it does."""

    def __init__(self, quotas: Quotas | None, asks: Asks, now: int) -> None:
        self._asks = asks
        self._tree = None if quotas is None else quotas.tree
        self._rows: list[int] = []  # of the tree, by holder
        self._columns: list[int] = []  # of the tree, by resource
        if self._tree is not None:
            self._rows, self._columns = _bounding(self._tree)
        self._of: dict[str, tuple[int, int]] = {}
        self._twins: dict[tuple[int, int], int] = {}
        self._wants, self._part, self._mixed = (
            Extendable((len(self._columns),)),
            Extendable((2,)),
            Extendable(()),
        )  # of all kinds
        self._limits = _empty(self._tree, self._rows, self._columns, now)
        self._limits = self._limits._replace(model=self._models())

    @property
    def twins(self) -> int:
        return len(self._twins)

    @property
    def has_lines(self) -> bool:
        return len(self._limits.line) > 0

    def of(self, queue: str) -> tuple[int, int]:
        """The first holder that bounds a queue, and the line of a strict one; -1 for none. KeyError: no such queue."""
        if self._tree is None:
            return -1, -1
        found = self._of.get(queue)
        if found is None:
            row = self._tree.index[queue]
            found = self._of[queue] = self._holder(row), self._line() if self._tree.rules[row].strict else -1
        return found

    def twin(self, kind: int, holder: int) -> int:
        """One number for gangs of one kind under one holder: what one cannot have, none of them can."""
        return self._twins.setdefault((kind, holder), len(self._twins))

    def start_lines(self) -> None:
        """Strict queues are gone through from their first gang on."""
        self._limits.line[:] = (0, 1)

    def forget(self, now: int) -> None:
        """Drop what was before `now`."""
        drop_past(self._limits, now)

    def arrays(self) -> Limits:
        """As compiled code reads them, for all kinds that there are now."""
        new = self._asks.kinds[len(self._wants) :]
        if new:
            models = any(self._name(column).startswith(MODEL) for column in self._columns)
            self._wants.add([self._wanted(kind) for kind in new])
            self._part.add([_part(ask) for kind in new for ask in kind.asks])
            self._mixed.add([models and any(_part(ask)[0] for ask in kind.asks) for kind in new])
            wants, part, mixed = self._wants.rows, self._part.rows, self._mixed.rows
            self._limits = self._limits._replace(wants=wants, part=part, mixed=mixed)
        return self._limits

    def more_pieces(self) -> None:
        """Twice the space, and enough for any one holder to move there."""
        piece = self._limits.piece
        self._limits = self._limits._replace(piece=np.pad(piece, ((0, 2 * len(piece) + PIECES), (0, 0))))

    def _holder(self, row: int) -> int:
        path = [] if self._tree is None else self._tree.path[row]
        return next((self._rows.index(each) for each in reversed(path) if each in self._rows), -1)

    def _line(self) -> int:
        line = np.pad(self._limits.line, ((0, 1), (0, 0)))
        line[-1] = (0, 1)
        self._limits = self._limits._replace(line=line)
        return len(line) - 1

    def _models(self) -> Ints:
        nodes, names = self._asks.nodes, [self._name(column) for column in self._columns]
        of = [names.index(MODEL + model) if MODEL + model in names else -1 for model in nodes.models]
        return np.array(of, np.int64)[nodes.model] if of else np.full(len(nodes.names), -1, np.int64)

    def _name(self, column: int) -> str:
        return "" if self._tree is None else self._tree.resources[column]

    def _wanted(self, kind: Kind) -> list[int]:
        """What its gangs count wherever they are, as `demand` tells."""
        found = dict.fromkeys(map(self._name, self._columns), 0)
        for ask in kind.asks:
            shape, parts = ask.of.shape, gpu_parts(ask.of.shape)
            amounts = {"cpu": shape.cpu, "memory": shape.memory, "gpu": parts}
            if len(shape.gpu_models) == 1:
                amounts[MODEL + shape.gpu_models[0]] = parts
            for resource, amount in amounts.items():
                if resource in found:
                    found[resource] += amount * ask.pods
        return list(found.values())


def _part(ask: Ask) -> tuple[int, int]:
    parts = gpu_parts(ask.of.shape)
    return int(parts > 0 and len(ask.of.shape.gpu_models) != 1), parts


def _bounding(tree: QuotaTree) -> tuple[list[int], list[int]]:
    """Rows that bound something, parents first, and columns that are bounded. The pool does where something is kept."""
    rows = range(tree.roots, tree.first_beside)
    limit, borrowable, kept = (np.array(amounts)[tree.roots : tree.first_beside] for amounts in _amounts(tree))
    bounds = (limit < ENDLESS) | (borrowable < ENDLESS) | (kept > 0)
    if not len(rows) or not bounds.any():
        return [], []
    bounding, bounded = (np.flatnonzero(bounds.any(axis=axis)).tolist() for axis in (1, 0))
    return [POOL] * bool((kept > 0).any()) + [tree.roots + row for row in bounding], bounded


def _amounts(tree: QuotaTree) -> tuple[list[list[int]], ...]:
    return tree.limit, tree.borrowable, tree.kept


def _empty(tree: QuotaTree | None, rows: list[int], columns: list[int], now: int) -> Limits:
    size, resources = len(rows), len(columns)
    holder = np.zeros((size, 6), np.int64)
    bound = np.zeros((size, 3, resources), np.int64)
    piece = np.zeros((2 * size * PIECES, 1 + 5 * resources), np.int64)
    if tree is not None and size:
        limit, borrowable, kept, used, felt = (
            np.array(amounts, np.int64)[rows][:, columns] for amounts in (*_amounts(tree), tree.used, tree.filled)
        )
        kept_anywhere = np.array(tree.kept, np.int64)[:, columns].any(axis=0)
        if rows[0] == POOL:  # of what nobody keeps nodes have what there is
            limit[0] = np.where(kept_anywhere, limit[0], ENDLESS)
        bound[:] = np.stack([limit, np.minimum(limit, borrowable), kept], axis=1)
        begin = np.arange(size) * PIECES
        above = [next((rows.index(up) for up in reversed(tree.path[row][:-1]) if up in rows), -1) for row in rows]
        keeps = kept.any(axis=1)
        holder[:] = np.column_stack([begin, np.ones(size), np.full(size, PIECES), above, keeps, np.zeros(size)])
        piece[begin] = np.column_stack([np.full(size, now), used, felt, used, felt, np.zeros((size, resources))])
    none = np.zeros(0, np.int64)
    return Limits(
        holder=holder, bound=bound, piece=piece, head=np.array([size * PIECES], np.int64),
        wants=np.zeros((0, resources), np.int64), part=np.zeros((0, 2), np.int64), model=none, mixed=none,
        amount=np.zeros(resources, np.int64), line=np.zeros((0, 2), np.int64),
    )  # fmt: skip
