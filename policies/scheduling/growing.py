"""Which elastic gangs of a world grow in a round, without taking anything from anybody who waits.

Nodes that somebody who waits could ever be on are left alone (`elastic.growths`). So are limits: a gang grows as far as
they would allow it if everybody who waits had started.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from policies.scheduling.demands import demand
from policies.scheduling.elastic import growths
from policies.scheduling.model import Cause, Growth, Refusal, Running
from policies.scheduling.quotas import Bound, Quotas
from policies.scheduling.sizes import held, largest
from policies.scheduling.world import World


def grown(
    world: World, quotas: Quotas, left: Sequence[int], refusals: Mapping[str, Refusal], now: int
) -> tuple[Growth, ...]:
    """Who gets larger now. `quotas`: as they are after all that was decided in this round; `left`: numbers of those who
    go on waiting. The new places are taken in the world's nodes."""
    running = [world.running[name] for name in sorted(world.elastic) if _may_grow(world.running[name])]
    if not running:
        return ()
    numbers = [each for each in left if refusals[world.waiting.request(each).id].cause is not Cause.NEVER]
    quotas, after_all = quotas.copy(), _with_all_started(world, quotas, numbers)
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
        world.nodes, world.placer.place, running, map(world.waiting.request, numbers), now, world.settings.pace,
        world.resized, may=may, took=took, allowed=free,
    )  # fmt: skip


def next_growth(world: World, now: int) -> int | None:
    """When the first gang that may not change its size yet, and could be larger, may do so."""
    interval = world.settings.pace.interval
    gangs = [world.running[name] for name in world.elastic if _may_grow(world.running[name])]
    due = [max(gang.since, world.resized.get(gang.request.id, gang.since)) + interval for gang in gangs]
    return min((at for at in due if at > now), default=None)


def _with_all_started(world: World, quotas: Quotas, numbers: Sequence[int]) -> Quotas:
    waiting, found = world.waiting, quotas.copy()
    counts = Counter((waiting.request(each).queue, int(waiting.kind[each])) for each in numbers)
    for (queue, kind), count in sorted(counts.items()):
        found.add(queue, {resource: amount * count for resource, amount in waiting.asks[kind].items()})
    return found


def _more(gang: Running, sizes: Sequence[int]) -> dict[str, int]:
    return demand(gang.request, [new - old for new, old in zip(sizes, held(gang), strict=True)])


def _may_grow(gang: Running) -> bool:
    if gang.leaving or gang.request.reservation is not None:
        return False
    return any(have < largest(role) for have, role in zip(held(gang), gang.request.roles, strict=True))
