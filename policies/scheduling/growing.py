"""Which elastic gangs of a world grow in a round, without taking anything from anybody who waits.

Nodes that somebody who waits could ever be on are left alone (`elastic.growths`). So are limits: a gang grows as far as
they would allow it if everybody who waits had started.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.demands import demand
from policies.scheduling.elastic import Pace, growths, resizable
from policies.scheduling.model import Cause, Growth, Running
from policies.scheduling.quotas import Bound, Quotas
from policies.scheduling.reasons import Reasons
from policies.scheduling.sizes import held, largest
from policies.scheduling.waiting import QUEUE, SUBMITTED, Waiting
from policies.scheduling.world import World

UNPROVEN = 2  # intervals between changes of size: what may be lost at most by a gang that cannot save


def grown(world: World, quotas: Quotas, left: NDArray[np.int64], reasons: Reasons, now: int) -> tuple[Growth, ...]:
    """Who gets larger now. `quotas`: as they are after all that was decided in this round; `left`: numbers of those who
    go on waiting, and `reasons` why. The new places are taken in the world's nodes."""
    pace, changed = world.settings.pace, world.resized
    gangs = (world.running[name] for name in sorted(world.elastic))
    running = [
        gang
        for gang in gangs
        if _may_grow(gang)
        and _is_safe(gang, now, pace)
        and resizable(gang.since, changed.get(gang.request.id), now, pace)
    ]
    free = world.nodes.open & ~world.nodes.among(name for window in world.windows for name in window.nodes)
    shapes = {role.shape for gang in running for role in gang.request.roles}
    if not any((world.nodes.fits(shape) & free).any() for shape in shapes):
        return ()
    waiting = world.waiting
    numbers = _hopeful(waiting, left, reasons)
    firsts = np.unique(waiting.kind[numbers], return_index=True)[1]
    quotas, after_all = quotas.copy(), _with_all_started(waiting, quotas, numbers)
    free = ~world.nodes.among(name for window in world.windows for name in window.nodes)

    def may(gang: Running, sizes: Sequence[int]) -> bool:
        queue, more = gang.request.queue, _more(gang, sizes)
        if quotas.fits(queue, more) is not None:
            return False
        later = [after_all.fits(queue, {resource: amount}) for resource, amount in more.items()]
        return all(short is None or short.rule is Bound.POOL for short in later)

    def took(gang: Running, sizes: Sequence[int]) -> None:
        for each in (quotas, after_all):
            each.add(gang.request.queue, _more(gang, sizes))

    return growths(
        world.nodes, world.placer.place, running, [waiting.request(int(numbers[each])) for each in firsts], now,
        pace, changed, may=may, took=took, allowed=free,
    )  # fmt: skip


def next_growth(world: World, now: int) -> int | None:
    """When the first gang that may not change its size yet, and could be larger, may do so; who has never saved is
    looked at again after a while, since nobody tells of a first checkpoint."""
    pace = world.settings.pace
    gangs = [world.running[name] for name in world.elastic if _may_grow(world.running[name])]
    due = [max(gang.since, world.resized.get(gang.request.id, gang.since)) + pace.interval for gang in gangs]
    due += [now + pace.interval for gang in gangs if not _is_safe(gang, now, pace)]
    return min((at for at in due if at > now), default=None)


def _hopeful(waiting: Waiting, numbers: NDArray[np.int64], reasons: Reasons) -> NDArray[np.int64]:
    """Those that some nodes of today could hold. All gangs of a kind are alike in that."""
    never = numbers[reasons.among(numbers, (Cause.NEVER,))]
    return numbers[~np.isin(waiting.kind[numbers], waiting.kind[never])]


def _with_all_started(waiting: Waiting, quotas: Quotas, numbers: NDArray[np.int64]) -> Quotas:
    found, names = quotas.copy(), {number: name for name, number in waiting.queues.items()}
    here = np.zeros(len(waiting.kind), np.bool_)
    here[numbers] = True
    rows = here[waiting.sorted]
    queues = (waiting.keys[rows] >> SUBMITTED) & ((1 << QUEUE) - 1)
    asks = waiting.amounts(found)
    total = np.zeros((len(waiting.queues), asks.shape[1]), np.int64)
    np.add.at(total, queues, asks[waiting.kind[waiting.sorted[rows]]])
    for queue in np.flatnonzero(total.any(axis=1)):
        found.add(names[int(queue)], dict(zip(found.resources, map(int, total[queue]), strict=False)))
    return found


def _more(gang: Running, sizes: Sequence[int]) -> dict[str, int]:
    return demand(gang.request, [new - old for new, old in zip(sizes, held(gang), strict=True)])


def _may_grow(gang: Running) -> bool:
    if gang.leaving or gang.request.reservation is not None:
        return False
    return any(have < largest(role) for have, role in zip(held(gang), gang.request.roles, strict=True))


def _is_safe(gang: Running, now: int, pace: Pace) -> bool:
    """Whether it goes on from a checkpoint, as far as is known. One that has never saved may not be able to."""
    return gang.saved is not None or now - gang.since <= UNPROVEN * pace.interval
