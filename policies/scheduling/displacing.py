"""Victims for a gang of one round: what queues may take from each other, and what was promised, looked at together."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from policies.scheduling.eligible import Going, Rules
from policies.scheduling.fair_share import FairShares
from policies.scheduling.kernels_time import NEVER
from policies.scheduling.masks import Mask
from policies.scheduling.model import Request, Running
from policies.scheduling.profile import Profile
from policies.scheduling.quotas import Quotas
from policies.scheduling.reclaim import Claims, may_reclaim
from policies.scheduling.sizes import given_up, kept
from policies.scheduling.victims import Proof, find_victims
from policies.scheduling.world import World


class Displacing:
    """Looks for victims for the first gangs that ask, up to the pool's number of searches."""

    def __init__(self, world: World, profile: Profile, quotas: Quotas, now: int) -> None:
        self.world, self.profile, self.quotas, self.now = world, profile, quotas, now
        self.left = world.settings.searches
        self.gone: set[str] = set()  # who was told to go in this round
        self._shares: FairShares | None = None

    def find(self, request: Request, allowed: Mask | None) -> Proof | None:
        """Evictions with the gang's places then, which delay nobody's promise that it may not displace; or None.

        Where the best victims hold what was promised to others next, victims on other nodes are looked for.
        """
        if self.left <= 0 or not self.world.running:
            return None
        self.left -= 1
        world, settings = self.world, self.world.settings
        asks = world.waiting.asks[int(world.waiting.kind[world.waiting.index[request.id]])]
        running = [gang for name, gang in world.running.items() if name not in self.gone]
        rights = _Rights(self, request, asks)
        rules = Rules(world.queues, world.past, rights.owed(running), settings.damping, settings.rate)
        sizes = [role.fewest for role in request.roles]
        for unpromised in (False, True):
            rows = self._unpromised(request, allowed) if unpromised else allowed
            found = find_victims(
                world.nodes, world.placer.place, request, running, rights.may, self.now, rules,
                claims=rights.suffices, allowed=rows, sizes=sizes,
            )  # fmt: skip
            if not isinstance(found, Proof) or not found.evictions:
                return None
            if self._keeps_promises(request, found):
                self._settle(request, asks, found, running)
                return found
        return None

    def _settle(self, request: Request, asks: Mapping[str, int], proof: Proof, running: Sequence[Running]) -> None:
        """From now on in this round the victims use nothing, and the gang has what it asks."""
        gangs = {gang.request.id: gang for gang in running}
        for eviction in proof.evictions:
            gang = gangs[eviction.victim]
            gone = gang.pods if eviction.keep is None else given_up(gang, eviction.keep)
            self.quotas.remove(gang.request.queue, self.world.takes(gang.request, gone))
            self.gone.add(eviction.victim)
        self.quotas.add(request.queue, asks)
        self._shares = None

    def shares(self) -> FairShares:
        """Fair amounts at what everybody uses and waits for."""
        if self._shares is None:
            wanted: dict[str, Counter[str]] = defaultdict(Counter)
            for gang in self.world.running.values():
                wanted[gang.request.queue].update(self.world.takes(gang.request, gang.pods))
            for queue, amounts in self.world.waiting.wanted(self.quotas).items():
                wanted[queue].update(amounts)
            self._shares = FairShares(self.quotas, wanted)
        return self._shares

    def _unpromised(self, request: Request, allowed: Mask | None) -> Mask:
        """Nodes on which nobody is promised a start, whom the gang may not displace, while it would run there."""
        seconds = request.seconds
        until = NEVER if seconds is None else self.now + seconds
        free = np.ones(len(self.world.nodes.names), np.bool_) if allowed is None else allowed.copy()
        for name, row in self.profile.pins.items():
            below = request.displaces and row.request.priority < request.priority
            if name != request.id and not below and row.start < until:
                free[row.nodes] = False
        return free

    def _keeps_promises(self, request: Request, proof: Proof) -> bool:
        """Plan as if the victims had gone. Without it being possible the plan is as before."""
        profile, world = self.profile, self.world
        victims = {each.victim: each.keep for each in proof.evictions if each.victim in profile.running}
        before = [world.running[name] for name in victims]
        smaller = [replace(gang, pods=kept(gang, keep)) for gang in before if (keep := victims[gang.request.id])]
        profile.end(victims)
        profile.run(smaller)
        below = [name for name, row in profile.pins.items() if row.request.priority < request.priority]
        pins = {name: profile.promise(profile.pins[name]) for name in below} if request.displaces else {}
        requests = {name: profile.pins[name].request for name in pins}
        profile.unpin(pins)
        if profile.may_start(request, proof.pods, request.seconds):
            return True
        profile.end([gang.request.id for gang in smaller])
        profile.run(before)
        for name, promise in pins.items():
            profile.pin(requests[name], promise, requests[name].seconds)
        return False


class _Rights:
    """By what right one gang displaces others of other queues."""

    def __init__(self, displacing: Displacing, request: Request, asks: Mapping[str, int]) -> None:
        self._all, self._request, self._asks = displacing, request, asks
        self._known: dict[object, Claims | None] = {}
        self._without = displacing.quotas.copy()  # what is used once those of `_gone` have left
        self._gone: dict[tuple[str, int], Going] = {}  # by name and by their pods, which differ where a gang shrinks

    def may(self, victim: Running, gone: Sequence[Going]) -> bool:
        """Together with those of its queue that go already."""
        return self._right(victim, gone) is not None

    def suffices(self, gone: Sequence[Going]) -> bool:
        """Whether the gang is within its limits once these have gone.

        A search asks of hundreds of sets that differ from the one before by a gang or two, and only those are counted.
        """
        now = {(gang.request.id, id(pods)): (gang, pods) for gang, pods in gone}
        for name in self._gone.keys() - now.keys():
            self._without.add(*self._counted(self._gone[name]))
        for name in now.keys() - self._gone.keys():
            self._without.remove(*self._counted(now[name]))
        self._gone = now
        return self._without.fits(self._request.queue, self._asks) is None

    def owed(self, running: Sequence[Running]) -> bool:
        """Whether the gang's queue asks for no more than its guarantee, and somebody borrowed of it."""
        if not self._guaranteed():
            return False
        others = {gang.request.queue: gang for gang in running if gang.request.queue != self._request.queue}
        return any(self._right(gang, ()) is Claims.GUARANTEE for gang in others.values())

    def _guaranteed(self) -> bool:
        """Whether anything that the gang asks is guaranteed to its queue or above it."""
        quotas = self._all.quotas
        tree, asked = quotas.tree, [resource for resource, amount in self._asks.items() if amount > 0]
        holders = [tree.names[row] for row in tree.path[tree.index[self._request.queue]] if row >= tree.roots]
        return any(quotas.guarantee(name, resource) for name in holders for resource in asked)

    def _counted(self, one: Going) -> tuple[str, Mapping[str, int]]:
        gang, pods = one
        return gang.request.queue, self._all.world.takes(gang.request, pods)

    def _right(self, victim: Running, gone: Sequence[Going]) -> Claims | None:
        queue = victim.request.queue
        if queue == self._request.queue:
            return Claims.SHARE
        world = self._all.world
        given = world.takes_all(victim)
        if gone:
            together = Counter(dict(given))
            for gang, pods in gone:
                if gang.request.queue == queue:
                    together.update(world.takes(gang.request, pods))
            given = tuple(sorted(together.items()))
        key = (queue, given)
        if key not in self._known:
            shares = self._all.shares()
            self._known[key] = may_reclaim(shares, self._request.queue, queue, self._asks, dict(given))
        return self._known[key]
