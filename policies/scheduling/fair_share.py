"""What each queue is entitled to of each resource: its guarantee first, then by weight what the others leave.

These amounts say who is above and who is below, for explanations and for reclaiming. Who starts next is decided by
`shares.py` on the same guarantees and weights.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.scheduling.quotas import Quotas

PER_MILLE = 1000


@dataclass(frozen=True, slots=True)
class Share:
    """One queue explained, with those below it, by resource. `borrowed`: what it uses above its guarantee.

    `value`: the largest borrowed part in 1/1000 of all that there is, divided by the weight.
    """

    queue: str
    weight: float
    used: Mapping[str, int]
    guarantee: Mapping[str, int]
    fair: Mapping[str, float]
    borrowed: Mapping[str, int]
    value: float


class FairShares:
    """Fair amounts of all queues at the given demands.

    `wanted`: queue -> resource -> what its own gangs use and wait for together, without those of queues below it.
    """

    def __init__(self, quotas: Quotas, wanted: Mapping[str, Mapping[str, int]]) -> None:
        self.quotas = quotas
        rows = len(quotas.tree.names)
        self._fair: dict[str, list[float]] = {}
        for resource in tuple(quotas.resources):
            column = quotas.tree.column(resource)
            own = [0] * rows
            for queue, amounts in wanted.items():
                own[quotas.tree.index[queue]] = amounts.get(resource, 0)
            self._fair[resource] = _fair(quotas, column, own)

    def fair(self, queue: str, resource: str) -> float:
        """What the queue and those below it are entitled to together, at most what they want."""
        amounts = self._fair.get(resource)
        return 0.0 if amounts is None else amounts[self.quotas.tree.index[queue]]

    def saturation(self, queue: str, change: Mapping[str, int] | None = None) -> float:
        """The largest used / fair of any resource, after `change`: infinite if it uses what it is not entitled to."""
        return max(
            (self._ratio(queue, resource, (change or {}).get(resource, 0)) for resource in self._fair), default=0.0
        )

    def above(self, queue: str, resource: str) -> bool:
        return self.quotas.used(queue, resource) > self.fair(queue, resource)

    def explain(self, queue: str) -> Share:
        quotas, names = self.quotas, self._fair
        used = {name: quotas.used(queue, name) for name in names}
        guarantee = {name: quotas.guarantee(queue, name) for name in names}
        return Share(
            queue=queue,
            weight=quotas.rules(queue).weight,
            used=used,
            guarantee=guarantee,
            fair={name: self.fair(queue, name) for name in names},
            borrowed={name: max(0, used[name] - guarantee[name]) for name in names},
            value=borrowed_share(quotas, queue),
        )

    def _ratio(self, queue: str, resource: str, change: int) -> float:
        used = self.quotas.used(queue, resource) + change
        fair = self.fair(queue, resource)
        if used <= 0:
            return 0.0
        return used / fair if fair > 0 else math.inf


def borrowed_share(quotas: Quotas, queue: str) -> float:
    """The largest part above the guarantee, in 1/1000 of all that there is, by weight. Weight 0: infinite if any."""
    parts = []
    for resource, assured in quotas.assured(queue).items():
        borrowed = quotas.used(queue, resource) - assured
        if borrowed > 0:
            parts.append(PER_MILLE * borrowed / max(1, quotas.capacity(resource)))
    if not parts:
        return 0.0
    weight = quotas.rules(queue).weight
    return max(parts) / weight if weight > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Claim:
    """`floor`: what it gets first. `cap`: what it wants and may have, at least the floor."""

    floor: float
    cap: float
    weight: float


def split(amount: float, claims: Sequence[Claim]) -> list[float]:
    """Each gets its floor, then by weight what is left, up to its cap; what one cannot use goes to the others.

    If there is less than all floors, each gets the same part of its own.
    """
    floors = sum(claim.floor for claim in claims)
    if floors >= amount:
        return [claim.floor * amount / floors if floors else 0.0 for claim in claims]
    got = [claim.floor for claim in claims]
    left = amount - floors
    # In the order in which they are full when all rise together, each by its weight.
    rising = [at for at, claim in enumerate(claims) if claim.weight > 0 and claim.cap > claim.floor]
    rising.sort(key=lambda at: (claims[at].cap - claims[at].floor) / claims[at].weight)
    weights = sum(claims[at].weight for at in rising)
    for at in rising:
        claim = claims[at]
        more = min(claim.cap - claim.floor, left * claim.weight / weights)
        got[at] += more
        left -= more
        weights -= claim.weight
    return got


def _fair(quotas: Quotas, column: int, own: Sequence[int]) -> list[float]:
    """Of one resource, for every row: what is wanted goes up the tree, what is fair comes down."""
    tree = quotas.tree
    wanted = [float(amount) for amount in own]
    for row in range(len(wanted) - 1, tree.roots - 1, -1):
        most = min(tree.limit[row][column], tree.borrowable[row][column])
        wanted[row] = min(wanted[row], most)
        wanted[tree.parent[row]] += wanted[row]
    fair = [0.0] * len(wanted)
    fair[:2] = [float(tree.limit[0][column]), math.inf]
    for row, below in enumerate(tree.children):
        if not below:
            continue
        # Room that is never lent, and that its owner does not want, is no one's.
        amount = fair[row] - sum(max(0.0, tree.kept[child][column] - wanted[child]) for child in below)
        claims = [
            Claim(min(tree.assured(child)[column], wanted[child]), wanted[child], tree.rules[child].weight)
            for child in below
        ]
        itself = min(float(own[row]), wanted[row]) if row >= tree.roots else 0.0
        parts = split(max(0.0, amount), [*claims, Claim(0.0, itself, 1.0)])
        for child, part in zip(below, parts, strict=False):
            fair[child] = part
    return fair
