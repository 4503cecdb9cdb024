"""Who may be told to go for whom, how soon again, and how many in a while. Where the nodes then lead is not asked here.

A gang that goes loses work and comes back to the same queue, so without a brake two gangs can throw each other out for
ever. Three brakes: a gang is safe for longer each time that it was displaced, nobody displaces whom it lost its nodes
to, and a pool sees only so many evictions in a while.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from policies.scheduling.model import Pod, QueueRules, Reclaim, Request, Running, Within


class Spared(StrEnum):
    """Why a running gang may not be displaced. The first that applies, in this order."""

    LEAVING = "is leaving already"
    PROTECTED = "is not preemptible"
    RESERVED = "runs within a reservation"
    RULE = "is out of reach of the queue's preemption rules"
    PRIORITY = "has too high a priority"
    NEWEST = "was submitted no later"
    DISPLACER = "took the gang's own nodes before"
    MIN_RUN = "has not run for its queue's shortest time"
    DAMPED = "was displaced a short while ago"
    SHARE = "uses no more than what is its queue's"


@dataclass(frozen=True, slots=True)
class Displaced:
    """What happened: `victim` gave up nodes for `beneficiary`."""

    victim: str
    beneficiary: str
    at: int


@dataclass(frozen=True, slots=True)
class Damping:
    """After its nth displacement within `window` seconds a gang is safe for `first` * 2**(n - 1) seconds, at most
    `longest`, beyond the shortest run time of its queue."""

    first: int = 1800
    longest: int = 86400
    window: int = 86400


@dataclass(frozen=True, slots=True)
class Rate:
    """A pool sees at most `most` evictions in any `window` seconds. One decision that needs more is let through when
    none happened in the window: else a gang that needs many nodes would wait for ever."""

    most: int = 64
    window: int = 600


@dataclass(frozen=True, slots=True)
class Rules:
    """What binds the choice of victims. `owed`: the beneficiary's queue is below its guarantee and would stay within
    it, so what others borrowed of it comes back whatever their priority; what is only its fair share does not."""

    queues: Mapping[str, QueueRules]
    past: Sequence[Displaced] = ()
    owed: bool = False
    damping: Damping = field(default_factory=Damping)
    rate: Rate = field(default_factory=Rate)


# A gang, and those of its pods that go.
Going = tuple[Running, tuple[Pod, ...]]
# Whether the gang's queue may lose it once others have gone. Having said no it says no to more others too.
May = Callable[[Running, Sequence[Going]], bool]


def anybody(victim: Running, gone: Sequence[Going]) -> bool:
    """For a pool without shares: whoever the other rules let go may go."""
    return True


def eligible(request: Request, running: Sequence[Running], may: May, now: int, rules: Rules) -> list[Spared | None]:
    """For each running gang: None if it may be displaced for the request, else why not."""
    displacers = displacers_of(request.id, rules.past)
    times: dict[str, list[int]] = defaultdict(list)
    for one in rules.past:
        times[one.victim].append(one.at)
    return [
        _spared(request, victim, rules, displacers)
        or _too_soon(victim, times.get(victim.request.id, ()), now, rules)
        or (None if may(victim, ()) else Spared.SHARE)
        for victim in running
    ]


def displacers_of(gang: str, past: Iterable[Displaced]) -> set[str]:
    """Who took the gang's nodes, who took theirs, and so on: to displace one of them would close a circle."""
    takers: dict[str, set[str]] = defaultdict(set)
    for one in past:
        takers[one.victim].add(one.beneficiary)
    found: set[str] = set()
    open_ends = [gang]
    while open_ends:
        new = takers[open_ends.pop()] - found
        found |= new
        open_ends += sorted(new)
    return found


def safe_until(since: int, min_run: int, displaced: int, last: int, now: int, damping: Damping) -> int:
    """When a gang that runs since `since` may be displaced again: `displaced` times it was before, last at `last`."""
    if not displaced or now - last > damping.window:
        return since + min_run
    doubled = damping.first << min(displaced - 1, 32)
    return since + min_run + min(doubled, damping.longest)


def evictions_left(recent: Iterable[int], now: int, rate: Rate) -> int | None:
    """How many more gangs may be told to go now, by the times of the last evictions. None: as many as one decision
    needs, since none happened within the window."""
    within = sum(now - rate.window < at <= now for at in recent)
    return max(0, rate.most - within) if within else None


def lost_work(victim: Running, now: int) -> int:
    """What is done again if the gang goes now: seconds since its last checkpoint times 1/1000 of GPUs."""
    start = max(victim.since, victim.since if victim.saved is None else victim.saved)
    return max(0, now - start) * gpu_parts(victim)


def gpu_parts(victim: Running) -> int:
    """GPUs that a gang holds, in 1/1000."""
    roles = victim.request.roles
    return sum(roles[pod.role].shape.share * roles[pod.role].shape.gpus for pod in victim.pods)


def _spared(request: Request, victim: Running, rules: Rules, displacers: set[str]) -> Spared | None:
    if victim.leaving:
        return Spared.LEAVING
    other = victim.request
    if not other.preemptible:
        return Spared.PROTECTED
    if other.reservation is not None and other.reservation != request.reservation:
        return Spared.RESERVED
    own = rules.queues[request.queue]
    ruled = (
        _in_own_queue(request, other, own) if other.queue == request.queue else _elsewhere(request, other, own, rules)
    )
    return ruled or (Spared.DISPLACER if other.id in displacers else None)


def _in_own_queue(request: Request, other: Request, own: QueueRules) -> Spared | None:
    if own.within is Within.NEVER:
        return Spared.RULE
    if other.priority < request.priority:
        return None
    if other.priority > request.priority or own.within is Within.LOWER:
        return Spared.PRIORITY
    return None if other.submitted > request.submitted else Spared.NEWEST


def _elsewhere(request: Request, other: Request, own: QueueRules, rules: Rules) -> Spared | None:
    if own.reclaim is Reclaim.NEVER:
        return Spared.RULE
    if own.reclaim is Reclaim.LOWER:
        return None if other.priority < request.priority else Spared.PRIORITY
    return None if rules.owed or other.priority <= request.priority else Spared.PRIORITY


def _too_soon(victim: Running, times: Sequence[int], now: int, rules: Rules) -> Spared | None:
    min_run = rules.queues[victim.request.queue].min_run
    if now < victim.since + min_run:
        return Spared.MIN_RUN
    if not times:
        return None
    counted = [at for at in times if now - at <= rules.damping.window]
    last = max(counted, default=victim.since)
    safe = safe_until(victim.since, min_run, len(counted), last, now, rules.damping)
    return Spared.DAMPED if now < safe else None
