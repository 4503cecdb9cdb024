"""Scores of nodes by shape, kept between decisions, and placing pods by them one after the other."""

from collections.abc import Sequence

import numpy as np

from policies.scheduling.kernels import Rows, State, place
from policies.scheduling.masks import Mask
from policies.scheduling.model import Shape
from policies.scheduling.nodes import Ints, Nodes
from policies.scheduling.scores import Scoring, tabled

MOST = 4096  # shapes that are remembered; at the next one all are forgotten
FIRST = 64


class ScoreRows:
    """Rows of scores over `nodes`. What others take and give through `nodes` is seen by the stamps."""

    def __init__(self, nodes: Nodes, scoring: Scoring) -> None:
        self.nodes = nodes
        self._table, kind = tabled(scoring, nodes)
        self._state = _state(nodes, kind, len(self._table.share))
        self._everywhere = np.ones(len(nodes.names), np.bool_)
        self._known: dict[Shape, int] = {}
        self._rows = self._grown(FIRST)

    def row(self, shape: Shape) -> int:
        """The number of the shape's row. It holds until `forget`."""
        found = self._known.get(shape)
        return self._add(shape) if found is None else found

    def settle(self) -> None:
        """Forget all rows if there are too many. Between decisions only: it makes row numbers invalid."""
        if len(self._known) > MOST:
            self._known.clear()
            self._rows = self._grown(FIRST)

    def fill(
        self, order: Ints, allowed: Mask | None = None, *, spread: bool = False, stop: bool = True
    ) -> tuple[int, Ints, Ints]:
        """Place pods of the rows `order` and take their room: how many, their nodes (-1: none), their GPUs as bits.

        `allowed`: bool[N]. `spread`: no two of them on one node. `stop`: at the first that finds no node; else each
        stands for itself, and what failed is not tried again before something becomes free.
        """
        nodes, devices = np.full(order.size, -1, np.int64), np.zeros(order.size, np.int64)
        # What failed with pods that are given back if the gang fails would fit again then.
        given = -1 if stop or spread or allowed is not None else int(self.nodes.given[0])
        where = self._everywhere if allowed is None else allowed
        where = where.copy() if spread else where
        placed = place(self._state, self._table, self._rows, order, where, spread, stop, given, nodes, devices)
        return placed, nodes, devices

    def _add(self, shape: Shape) -> int:
        row, rows = len(self._known), self._rows
        if row == rows.seen.size:
            rows = self._rows = self._grown(2 * row)
        rows.asked[row, :4] = shape.cpu, shape.memory, shape.gpus, shape.share
        for profile, count in shape.slices:
            if profile in self.nodes.profiles:  # else no node may hold it
                rows.asked[row, 4 + self.nodes.profiles.index(profile)] = count
        rows.may[row] = self.nodes.mask(shape)
        self._known[shape] = row
        return row

    def _grown(self, size: int) -> Rows:
        across = len(self.nodes.names)
        asked: Ints = np.zeros((size, 4 + len(self.nodes.profiles)), np.int64)
        may: Mask = np.zeros((size, across), np.bool_)
        score, device = np.full((size, across), -1, np.int16), np.zeros((size, across), np.int8)
        seen, failed = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        if old := len(self._known):
            was = self._rows
            asked[:old], may[:old], score[:old], device[:old] = was.asked, was.may, was.score, was.device
            seen[:old], failed[:old] = was.seen, was.failed
        return Rows(asked, may, score, device, seen, failed)


def bits(devices: Sequence[int]) -> int:
    """GPUs of a node as the bits of one number."""
    return sum(1 << device for device in devices)


def numbers(devices: int) -> tuple[int, ...]:
    """The GPUs that the bits of a number stand for, in order."""
    return tuple(device for device in range(devices.bit_length()) if devices >> device & 1)


def _state(nodes: Nodes, kind: Ints, groups: int) -> State:
    size = len(nodes.names)
    alike = np.column_stack([nodes.cpu, nodes.memory, nodes.gpus, kind, nodes.slices])
    _, twin = np.unique(alike, axis=0, return_inverse=True) if size else (None, np.zeros(0, np.int64))
    twins = int(twin.max(initial=-1)) + 1
    whole, largest, idle, usable = (np.zeros(size, np.int64) for _ in range(4))
    return State(
        nodes.free_cpu, nodes.free_memory, nodes.free_gpu, nodes.free_slices, nodes.open, nodes.stamp, nodes.clock,
        kind, twin.reshape(-1).astype(np.int64), np.full(size, -1, np.int64), whole, largest, idle, usable,
        np.zeros(size), np.zeros(size * groups, np.int64), np.zeros(size * groups, np.int64),
        np.zeros(twins, np.int16), np.zeros(twins, np.int8),
    )  # fmt: skip
