"""What a round needs to know of all that waits before it begins: bands, and what each kind asks most of."""

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.shares import Leaves
from policies.scheduling.waiting import QUEUE, RANK, SUBMITTED, Waiting


class Bands:
    """Where in the sorted gangs those of each band and leaf begin and end. A band: with or without a reservation, and
    one priority; first with, then without, the highest priority first."""

    def __init__(self, waiting: Waiting, leaves: Leaves) -> None:
        keys = waiting.keys >> SUBMITTED
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        ends = np.append(starts[1:], len(keys))
        heads = keys[starts]
        self._codes, band = np.unique(heads >> QUEUE, return_inverse=True)
        stopped = [leaves.stopped[name] for name in waiting.queues]
        row = np.array([leaves.row[name] for name in waiting.queues], np.int64)[heads & ((1 << QUEUE) - 1)]
        offered = ~np.array(stopped, np.bool_)[heads & ((1 << QUEUE) - 1)]
        self.begin = np.zeros((len(self._codes), len(leaves.queue)), np.int64)
        self.end = np.zeros_like(self.begin)
        self.begin[band[offered], row[offered]] = starts[offered]
        self.end[band[offered], row[offered]] = ends[offered]

    def of(self, key: int) -> int:
        return int(np.searchsorted(self._codes, key >> SUBMITTED >> QUEUE))

    def turns(self, depth: int, guaranteed: bool) -> list[tuple[int, int]]:
        """Bands in the order in which they are offered, each with the levels from the top at which its gangs have to
        stay within guarantees: after reservations first those within all, at last those that borrow everywhere."""
        reserved = [band for band, code in enumerate(self._codes) if not code >> RANK]
        others = [band for band, code in enumerate(self._codes) if code >> RANK]
        levels = [*(range(depth, 0, -1) if guaranteed else ()), 0]
        return [(band, 0) for band in reserved] + [(band, level) for level in levels for band in others]


class Dominant:
    """Of which resource each kind asks the largest part of all that there is, and so which are saturated.

    A resource is saturated when less of it is free than any gang that asks mostly for it needs, or when all kinds of
    such gangs have failed in this round: nobody can use more of it as what he mainly needs.
    """

    def __init__(self, asks: NDArray[np.int64], kinds: NDArray[np.int64], total: NDArray[np.float64]) -> None:
        self._dominant = np.argmax(asks / total, axis=1) if len(asks) else np.zeros(0, np.int64)
        self._count = np.bincount(kinds, minlength=len(asks))
        self._failed = np.zeros(len(asks), np.bool_)
        self._alive = np.bincount(self._dominant[self._count > 0], minlength=len(total))
        self._dead = np.zeros(len(total), np.int64)
        self._least = np.ones(len(total))
        most = np.take_along_axis(asks, self._dominant[:, None], axis=1)[:, 0] if len(asks) else self._dominant
        for resource in np.flatnonzero(self._alive):
            self._least[resource] = most[(self._dominant == resource) & (self._count > 0)].min()

    def start(self, kind: int) -> None:
        self._count[kind] -= 1
        if self._count[kind] == 0 and not self._failed[kind]:
            self._alive[self._dominant[kind]] -= 1

    def fail(self, kind: int) -> None:
        resource = self._dominant[kind]
        self._failed[kind] = True
        self._dead[resource] += 1
        if self._count[kind] > 0:
            self._alive[resource] -= 1

    def revive(self) -> None:
        """Nothing counts as failed any more."""
        self._failed[:] = False
        self._dead[:] = 0
        self._alive = np.bincount(self._dominant[self._count > 0], minlength=len(self._dead))

    def saturated(self, used: NDArray[np.int64], total: NDArray[np.float64]) -> NDArray[np.bool_]:
        full: NDArray[np.bool_] = total - used < self._least
        failed: NDArray[np.bool_] = (self._dead > 0) & (self._alive == 0)
        return full | failed
