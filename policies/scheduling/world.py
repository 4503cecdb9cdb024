"""A pool as the scheduler knows it between rounds: its nodes, its queues, who waits, who runs, and what was promised.

`plan` reads it and leaves it as it was; events and `apply` change it. Times are whole seconds, as everywhere here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.asks import Claim
from policies.scheduling.demands import capacity, taken
from policies.scheduling.elastic import Pace
from policies.scheduling.eligible import Damping, Displaced, Rate
from policies.scheduling.model import Decision, Node, Pod, Promise, QueueRules, Request, Running
from policies.scheduling.nodes import Nodes
from policies.scheduling.order import places
from policies.scheduling.placing import Placer
from policies.scheduling.profile import DAY
from policies.scheduling.quotas import Quotas
from policies.scheduling.scores import LAM, Scoring, standard
from policies.scheduling.sizes import held, kept
from policies.scheduling.usage import ENTRY, Usage
from policies.scheduling.waiting import Batch, Waiting

ROOT = QueueRules("default")  # where no queue is described, everybody waits in this one


@dataclass(frozen=True, slots=True)
class Settings:
    """How a pool is planned.

    `scoring`: what nodes are filled for; None: pods of 1, 2, 4, ... GPUs. `step`, `horizon`: of the plan in time.
    `depth`: how many waiting gangs are told a start; None: all. `searches`: gangs for which victims are looked for in
    one round, the first in order. `entry`: seconds of a gang that count as used when it starts.
    """

    scoring: Scoring | None = None
    lam: float = LAM
    step: int = 300
    horizon: int = 4 * DAY
    depth: int | None = None
    searches: int = 4
    entry: int = ENTRY
    damping: Damping = field(default_factory=Damping)
    rate: Rate = field(default_factory=Rate)
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True, slots=True)
class Freeing:
    """A gang whose places are being freed by `victims`, and that starts on them as soon as these have gone.

    `start`: when that was said to be.
    """

    request: Request
    pods: tuple[Pod, ...]
    victims: frozenset[str]
    start: int


class World:
    """One pool. `levels`: node labels, outermost first. `windows`: nodes that belong to a reservation, or to nobody.

    Errors: KeyError for a gang or a node that is not there and for the queue that a request names; ValueError for a
    gang that waits or runs already, for two nodes or queues of one name, and for a tree of queues that is none.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        levels: Sequence[str] = (),
        queues: Sequence[QueueRules] = (),
        settings: Settings | None = None,
        windows: Sequence[Claim] = (),
    ) -> None:
        self.settings = settings or Settings()
        self.levels, self.windows = tuple(levels), tuple(windows)
        self.queues = {rules.name: rules for rules in queues or (ROOT,)}
        self.described = {node.name: node for node in nodes}
        self.quotas = Quotas(tuple(self.queues.values()), capacity(nodes))
        self.usage = Usage(tuple(self.queues.values()), self.settings.entry)
        self.waiting = Waiting()
        self.running: dict[str, Running] = {}
        self.promises: dict[str, Promise] = {}
        self.freeing: dict[str, Freeing] = {}
        self.shrinking: dict[str, tuple[int, ...]] = {}  # gangs that were told to go on with so many pods of each role
        self.resized: dict[str, int] = {}  # when the size of a gang that runs changed last
        self.elastic: set[str] = set()  # gangs that run, and could at other sizes too
        self.past: list[Displaced] = []
        models = {resource.partition("/")[2] for rules in self.queues.values() for resource in rules.quotas}
        self.limited_models = tuple(sorted(models - {""}))  # of GPUs, that some queue has a quota of
        self._order: tuple[tuple[int, int, int], NDArray[np.int64]] | None = None
        self._lay_out()

    def submit(self, request: Request) -> None:
        """It waits from now on."""
        if request.queue not in self.queues:
            raise KeyError(request.queue)
        if request.id in self.running:
            raise ValueError(f"{request.id} runs already")
        self.waiting.add(request)

    def submit_all(self, batch: Batch) -> None:
        """They wait from now on, as if each was submitted by itself."""
        for queue in dict.fromkeys(batch.queues):
            if queue not in self.queues:
                raise KeyError(queue)
        if not self.running.keys().isdisjoint(batch.ids):
            raise ValueError("a gang of the batch runs already")
        self.waiting.add_all(batch)

    def adopt(self, gang: Running, now: int) -> None:
        """It runs already. `now`: the time up to which what its queue used in the past was remembered."""
        request = gang.request
        if request.queue not in self.queues:
            raise KeyError(request.queue)
        self._runs(gang)
        demand = self.takes(request, gang.pods)
        self.nodes.take_all(request, gang.pods)
        self.quotas.add(request.queue, demand)
        self.usage.goes_on(request.queue, request.id, demand, gang.since, now)

    def withdraw(self, identity: str) -> None:
        """It waits no longer, and nothing is kept for it."""
        self.waiting.remove(identity)
        self.promises.pop(identity, None)
        self.freeing.pop(identity, None)

    def ended(self, identity: str, now: int) -> None:
        """A gang is over, and its pods are gone."""
        gang = self.running.pop(identity)
        self.elastic.discard(identity)
        self._takes.pop(identity, None)
        self.resized.pop(identity, None)
        self.shrinking.pop(identity, None)
        self._give(gang.request, gang.pods)
        self.quotas.remove(gang.request.queue, self.takes(gang.request, gang.pods))
        self.usage.ended(identity, now)

    def left(self, identity: str, now: int) -> None:
        """A gang that was told to go has gone: all of it, or the pods that it had to give up."""
        keep = self.shrinking.pop(identity, None)
        if keep is None:
            self.ended(identity, now)
            return
        gang = self.running[identity]
        self._resize(gang, tuple(kept(gang, keep)), now)

    def saved(self, identity: str, at: int) -> None:
        """A checkpoint of it, made then, is verified."""
        self.running[identity] = replace(self.running[identity], saved=at)

    def node(self, node: Node) -> None:
        """A node has joined or changed."""
        before = self.described.get(node.name)
        self.described[node.name] = node
        if before is not None and replace(before, open=node.open) == node:
            self.nodes.shut(self.nodes.index[node.name], node.open)
            return
        self.quotas.resize(capacity(self.described.values()))
        self._lay_out()

    def lost(self, name: str) -> None:
        """A node is not heard of. What runs there holds it until it is known to be gone."""
        self.described[name] = replace(self.described[name], open=False)
        self.nodes.shut(self.nodes.index[name])

    def apply(self, decision: Decision, now: int) -> None:
        """The decision is being carried out."""
        for start in decision.starts:
            self._start(start.request, start.pods, now)
        self.promises = {promise.request: promise for promise in decision.promises}
        victims: dict[str, set[str]] = {}
        for eviction in decision.evictions:
            if eviction.beneficiary:
                victims.setdefault(eviction.beneficiary, set()).add(eviction.victim)
            self.past.append(Displaced(eviction.victim, eviction.beneficiary, now))
            if eviction.keep is not None:
                self.shrinking[eviction.victim] = eviction.keep
            self.running[eviction.victim] = replace(self.running[eviction.victim], leaving=True)
        for identity, names in victims.items():
            request = self.waiting.request(self.waiting.index[identity])
            promise = self.promises[identity]
            self.freeing[identity] = Freeing(request, promise.pods, frozenset(names), promise.start)
        gone = [name for name, each in self.freeing.items() if not self.awaited(each) and name not in self.promises]
        for name in gone:
            del self.freeing[name]
        for growth in decision.growths:
            self._resize(self.running[growth.request], growth.pods, now)
        self.past = [one for one in self.past if now - one.at <= self.settings.damping.window]

    def order(self, now: int) -> NDArray[np.int64]:
        """`places` of all that wait, as it stands now; the same array as long as nothing that it depends on changes."""
        fades = now if any(rules.half_life is not None for rules in self.queues.values()) else 0
        state = (self.waiting.version, self.quotas.version, fades)
        if self._order is None or self._order[0] != state:
            found = places(self.waiting, self.quotas, lambda queue: self.usage.past(queue, now) if queue else {})
            self._order = state, found
        return self._order[1]

    def takes(self, request: Request, pods: Sequence[Pod]) -> Mapping[str, int]:
        """What these places count against quotas. Of a gang that runs it is counted once."""
        running = self.running.get(request.id)
        if running is None or running.pods is not pods:
            return taken(request, pods, self._models)
        return self._counted(running)[1]

    def takes_all(self, gang: Running) -> tuple[tuple[str, int], ...]:
        """What all places of a gang that runs count against quotas, in order: the same for gangs that take the same."""
        return self._counted(gang)[2]

    def _counted(self, gang: Running) -> tuple[Sequence[Pod], dict[str, int], tuple[tuple[str, int], ...]]:
        known = self._takes.get(gang.request.id)
        if known is None or known[0] is not gang.pods:
            found = taken(gang.request, gang.pods, self._models)
            known = self._takes[gang.request.id] = gang.pods, found, tuple(sorted(found.items()))
        return known

    def awaited(self, freeing: Freeing) -> bool:
        """Whether any of the victims is still there."""
        return any(name in self.running and self.running[name].leaving for name in freeing.victims)

    def _start(self, identity: str, pods: tuple[Pod, ...], now: int) -> None:
        request = self.waiting.request(self.waiting.index[identity])
        demand = self.takes(request, pods)
        self.waiting.remove(identity)
        self.freeing.pop(identity, None)
        self.nodes.take_all(request, pods)
        self.quotas.add(request.queue, demand)
        self.usage.started(request.queue, identity, demand, now)
        self._runs(Running(request, pods, now))

    def _runs(self, gang: Running) -> None:
        self.running[gang.request.id] = gang
        if any(role.least is not None or role.most is not None for role in gang.request.roles):
            self.elastic.add(gang.request.id)

    def _resize(self, gang: Running, pods: tuple[Pod, ...], now: int) -> None:
        request, identity = gang.request, gang.request.id
        before, after = self.takes(request, gang.pods), self.takes(request, pods)
        self._give(request, gang.pods)
        self.nodes.take_all(request, pods)
        self.quotas.remove(request.queue, before)
        self.quotas.add(request.queue, after)
        self.usage.ended(identity, now)
        self.usage.started(request.queue, identity, after, now)
        self.resized[identity] = now
        self.running[identity] = replace(gang, pods=pods, leaving=False)

    def _give(self, request: Request, pods: Sequence[Pod]) -> None:
        self.nodes.give_all(request, [pod for pod in pods if pod.node in self.nodes.index])

    def _lay_out(self) -> None:
        """The arrays of the nodes, with all that runs on them."""
        self.nodes = Nodes(tuple(self.described.values()), self.levels)
        scoring = self.settings.scoring or standard(self.nodes, self.settings.lam)
        self.placer = Placer(self.nodes, scoring)
        self._takes: dict[str, tuple[Sequence[Pod], dict[str, int], tuple[tuple[str, int], ...]]] = {}
        self._models: Mapping[str, str] = {name: node.model for name, node in self.described.items()}
        for gang in self.running.values():
            self.nodes.take_all(gang.request, gang.pods)

    def sizes(self, identity: str) -> tuple[int, ...]:
        """How many pods of each role a running gang has."""
        return held(self.running[identity])
