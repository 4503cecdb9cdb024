"""Whether one queue may take back what another uses, so that no two queues ever take from each other in turn."""

from collections.abc import Mapping
from enum import StrEnum

from policies.scheduling.fair_share import FairShares
from policies.scheduling.model import Reclaim
from policies.scheduling.quotas import Quotas


class Claims(StrEnum):
    GUARANTEE = "guarantee"  # what was lent is claimed back
    SHARE = "fair share"


def reclaimable(quotas: Quotas, queue: str, resource: str, by: str | None = None) -> int:
    """How much of what `queue` uses others can claim back: what is above the guarantee.

    `by`: the queue that claims. Then every queue above `queue` that is not also above `by` has to be above its own
    guarantee too: an organisation within its guarantee gives nothing to others, however its teams share it.
    """
    rows = [queue] if by is None else apart(quotas, queue, by)
    over = (quotas.used(name, resource) - quotas.guarantee(name, resource) for name in rows)
    return max(0, min(over, default=0))


def may_reclaim(
    shares: FairShares,
    beneficiary: str,
    victim: str,
    demand: Mapping[str, int],
    given: Mapping[str, int] | None = None,
) -> Claims | None:
    """By what right a gang of `beneficiary` that asks `demand` may displace one of `victim` that uses `given`, or None.

    Both count where the two queues' paths part and below. By guarantee: with the gang the beneficiary is still within
    its guarantee, and of something that this guarantees the victim uses more than its own; nothing that it never lends
    is taken, nor a gang that is within its guarantee. By fair share:
    with the gang the beneficiary is above its fair share of nothing, the victim is above its own and stays at or above
    its guarantee, and afterwards it is still at least as saturated as the beneficiary. `given`: `demand` if None.

    Priorities are the caller's: `Reclaim.LOWER` of the beneficiary's rules is not looked at here.
    """
    quotas = shares.quotas
    if quotas.rules(beneficiary).reclaim is Reclaim.NEVER:
        return None
    mine, theirs = apart(quotas, beneficiary, victim), apart(quotas, victim, beneficiary)
    if not mine or not theirs:
        return None
    given = demand if given is None else given
    useful = [name for name, amount in demand.items() if amount > 0 and given.get(name, 0) > 0]
    claimed = [name for name in useful if quotas.guarantee(mine[-1], name)]
    if _within(quotas, mine, demand) and _lends(quotas, theirs, claimed, given):
        return Claims.GUARANTEE
    if _below(shares, mine, demand) and _exceeds(shares, theirs, useful, given):
        freed = {name: -amount for name, amount in given.items()}
        if shares.saturation(mine[-1], demand) <= shares.saturation(theirs[-1], freed):
            return Claims.SHARE
    return None


def apart(quotas: Quotas, queue: str, other: str) -> list[str]:
    """`queue` and those above it, up to the last that is not above `other` too: there the two compete."""
    tree = quotas.tree
    common = set(tree.path[tree.index[other]])
    return [tree.names[row] for row in reversed(tree.path[tree.index[queue]]) if row not in common]


def _within(quotas: Quotas, names: list[str], gang: Mapping[str, int], *, runs: bool = False) -> bool:
    """With the gang none exceeds its guarantee, and the topmost, for which others see it, guarantees some of it.

    `runs`: the gang is counted as used already.
    """
    named = False
    for name in names:
        guaranteed = [each for each in gang if gang[each] > 0 and quotas.guarantee(name, each)]
        more = {each: 0 if runs else gang[each] for each in guaranteed}
        if any(quotas.used(name, each) + more[each] > quotas.guarantee(name, each) for each in guaranteed):
            return False
        named = bool(guaranteed)
    return named


def _lends(quotas: Quotas, names: list[str], claimed: list[str], given: Mapping[str, int]) -> bool:
    """Of something claimed all use more than their guarantee, and none loses of what it never lends.

    A gang that is itself within the guarantees of its queue is safe: it could be claimed back at once.
    """
    lent = any(all(quotas.used(name, each) > quotas.guarantee(name, each) for name in names) for each in claimed)
    if not lent or _within(quotas, names, given, runs=True):
        return False
    return all(
        quotas.used(name, each) - amount >= quotas.kept(name, each)
        for name in names
        for each, amount in given.items()
        if amount > 0 and quotas.kept(name, each)
    )


def _below(shares: FairShares, names: list[str], demand: Mapping[str, int]) -> bool:
    return all(shares.saturation(name, demand) <= 1 for name in names)


def _exceeds(shares: FairShares, names: list[str], useful: list[str], given: Mapping[str, int]) -> bool:
    quotas = shares.quotas
    above = any(all(shares.above(name, resource) for name in names) for resource in useful)
    stays = all(
        quotas.used(name, resource) - amount >= quotas.guarantee(name, resource)
        for name in names
        for resource, amount in given.items()
        if amount > 0 and quotas.guarantee(name, resource)
    )
    return above and stays
