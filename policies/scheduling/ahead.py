"""Promises for those who have none yet and come before a gang that is about to start: it may not delay them either.

Most have theirs from rounds before. Who arrives with others in one round has not, and is looked for here as soon as
somebody behind it finds room, and not earlier: where nobody starts, promises are made at the end of the round, at once.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.kernels_gangs import PASS, SEEK
from policies.scheduling.profile import Profile
from policies.scheduling.promises import fresh_row
from policies.scheduling.time_rows import Row
from policies.scheduling.world import World


class Ahead:
    """Of one round. `rank`: of each number its place in the order, from 1; 0: it is not to start. `begun`: numbers of
    those that start, which grows meanwhile."""

    def __init__(self, world: World, profile: Profile, rank: NDArray[np.int64], begun: Collection[int]) -> None:
        self._waiting, self._profile, self._rank, self._begun = world.waiting, profile, rank, begun
        rules = world.quotas.rules
        self._strict = np.array([rules(queue).strict for queue in world.waiting.queues], np.bool_)
        there = np.flatnonzero(rank)
        self._ordered = there[np.argsort(rank[there])][: world.settings.depth]
        self._displacing: list[str] = []  # of those with a place here
        self._upto = 0  # who is before this place starts, has a promise, or has none before the horizon

    def plan(self, number: int) -> bool:
        """Hold places for all before it in order that have none. Whether there are any now that were not before."""
        upto = min(int(self._rank[number]) - 1, len(self._ordered))
        if upto <= self._upto:
            return False
        seen, self._upto = self._upto, upto
        pins, ids = self._profile.pins, self._waiting.ids
        new = [each for each in self._ordered[seen:upto].tolist() if each not in self._begun and ids[each] not in pins]
        if not new:
            return False
        rows, modes = self._rows(new, upto)
        self._profile.limits.start_lines()
        self._profile.plan(rows, modes)
        found = {row.request.id: row for row, mode in zip(rows, modes, strict=True) if mode == SEEK and row.placed}
        pins.update(found)
        self._displacing += [name for name, row in found.items() if row.request.displaces]
        return bool(found)

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
