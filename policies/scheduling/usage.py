"""What queues used in the past, and how it fades: it halves in each half-life, exactly, however often one looks.

Amounts are means over the past in the unit of the resource: a queue that has always used 8 GPUs has a past of 8, and
one that used them until one half-life ago has a past of 4. The first `entry` seconds of a gang are counted when it
starts, so that a queue that starts a burst of short gangs does not come first again before they were seen to run.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from policies.scheduling.model import QueueRules

ENTRY = 300


@dataclass(slots=True)
class _Past:
    half_life: int
    at: int = 0
    amounts: dict[str, float] = field(default_factory=dict)
    rates: dict[str, int] = field(default_factory=dict)  # what is used now and not counted in advance
    later: list[tuple[int, str]] = field(default_factory=list)  # a heap: when a gang's first seconds are over


class Usage:
    """The past of every queue that has a half-life, its own or that of the nearest queue above it that has one.

    Times do not go backwards within one queue. Errors: KeyError for the end of a gang that did not start.
    """

    def __init__(self, queues: Sequence[QueueRules], entry: int = ENTRY) -> None:
        self.entry = entry
        rules = {rule.name: rule for rule in queues}
        lives = {name: _half_life(rules, name) for name in rules}
        self._pasts = {name: _Past(life) for name, life in lives.items() if life is not None}
        self._gangs: dict[str, tuple[str, Mapping[str, int]]] = {}
        self._waiting: dict[str, int] = {}  # gangs whose first seconds are not over, and when they are

    def started(self, queue: str, gang: str, demand: Mapping[str, int], now: int) -> None:
        self._gangs[gang] = (queue, demand)
        past = self._pasts.get(queue)
        if past is None:
            return
        self._settle(past, now)
        at_once = 1 - _kept(past, self.entry)
        for resource, amount in demand.items():
            past.amounts[resource] = past.amounts.get(resource, 0.0) + amount * at_once
        self._count_from(past, gang, now + self.entry)

    def goes_on(self, queue: str, gang: str, demand: Mapping[str, int], since: int, now: int) -> None:
        """After `remember`: a gang that runs since before `now`; the past holds what it used until then."""
        self._gangs[gang] = (queue, demand)
        past = self._pasts.get(queue)
        if past is not None:
            self._settle(past, now)
            self._count_from(past, gang, max(now, since + self.entry))

    def ended(self, gang: str, now: int) -> None:
        queue, demand = self._gangs[gang]
        past = self._pasts.get(queue)
        if past is not None:
            self._settle(past, now)
            self._end(past, gang, demand)
        del self._gangs[gang]

    def past(self, queue: str, now: int) -> dict[str, float]:
        """Resource -> amount; empty for a queue without a half-life."""
        past = self._pasts.get(queue)
        if past is None:
            return {}
        self._settle(past, now)
        return dict(past.amounts)

    def remember(self, queue: str, amounts: Mapping[str, float], at: int) -> None:
        """Take up what `past` said at that time; nothing of the queue may be counted as running."""
        past = self._pasts.get(queue)
        if past is not None:
            past.at, past.amounts = at, dict(amounts)

    def _end(self, past: _Past, gang: str, demand: Mapping[str, int]) -> None:
        if gang not in self._waiting:
            _change(past, demand, -1)
            return
        del self._waiting[gang]

    def _count_from(self, past: _Past, gang: str, at: int) -> None:
        self._waiting[gang] = at
        heapq.heappush(past.later, (at, gang))
        self._settle(past, past.at)

    def _settle(self, past: _Past, now: int) -> None:
        while past.later and past.later[0][0] <= now:
            at, gang = heapq.heappop(past.later)
            if self._waiting.get(gang) == at:  # else it ended before
                _fade(past, at)
                del self._waiting[gang]
                _change(past, self._gangs[gang][1], 1)
        _fade(past, now)


def _half_life(rules: Mapping[str, QueueRules], name: str) -> int | None:
    at: str | None = name
    while at is not None:
        if rules[at].half_life is not None:
            return rules[at].half_life
        at = rules[at].parent
    return None


def _kept(past: _Past, seconds: int) -> float:
    return float(2.0 ** (-seconds / past.half_life))


def _fade(past: _Past, now: int) -> None:
    if now <= past.at:
        return
    kept = _kept(past, now - past.at)
    for resource in past.amounts.keys() | past.rates.keys():
        steady = past.rates.get(resource, 0)
        past.amounts[resource] = steady + (past.amounts.get(resource, 0.0) - steady) * kept
    past.at = now


def _change(past: _Past, demand: Mapping[str, int], sign: int) -> None:
    for resource, amount in demand.items():
        past.rates[resource] = past.rates.get(resource, 0) + sign * amount
