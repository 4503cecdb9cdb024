"""What queues use of what they have: above their guarantees, and of whose. Arithmetic over what is stored.

Nobody keeps account of whose GPU a gang got. What is taken above a guarantee is taken first of what nobody is
guaranteed, then of idle guarantees: of the nearest relatives first, and among those in proportion to what is idle.
Amounts are in the unit of their resource, as in `policies.scheduling.model`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from policies.scheduling.model import QueueRules, Quota

Amounts = Mapping[str, int]
POOL = ""  # stands above all queues and has everything there is


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """One resource of one queue, with all queues below it. `waiting`: what gangs that wait ask for.

    `lent`: who has how much of this queue's guarantee: a sibling, one above it, or a sibling of those.
    """

    queue: str
    resource: str
    guarantee: int
    limit: int | None
    used: int
    waiting: int
    lent: Amounts = field(default_factory=dict)

    @property
    def borrowed(self) -> int:
        """Above the guarantee."""
        return max(0, self.used - self.guarantee)


def queues_in_use(
    queues: Sequence[QueueRules], used: Mapping[str, Amounts], waiting: Mapping[str, Amounts], capacity: Amounts
) -> list[ResourceUse]:
    """Every queue with the resources that have a quota there, are used, or are waited for; in the order of `queues`.

    `queues`: parents first. `used`: by queue, with all below it; `waiting`: by the queue that gangs wait in;
    `capacity`: all there is.
    """
    wanted = _upwards(queues, waiting)
    amounts = (capacity, *used.values(), *wanted.values(), *(rules.quotas for rules in queues))
    found: list[ResourceUse] = []
    for resource in sorted({resource for each in amounts for resource in each}):
        taken = {rules.name: used.get(rules.name, {}).get(resource, 0) for rules in queues}
        lent = lent_by(queues, resource, taken, capacity.get(resource, 0))
        for rules in queues:
            own, asked = rules.quotas.get(resource), wanted[rules.name].get(resource, 0)
            if own is not None or taken[rules.name] or asked:
                quota = own or Quota()
                amount = taken[rules.name]
                found.append(
                    ResourceUse(rules.name, resource, quota.guarantee, quota.limit, amount, asked, lent[rules.name])
                )
    place = {rules.name: number for number, rules in enumerate(queues)}
    return sorted(found, key=lambda each: (place[each.queue], each.resource))


def lent_by(queues: Sequence[QueueRules], resource: str, used: Amounts, capacity: int) -> dict[str, Amounts]:
    """By queue: who has how much of its idle guarantee."""
    below: dict[str, list[QueueRules]] = {POOL: [], **{rules.name: [] for rules in queues}}
    for rules in queues:
        below[rules.parent or POOL].append(rules)
    quotas = {rules.name: rules.quotas.get(resource, Quota()) for rules in queues}
    quotas[POOL] = Quota(capacity)
    lent: dict[str, Amounts] = {POOL: {}}
    for parent in (POOL, *(rules.name for rules in queues)):  # parents first
        family = {rules.name: quotas[rules.name] for rules in below[parent]}
        lent |= _divided(parent, quotas[parent].guarantee, family, used, lent[parent])
    return lent


def _divided(
    parent: str, guarantee: int, family: Mapping[str, Quota], used: Amounts, outside: Amounts
) -> dict[str, Amounts]:
    """What each of a family lends. `outside`: who has how much of the parent's guarantee."""
    free = {name: _lendable(quota, used[name]) for name, quota in family.items()}
    over = {name: max(0, used[name] - quota.guarantee) for name, quota in family.items()}
    beyond = 0
    if parent != POOL:
        over[parent] = max(0, used[parent] - sum(used[name] for name in family))  # its own gangs'
        beyond = max(0, used[parent] - guarantee)  # which the parent has from elsewhere
    unassigned = max(0, guarantee - sum(quota.guarantee for quota in family.values()))
    taken = max(0, sum(over.values()) - beyond)
    inside = min(sum(free.values()), max(0, taken - unassigned))
    spare = max(0, unassigned - taken)
    away = min(sum(free.values()) - inside, max(0, sum(outside.values()) - spare))
    takers = Counter(_parted(inside, over)) + Counter(_parted(away, outside))
    lent: dict[str, Amounts] = {}
    for name, amount in _parted(inside + away, free).items():
        has = _parted(amount, takers)
        takers -= Counter(has)
        lent[name] = {taker: each for taker, each in has.items() if each}
    return lent


def _lendable(quota: Quota, used: int) -> int:
    idle = max(0, quota.guarantee - used)
    return idle if quota.lending is None else min(idle, quota.lending)


def _parted(amount: int, weights: Amounts) -> dict[str, int]:
    """An amount in whole parts by weights, none more than its weight; `amount` is at most their sum."""
    total = sum(weights.values())
    if not total:
        return dict.fromkeys(weights, 0)
    parts = {name: amount * weight // total for name, weight in weights.items()}
    left = amount - sum(parts.values())
    nearest = sorted(weights, key=lambda name: (-(amount * weights[name] % total), name))
    for name in nearest[:left]:
        parts[name] += 1
    return parts


def _upwards(queues: Sequence[QueueRules], waiting: Mapping[str, Amounts]) -> dict[str, Counter[str]]:
    """What waits in each queue and all below it."""
    found = {rules.name: Counter(waiting.get(rules.name, {})) for rules in queues}
    for rules in reversed(queues):
        if rules.parent is not None:
            found[rules.parent].update(found[rules.name])
    return found
