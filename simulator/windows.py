"""Windows of reservations in virtual time: booked, held, begun and over by the rules that hold anywhere else.

The scheduler sees them as it does outside of a simulation. `begin` is the instant of second 0, so that local times of
reservations fall somewhere in a trace that counts from 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from policies.scheduling.asks import Claim
from policies.scheduling.bookings import Phase, phase_of
from policies.scheduling.calendar import Entry, Outlook, look
from policies.scheduling.claims import Held, Leave, Want, claims, hold, told_to_go
from policies.scheduling.documents import Pool, Reserved, Scheduling
from policies.scheduling.eligible import lost_work
from policies.scheduling.model import Decision, Eviction, Request, Running
from policies.scheduling.world import World

OVER = (Phase.DRAINING, Phase.ENDED)
AFTERWARDS = 366 * 86_400  # so long after the last arrival nothing is reserved any more
FAR = 2**60  # when what declares no end is expected to be gone


@dataclass(slots=True)
class _Life:
    """A reservation with its bookings."""

    reserved: Reserved
    spec: dict[str, Any]
    pool: Pool | None
    entries: tuple[Entry, ...] = ()


class ReservedWindows:
    """The windows of all reservations of a simulation. Times given and told are seconds of the simulation.

    `last`: when the last job arrives.
    """

    def __init__(self, found: Scheduling, begin: int, last: int) -> None:
        self._begin = begin
        self._until = last + AFTERWARDS
        self._lives = [_life(each, found) for each in found.reservations]
        self._held: tuple[Held, ...] = ()
        self._leaves: dict[str, Leave] = {}
        self._wake: int | None = None

    def before(self, world: World, now: int) -> None:
        """Show the world the windows as they are now, and those that have to go as going."""
        real = now + self._begin
        self._look(world, real)
        self._hold(world, real)
        found = claims(self._held, real, world.settings.horizon)
        world.windows = tuple(self._shifted(each) for each in found)
        told = told_to_go(self._held, list(world.running.values()), _names_it, real)
        self._leaves = {leave.request: leave for leave in told}
        for name in self._leaves:
            world.running[name] = replace(world.running[name], leaving=True)

    def after(self, decision: Decision, world: World, now: int) -> Decision:
        """The decision with those that have to go."""
        going = [
            Eviction(name, "", leave.why, lost_work(world.running[name], now) // 1000)
            for name, leave in self._leaves.items()
        ]
        return replace(decision, evictions=(*going, *decision.evictions))

    def for_good(self) -> frozenset[str]:
        """Those of the present decision that do not come back."""
        return frozenset(name for name, leave in self._leaves.items() if leave.for_good)

    def wakes(self) -> int | None:
        """When time alone changes something next; None: never."""
        return self._wake if self._wake is not None and self._wake <= self._until else None

    def _look(self, world: World, real: int) -> None:
        """Book what comes, and let what is on become longer, or be over."""
        found: list[Outlook] = []
        for life in self._lives:
            seen = look(life.spec, [self._seen(life, each, world, real) for each in life.entries], real)
            life.entries = (*seen.entries, *seen.new)
            found.append(seen)
        times = [seen.wake for seen in found if seen.wake is not None]
        self._wake = min(times) - self._begin if times else None

    def _seen(self, life: _Life, entry: Entry, world: World, real: int) -> Entry:
        """The entry with who runs in it."""
        held = next((each for each in self._held if _is_of(each, life, entry)), None)
        nodes = set() if held is None else set(held.nodes)
        inside = [
            gang
            for gang in world.running.values()
            if gang.request.reservation == life.reserved.name and any(pod.node in nodes for pod in gang.pods)
        ]
        others = tuple(each.want.booking for each in self._held if each is not held and nodes & set(each.nodes))
        ends = tuple(self._end(gang) for gang in inside)
        return replace(entry, jobs_end=ends, vacant=not inside, others=others)

    def _end(self, gang: Running) -> int | None:
        return None if gang.request.limit is None else gang.since + gang.request.limit + self._begin

    def _hold(self, world: World, real: int) -> None:
        """Give windows their nodes; those that have some keep them, and those that are over while jobs are there."""
        wants = [
            Want(life.reserved, entry.booking, life.pool, (entry.number,))
            for life in self._lives
            for entry in life.entries
            if phase_of(entry.booking, real) is not Phase.ENDED
        ]
        had = {(each.name, each.want.life): each.nodes for each in self._held}
        kept = [Held(each, had[key]) for each in wants if (key := (each.reserved.name, each.life)) in had]
        over = [each for each in kept if phase_of(each.want.booking, real) in OVER]
        on = [each for each in kept if phase_of(each.want.booking, real) not in OVER]
        asking = [each for each in wants if phase_of(each.booking, real) not in OVER]
        held, _ = hold(asking, tuple(world.described.values()), on, self._ends(world.running.values()))
        self._held = (*over, *held)

    def _ends(self, running: Iterable[Running]) -> dict[str, int]:
        """When what runs on a node is expected to be gone."""
        found: dict[str, int] = {}
        for gang in running:
            end = self._end(gang) or FAR
            for pod in gang.pods:
                found[pod.node] = max(end, found.get(pod.node, 0))
        return found

    def _shifted(self, claim: Claim) -> Claim:
        return replace(claim, start=claim.start - self._begin, end=claim.end - self._begin)


def _life(reserved: Reserved, found: Scheduling) -> _Life:
    spec = reserved.spec.model_dump(mode="json", by_alias=True)
    return _Life(reserved, spec, None if reserved.spec.pool is None else found.pools[reserved.spec.pool])


def _is_of(held: Held, life: _Life, entry: Entry) -> bool:
    return (held.name, held.want.life) == (life.reserved.name, (entry.number,))


def _names_it(held: Held, request: Request) -> bool:
    """Whether a job may name it was asked when the trace was read."""
    return request.reservation == held.name
