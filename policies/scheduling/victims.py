"""Who leaves so that a gang can start: chosen only together with places that are proven to be free once they have gone.

The price is the work that is lost. What elastic gangs have above their smallest size goes first; a whole gang goes only
where that is not enough. Every domain that the gang could be in is tried and the cheapest wins. Where no set of victims
is enough nobody is told to go, and the answer says what stood in the way. With one role a set is found if there is any;
roles that need the same nodes are laid out by greed, which may miss one.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from policies.scheduling.eligible import Going, May, Rules, Spared, anybody, eligible, evictions_left
from policies.scheduling.model import Eviction, Pod, Refusal, Request, Running
from policies.scheduling.nodes import Nodes
from policies.scheduling.sizes import given_up, held, surplus, wanted
from policies.scheduling.victim_ground import Ground, Mask, Scope, asks_of, scopes_of
from policies.scheduling.victim_room import Unit, unit
from policies.scheduling.victim_search import Search
from policies.scheduling.victim_trial import Cost, Trial, cost

Claims = Callable[[Sequence[Going]], bool]  # whether the beneficiary's queue may take what it asks once these have gone


class Placing(Protocol):
    """Places a gang on what is free: `Placer.place`."""

    def __call__(
        self, request: Request, *, allowed: Mask | None = None, sizes: Sequence[int] | None = None
    ) -> tuple[Pod, ...] | Refusal: ...


class Limit(StrEnum):
    """What made a set of victims impossible."""

    NOBODY = "nobody"  # may be displaced
    LEVEL = "level"  # no node is in a domain of the level that the gang must be within
    ROOM = "room"  # even without all who may go there is too little
    FIT = "fit"  # there would be room enough, and greed found no way to place the roles on it
    SHARE = "share"  # other queues may not lose so much
    QUOTA = "quota"  # all who may go leave the queue too little
    RATE = "rate"  # too many evictions in a short time


@dataclass(frozen=True, slots=True)
class Proof:
    """Evictions, and where the beneficiary's pods then go. `lost`: seconds of work times GPUs. `at`: their domain."""

    evictions: tuple[Eviction, ...]
    pods: tuple[Pod, ...]
    lost: int
    at: str = ""


@dataclass(frozen=True, slots=True)
class NoVictims:
    """Nobody goes, because of `limit`: so many pods, or evictions, are needed, and so many possible, at best `at`."""

    limit: Limit
    needed: int
    possible: int
    text: str
    at: str = ""


def find_victims(
    nodes: Nodes,
    place: Placing | None,
    request: Request,
    running: Sequence[Running],
    may: May,
    now: int,
    rules: Rules,
    *,
    claims: Claims | None = None,
    allowed: Mask | None = None,
    sizes: Sequence[int] | None = None,
) -> Proof | NoVictims:
    """The cheapest evictions after which the request fits, with its places then.

    `place` chooses the places once the victims are known; without it, or where it finds none, the search's own stand.
    `may`: see `eligible`. `claims`: for a queue that has too little quota as well. `allowed`: rows that the gang may
    be on. `sizes`: pods of each role, if not those asked for. `nodes` is as before afterwards.
    """
    spared = eligible(request, running, may, now, rules)
    rows = [row for row, why in enumerate(spared) if why is None]
    if not rows:
        return NoVictims(Limit.NOBODY, 1, 0, _nobody(spared))
    size = tuple(wanted(request) if sizes is None else sizes)
    scopes = scopes_of(nodes, request, allowed)
    asks = asks_of(nodes, request, size, allowed)
    if not scopes or asks is None:
        return NoVictims(Limit.LEVEL, sum(size), 0, "no node is within a domain of the level that the gang must be in")
    shrinks = [unit(nodes, running, row, keep, now) for row in rows if (keep := surplus(running[row])) is not None]
    wholes = [unit(nodes, running, row, None, now) for row in rows]
    refusal: NoVictims | None = None
    for units in (shrinks, wholes):
        if not units:
            continue
        found = _Round(nodes, running, Ground(nodes, asks, units, request.apart), may, claims, now).best(scopes)
        if isinstance(found, NoVictims):
            refusal = found
            continue
        scope, gone, pods = found
        late = _too_many(gone, now, rules)
        return late or _proof(nodes, place, request, running, scope, gone, pods, size)
    assert refusal is not None
    return refusal


def carry_out(nodes: Nodes, running: Sequence[Running], request: Request, proof: Proof) -> None:
    """Change `nodes` to what they are when the victims have gone and the beneficiary has come."""
    gangs = {gang.request.id: gang for gang in running}
    for eviction in proof.evictions:
        gang = gangs[eviction.victim]
        gone = gang.pods if eviction.keep is None else given_up(gang, eviction.keep)
        nodes.give_all(gang.request, [pod for pod in gone if pod.node in nodes.index])
    nodes.take_all(request, proof.pods)


