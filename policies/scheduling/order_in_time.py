"""The order in which gangs will start as others end, which is not the order in which all would start at once.

A queue of small share comes first until it has its share; who comes then depends on who has gone meanwhile. Were all
that wait put in order as if nothing ever ended, a queue that is guaranteed half would be promised a quarter of what
comes free.
"""

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.kernels_turns import AMOUNTS, drain_in_time, pushed
from policies.scheduling.order import Round
from policies.scheduling.waiting import ENDLESS
from policies.scheduling.world import World

Ints = NDArray[np.int64]
WORK = 1_000_000  # rows of queues that may be looked at: about 0.1 s


def in_time(world: World, now: int) -> Ints:
    """Of every number that waits its place, from 1, as `World.order` tells; the first as others end, in time.

    What room there is on nodes is not looked at, only how much there is in all, nor are limits. With one queue, or
    more queues than there is time for, it is the same as `World.order`.
    """
    rank = world.order(now)
    waiting = world.waiting
    if len(np.unique(waiting.queue[waiting.sorted])) < 2:
        return rank
    made = Round(waiting, world.quotas.copy(), lambda queue: world.usage.past(queue, now) if queue else {})
    most = min(len(waiting.sorted), world.settings.depth or len(waiting.sorted))
    looks = WORK // len(made.tree.parent)
    if not most or not made.turns:
        return rank
    turns = np.array(made.turns, np.int64).reshape(-1, 2)
    heap, size = _running(world, made, now, most)
    places = np.zeros(len(waiting.sorted), np.int64)
    line = made.line._replace(bounded=False, begin=made.line.begin.copy())
    lengths = waiting.seconds[waiting.sorted]
    count = drain_in_time(
        made.tree, line, turns[:, 0].copy(), turns[:, 1].copy(), lengths, now, heap, size, places, most, looks
    )
    found = np.where(rank > 0, rank + count, 0)
    first = waiting.sorted[places > 0]
    found[first] = places[places > 0]
    return found


def _running(world: World, made: Round, now: int, most: int) -> tuple[Ints, int]:
    """What runs by its end, with space for so many more."""
    columns = made.line.asks.shape[1]
    rows = [(gang, world.takes(gang.request, gang.pods)) for gang in world.running.values()]
    ends = np.zeros(len(rows), np.int64)
    leaves = np.zeros(len(rows), np.int64)
    amounts = np.zeros((len(rows), columns), np.int64)
    for at, (gang, taken) in enumerate(rows):
        seconds = gang.request.seconds
        ends[at] = ENDLESS if seconds is None else max(now, gang.since + seconds)
        leaves[at] = made.row_of(gang.request.queue)
        amounts[at] = made.vector(taken)
    heap = np.zeros((len(rows) + most + 1, AMOUNTS + columns), np.int64)
    return heap, pushed(heap, ends, leaves, amounts)
