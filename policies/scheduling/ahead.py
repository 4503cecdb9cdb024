"""Promises for those who have none yet and come before a gang that is about to start: it may not delay them either.

Most have theirs from rounds before. Who arrives with others in one round has not, and is looked for here as soon as
somebody behind it finds room, and not earlier: where nobody starts, promises are made at the end of the round, at once.
"""

from collections.abc import Callable, Collection

import numpy as np

from policies.scheduling.kernels_gangs import PASS, SEEK
from policies.scheduling.kernels_time import Ints
from policies.scheduling.profile import Profile
from policies.scheduling.promises import fresh_row
from policies.scheduling.time_rows import Row
from policies.scheduling.world import World


class Ahead:
    """Of one round. `rank`: of each number its place in the order, from 1; 0: it is not to start. `in_time`: the same
    with what ends meanwhile, asked for when it is needed. `begun`: numbers of those that start, which grows meanwhile.
    """

    def __init__(
        self, world: World, profile: Profile, rank: Ints, in_time: Callable[[], Ints], begun: Collection[int]
    ) -> None:
        self._waiting, self._profile, self._rank, self._begun = world.waiting, profile, rank, begun
        self._depth, self._in_time = world.settings.depth, in_time
        rules = world.quotas.rules
        self._strict = np.array([rules(queue).strict for queue in world.waiting.queues], np.bool_)
        self._ordered = self._order(rank)
        self._displacing: list[str] = []  # of those with a place here
        self._upto = 0  # who is before this place starts, has a promise, or has none before the horizon
        self._timed = False  # whether `_ordered` is by time

    def plan(self, number: int) -> bool:
        """Hold places for all before it in order that have none. Whether there are any now that were not before."""
        new = self._before(number)
        if new and not self._timed:
            self._rank, self._upto, self._timed = self._in_time(), 0, True
            self._ordered = self._order(self._rank)
            new = self._before(number)
        if not new:
            return False
        rows, modes = self._rows(new, self._upto)
        self._profile.limits.start_lines()
        self._profile.plan(rows, modes)
        found = {row.request.id: row for row, mode in zip(rows, modes, strict=True) if mode == SEEK and row.placed}
        self._profile.pins.update(found)
        self._displacing += [name for name, row in found.items() if row.request.displaces]
        return bool(found)

    def _order(self, rank: Ints) -> Ints:
        there = np.flatnonzero(rank)
        return there[np.argsort(rank[there])][: self._depth]

    def _before(self, number: int) -> list[int]:
        """Who comes before it and is not looked at yet, and neither starts nor has a promise."""
        upto = min(int(self._rank[number]) - 1, len(self._ordered))
        seen, self._upto = self._upto, max(self._upto, upto)
        pins, ids = self._profile.pins, self._waiting.ids
        return [each for each in self._ordered[seen:upto].tolist() if each not in self._begun and ids[each] not in pins]

    def give_back(self) -> None:
        """Places of gangs that may displace promises: they were looked for here as if they could not."""
        self._profile.unpin([name for name in self._displacing if name in self._profile.pins])
        self._displacing.clear()

    def _rows(self, new: list[int], upto: int) -> tuple[list[Row], list[int]]:
        """Those, among all of strict queues before them, whom they follow."""
        pins, request_of = self._profile.pins, self._waiting.request
        if not self._profile.limits.has_lines:
            rows = [fresh_row(self._profile, request_of(number)) for number in new]
            return rows, [SEEK] * len(rows)
        wanted, ordered = set(new), self._ordered[:upto]
        looked_at = ordered[self._strict[self._waiting.queue[ordered]] | np.isin(ordered, new)].tolist()
        numbers = [each for each in looked_at if each in wanted or self._waiting.ids[each] in pins]
        requests = [request_of(each) for each in numbers]
        rows = [pins.get(request.id) or fresh_row(self._profile, request) for request in requests]
        return rows, [SEEK if each in wanted else PASS for each in numbers]
