"""A plain reference of the order's shares, with each of its rules to be switched off, on a pool of endless tasks."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from policies.scheduling.demands import demand
from policies.scheduling.model import QueueRules, Request
from policies.scheduling.quotas import Quotas
from policies.scheduling.waiting import Waiting
from tests.policies.scheduling.queue_parts import start_all

ENOUGH = 20  # tasks of a queue that wait at once: more than fit

Starter = Callable[["Endless"], None]


@dataclass
class Endless:
    """Each of `tasks` (queue -> what it asks) waits in endless number; what starts is in `running`."""

    rules: Sequence[QueueRules]
    capacity: Mapping[str, int]
    tasks: Mapping[str, Request]
    running: dict[str, Request] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        self.quotas = Quotas(self.rules, self.capacity)

    def start(self, queue: str) -> None:
        self.count += 1
        name = f"{queue}-{self.count}"
        self.running[name] = replace(self.tasks[queue], id=name)
        self.quotas.add(queue, demand(self.tasks[queue]))

    def fits(self, queue: str) -> bool:
        return self.quotas.fits(queue, demand(self.tasks[queue])) is None

    def churn(self, starter: Starter, rounds: int, ending: Sequence[str], seed: int) -> None:
        """Fill, then `rounds` times end one running task of each of `ending`, and fill again. One of `ending` names
        queues with blanks between; among their tasks chance decides."""
        picked = random.Random(seed)
        starter(self)
        for _ in range(rounds):
            for queues in ending:
                among = [name for name, request in self.running.items() if request.queue in queues.split()]
                gone = self.running.pop(picked.choice(among))
                self.quotas.remove(gone.queue, demand(gone))
            starter(self)

    def tasks_of(self, *queues: str) -> list[int]:
        return [sum(request.queue == queue for request in self.running.values()) for queue in queues]


def by_order(pool: Endless) -> None:
    """Fill the pool as the scheduler does."""
    waiting = Waiting()
    for queue, task in pool.tasks.items():
        for _ in range(ENOUGH):
            pool.count += 1
            waiting.add(replace(task, id=f"{queue}-{pool.count}"))
    start_all(waiting, pool.quotas, pool.running)


@dataclass(frozen=True)
class Reference:
    """The same by plain recursion, without guarantees. With all off it is the naive algorithm."""

    rescale: bool = True  # children to the lowest of those that are not blocked
    spare_blocked: bool = True  # those that are blocked count as they are
    ignore_saturated: bool = True  # resources of which nothing is free

    def __call__(self, pool: Endless) -> None:
        while (queue := self._next(pool)) is not None:
            pool.start(queue)

    def _next(self, pool: Endless) -> str | None:
        at: str | None = None
        while True:
            below = [rule for rule in pool.rules if rule.parent == at]
            if not below:
                return at
            open_ = [rule for rule in below if not self._blocked(pool, rule.name)]
            if not open_:
                return None
            at = min(open_, key=lambda rule: round(self._share(pool, rule), 9)).name

    def _blocked(self, pool: Endless, name: str) -> bool:
        below = [rule.name for rule in pool.rules if rule.parent == name]
        return all(self._blocked(pool, each) for each in below) if below else not pool.fits(name)

    def _share(self, pool: Endless, rule: QueueRules) -> float:
        vector = self._vector(pool, rule.name)
        if self.ignore_saturated and any(other.parent == rule.name for other in pool.rules):
            full = {name for name in vector if pool.quotas.used("", name) >= pool.capacity[name]}
            vector = {name: part for name, part in vector.items() if name not in full}
        return max(vector.values(), default=0.0) / rule.weight

    def _vector(self, pool: Endless, name: str) -> dict[str, float]:
        below = [rule for rule in pool.rules if rule.parent == name]
        if not below:
            return {each: pool.quotas.used(name, each) / amount for each, amount in pool.capacity.items()}
        blocked = {rule.name: self.spare_blocked and self._blocked(pool, rule.name) for rule in below}
        shares = {rule.name: self._share(pool, rule) for rule in below}
        lowest = min((share for each, share in shares.items() if not blocked[each]), default=0.0)
        total = dict.fromkeys(pool.capacity, 0.0)
        for rule in below:
            scaled = self.rescale and not blocked[rule.name] and shares[rule.name] > 0
            scale = lowest / shares[rule.name] if scaled else 1.0
            for each, part in self._vector(pool, rule.name).items():
                total[each] += part * scale
        return total
