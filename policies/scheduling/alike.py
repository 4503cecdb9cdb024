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
        self._told: dict[int, int] = {}  # group -> how many of it, from the longest on

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
        return self._group(numbers) * len(waiting.besides) + waiting.beside[numbers]

    def as_long(self, number: int) -> Ints:
        """Places in `sorted` of all of its kind, under its bounds, that run as long as it or longer, each place once:
        without those that were told before."""
        waiting = self._waiting
        group = int(self._group(np.array([number], np.int64))[0])
        begin, end = np.searchsorted(self._groups, (group, group + 1))
        count = int(np.searchsorted(self._shorter[begin:end], -waiting.seconds[number], side="right"))
        told = self._told.get(group, 0)
        self._told[group] = max(told, count)
        return self._longest_first[begin + told : begin + max(told, count)]

    def start_again(self) -> None:
        """All may be told once more."""
        self._told.clear()

    def _group(self, numbers: Ints) -> Ints:
        """As `groups`, whatever holds them beside their queues."""
        waiting = self._waiting
        found: Ints = self.holders[waiting.queue[numbers]] * len(waiting.kinds) + waiting.kind[numbers]
        return found

    @cached_property
    def _longest_first(self) -> Ints:
        """All places, those of a group together."""
        ordered = self._waiting.sorted
        found: Ints = np.lexsort((-self._waiting.seconds[ordered], self._group(ordered)))
        return found

    @cached_property
    def _groups(self) -> Ints:
        return self._group(self._waiting.sorted[self._longest_first])

    @cached_property
    def _shorter(self) -> Ints:
        """Seconds of `_longest_first`, negative."""
        found: Ints = -self._waiting.seconds[self._waiting.sorted[self._longest_first]]
        return found