class _Round:
    """One attempt, with gangs as wholes or with what they have too many."""

    def __init__(
        self, nodes: Nodes, running: Sequence[Running], ground: Ground, may: May, claims: Claims | None, now: int
    ) -> None:
        self.nodes, self.running, self.ground, self.may, self.claims, self.now = (
            nodes, running, ground, may, claims, now,
        )  # fmt: skip
        self.search = Search(ground, self._permitted, self._satisfied)

    def best(self, scopes: Sequence[Scope]) -> tuple[Scope, list[Unit], list[Pod]] | NoVictims:
        need = sum(ask.need for ask in self.ground.asks)
        reach = [self.ground.reach(scope) for scope in scopes]
        best: tuple[Cost, int, list[Unit]] | None = None
        for number, scope in enumerate(scopes):
            if reach[number] < need or (gone := self.search.solve(scope)) is None:
                continue
            found = (cost(gone), number, gone)
            best = found if best is None or found[:2] < best[:2] else best
        if best is None:
            return self._impossible(scopes, reach, need)
        trial = Trial(self.ground, scopes[best[1]], self._satisfied, best[2])
        self._trim(trial)
        pods = self.ground.layout(scopes[best[1]])
        gone = list(trial.gone)
        trial.end()
        assert pods is not None, "a set that is enough has places"
        return scopes[best[1]], gone, pods

    def _going(self, gone: Sequence[Unit]) -> list[Going]:
        return [(self.running[one.victim], one.pods) for one in gone]

    def _permitted(self, chosen: Sequence[Unit], one: Unit) -> bool:
        return self.may is anybody or self.may(self.running[one.victim], self._going(chosen))

    def _satisfied(self, gone: Sequence[Unit]) -> bool:
        return self.claims is None or self.claims(self._going(gone))

    def _trim(self, trial: Trial) -> None:
        """Let an elastic gang go on smaller where that is enough, and as large as it can be."""
        for one in list(trial.gone):
            gang = self.running[one.victim]
            keep = surplus(gang)
            if keep is None:
                continue
            if one.keep is None and (one := self._instead(trial, one, keep)).keep is None:
                continue
            for role, most in enumerate(held(gang)):
                for count in range(most, keep[role], -1):
                    larger = (*keep[:role], count, *keep[role + 1 :])
                    if (one := self._instead(trial, one, larger)).keep == larger:
                        keep = larger
                        break

    def _instead(self, trial: Trial, one: Unit, keep: tuple[int, ...]) -> Unit:
        """The gang keeps so much, if that is enough; else all is as before."""
        other = unit(self.nodes, self.running, one.victim, keep, self.now)
        place = trial.hold(one)
        trial.free(other, place)
        if other.pods and trial.enough():
            return other
        trial.hold(other)
        trial.free(one, place)
        return one

    def _impossible(self, scopes: Sequence[Scope], reach: Sequence[int], need: int) -> NoVictims:
        most = max(reach)
        at = scopes[reach.index(most)].name
        where = f" in {at}" if at else ""
        text = f"without all {len(self.ground.units)} that may go{where}"
        if most < need:
            return NoVictims(Limit.ROOM, need, most, f"{text}, {most} of {need} pods would fit", at)
        if not self._satisfied(self.ground.units):
            return NoVictims(Limit.QUOTA, need, most, f"{text}, the queue would still have too little quota", at)
        units = self.ground.units
        if not all(self._permitted(units[:place], one) for place, one in enumerate(units)):
            return NoVictims(
                Limit.SHARE, need, most, f"{text} there is room, but their queues may not lose so much", at
            )
        return NoVictims(Limit.FIT, need, most, f"{text}, no way was found to place all {need} pods at once", at)


def _nobody(spared: Sequence[Spared | None]) -> str:
    counts = Counter(why for why in spared if why is not None)
    parts = [f"{count} {why.value}" for why, count in counts.most_common()]
    return f"of {len(spared)} gangs none may be displaced: {', '.join(parts)}" if parts else "nothing runs"


def _too_many(gone: Sequence[Unit], now: int, rules: Rules) -> NoVictims | None:
    left = evictions_left((one.at for one in rules.past), now, rules.rate)
    if left is None or len(gone) <= left:
        return None
    text = f"{len(gone)} gangs would have to go, and within {rules.rate.window} s no more than {left} others may"
    return NoVictims(Limit.RATE, len(gone), left, text)


def _proof(
    nodes: Nodes,
    place: Placing | None,
    request: Request,
    running: Sequence[Running],
    scope: Scope,
    gone: Sequence[Unit],
    pods: Sequence[Pod],
    sizes: Sequence[int],
) -> Proof:
    evictions = tuple(
        Eviction(
            running[one.victim].request.id,
            request.id,
            _why(request, running[one.victim]),
            -(-one.lost // 1000),
            one.keep,
        )
        for one in gone
    )
    chosen = tuple(pods)
    if place is not None:
        before = nodes.copy_free()
        for one in gone:
            going = [pod for pod in one.pods if pod.node in nodes.index]
            nodes.give_all(running[one.victim].request, going)
        better = place(request, allowed=scope.rows, sizes=sizes)
        nodes.restore(before)
        chosen = chosen if isinstance(better, Refusal) else better
    return Proof(evictions, chosen, sum(one.lost for one in evictions), scope.name)


def _why(request: Request, victim: Running) -> str:
    other = victim.request
    if other.queue != request.queue:
        return f"queue {request.queue} takes back for {request.id} what {other.queue} borrowed"
    if other.priority < request.priority:
        return f"{request.id} has priority {request.priority}, above {other.priority}"
    return f"{request.id} has the same priority {request.priority} and was submitted before"
