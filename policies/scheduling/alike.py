"""Gangs of a round of which the same holds: they ask for the same, under the same bounds."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.kernels_order import Line
from policies.scheduling.quotas import Quotas
from policies.scheduling.shares import Leaves
from policies.scheduling.waiting import Waiting

Ints = NDArray[np.int64]


class Alike:
    """Of those that wait in one round. Each array is made when it is first asked for."""

    def __init__(self, waiting: Waiting, quotas: Quotas, leaves: Leaves, line: Line) -> None:
        self._waiting, self._quotas, self._leaves, self._line = waiting, quotas, leaves, line

    @cached_property
    def holders(self) -> Ints:
        """Of each queue of those that wait a number that it shares with others in which the same holds for a gang."""
        leaves, rows, queues = self._leaves, len(self._quotas.tree.rules), self._waiting.queues
        own = [leaves.stopped[name] or self._line.strict[leaves.row[name]] for name in queues]
        bounding = [self._quotas.bounding(name) for name in queues]
        return np.where(own, rows + np.arange(len(own)), np.array(bounding, np.int64))

    def groups(self, numbers: Ints) -> Ints:
        """Of each of them a number that it shares with those of which the same holds."""
        waiting = self._waiting
        beside = self.holders[waiting.queue[numbers]] * len(waiting.besides) + waiting.beside[numbers]
        code: Ints = beside * len(waiting.kinds) + waiting.kind[numbers]
        return code

    def as_long(self, number: int) -> Ints:
        """Places in `sorted` of all of its kind, under its bounds, that run as long as it or longer."""
        waiting = self._waiting
        kind = int(waiting.kind[number])
        begin, end = np.searchsorted(self._kinds, (kind, kind + 1))
        places = self._by_kind[begin:end]
        numbers = waiting.sorted[places]
        same = self.holders[waiting.queue[numbers]] == self.holders[waiting.queue[number]]
        found: Ints = places[same & (waiting.seconds[numbers] >= waiting.seconds[number])]
        return found

    @cached_property
    def _by_kind(self) -> Ints:
        """All places in the order of their kinds."""
        found: Ints = np.argsort(self._line.kind, kind="stable")
        return found

    @cached_property
    def _kinds(self) -> Ints:
        found: Ints = self._line.kind[self._by_kind]
        return found
