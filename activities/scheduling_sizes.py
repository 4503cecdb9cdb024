"""Gangs that change their size: what a decision says of them, and what is known of them once it was written."""

from dataclasses import replace

from activities.scheduling_places import place_of
from activities.scheduling_world import PoolWorld
from definitions.decision_record import GangGrown
from policies.scheduling import sentences
from policies.scheduling.model import Decision, Eviction, Growth, Pod
from policies.scheduling.sizes import kept
from store import resizes
from store.verdicts import GoesOn, Told


def grows(pool: PoolWorld, growth: Growth) -> Told:
    """Of a gang that gets further places. `pool.world` has applied it."""
    row = pool.rows[growth.request]
    reason = sentences.grows(len(row.pods or ()), len(growth.pods))
    return Told(row.job, row.version, row.attempt, None, reason, goes_on=_goes_on(pool, growth.request, growth.pods))


def shrinks(pool: PoolWorld, eviction: Eviction, said: Told) -> Told:
    """What is said of a gang that leaves; with `keep` it goes on with so much."""
    if eviction.keep is None:
        return said
    pods = kept(pool.world.running[eviction.victim], eviction.keep)
    before = len(pool.rows[eviction.victim].pods or ())
    reason = sentences.shrinks(before, len(pods), said.reason)
    return replace(said, reason=reason, goes_on=_goes_on(pool, eviction.victim, pods))


def grown(pool: PoolWorld, decision: Decision) -> tuple[GangGrown, ...]:
    """Growths as the record of a decision has them."""
    return tuple(
        GangGrown(job=each.request, before=len(pool.rows[each.request].pods or ()), after=len(each.pods))
        for each in decision.growths
    )


def makes_way(pool: PoolWorld, said: Told) -> None:
    """It was told: it holds both sizes until it has gone."""
    row, goes_on = pool.rows[said.job], said.goes_on
    gone = row._replace(state="leaving", leaves_for=said.leaves_for, reason=said.reason)
    if goes_on is not None:
        assert row.amounts is not None
        pods = [pod.model_dump(mode="json") for pod in goes_on.pods]
        gone = gone._replace(next_pods=pods, amounts=resizes.together(said, row.amounts))
    pool.world.running[said.job] = replace(pool.world.running[said.job], leaving=True)
    pool.remember(said.job, gone)


def keeps_its_size(pool: PoolWorld, said: Told, now: int) -> None:
    """It was not told: it has what its row says, and nothing is kept of what another one was to get of it."""
    pool.stays(said.job, said.leaves_for)
    if said.goes_on is not None:
        pool.restore(said.job, now)


def _goes_on(pool: PoolWorld, job: str, pods: tuple[Pod, ...]) -> GoesOn:
    world = pool.world
    request = world.running[job].request
    return GoesOn(tuple(place_of(world.described, pod) for pod in pods), dict(world.takes(request, pods)))
