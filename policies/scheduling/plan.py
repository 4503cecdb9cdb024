"""One round: who starts, who leaves for whom, who grows, and when everybody else starts.

The order offers gangs whose limits let them run, one after the other. A gang starts where there is room and where it
delays no promise, nor anybody before it who has none yet. For the first of those that cannot, victims are looked for,
whose places it gets when they have gone. Whoever still waits is planned into the future, in the same order and within
the same limits, and told why it waits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.ahead import Ahead
from policies.scheduling.displacing import Displacing
from policies.scheduling.growing import grown
from policies.scheduling.model import (
    Cause,
    Decision,
    Eviction,
    Pod,
    Promise,
    Refusal,
    Request,
    Running,
    Start,
    Stop,
)
from policies.scheduling.offering import Offering
from policies.scheduling.order import Round, Skipped
from policies.scheduling.order_in_time import in_time
from policies.scheduling.profile import Profile
from policies.scheduling.promises import promised
from policies.scheduling.reasons import Reasons
from policies.scheduling.seats import seat
from policies.scheduling.world import World

SECONDS_TO_GO = 60  # that a gang is expected to need until its pods are gone
MAY_DISPLACE = (Cause.CAPACITY, Cause.TOPOLOGY, Cause.PROMISED, Cause.LIMIT)
WAITS_FOR_ROOM = (Cause.CAPACITY, Cause.TOPOLOGY, Cause.PROMISED, Cause.EVICTING)
PLANNED = (*WAITS_FOR_ROOM, Cause.LIMIT, Cause.ORDER, Cause.RESERVATION)  # their turn comes with time


def plan(world: World, now: int) -> Decision:
    """What should happen now. The world is afterwards as it was, and the same world gives the same decision."""
    before = world.nodes.copy_free()
    try:
        return _Plan(world, now).decision()
    finally:
        world.nodes.restore(before)


class _Plan:
    """The scratch of one round."""

    def __init__(self, world: World, now: int) -> None:
        self.world, self.now, self.nodes = world, now, world.nodes
        settings = world.settings
        running = tuple(world.running.values())
        self.profile = Profile(
            world.nodes, now, running, world.windows,
            step=settings.step, horizon=settings.horizon, quotas=world.quotas,
        )  # fmt: skip
        self.order = Round(world.waiting, world.quotas.copy(), self._past)
        self.offering = Offering(world, self.profile, self.order.quotas, now)
        self.displacing = Displacing(world, self.profile, self.order.quotas, now)
        self.starts: list[Start] = []
        self.begun: set[int] = set()  # numbers of those that start
        self.evictions: list[Eviction] = [*_drained(world)]
        self.reasons = Reasons(world.waiting)
        self.fixed, self.seated = self.offering.fixed, self.offering.seated
        self._timed: NDArray[np.int64] | None = None

    def decision(self) -> Decision:
        self._hold_what_is_freed()
        due = self._hold_promises()
        self.ahead = Ahead(self.world, self.profile, self._rank, self._in_time, self.begun)
        self._offer_what_is_seated()
        for number in due:
            self._offer(number)
        for number in self.order:
            self._offer(number)
        left = self._left()
        self._explain(left)
        self._displace(left)
        promises = self._promises(left)
        left = self._start_what_is_due(left, promises)
        return Decision(
            starts=tuple(self.starts),
            evictions=tuple(self.evictions),
            growths=grown(self.world, self.order.quotas, left, self.reasons, self.now),
            promises=tuple(promises.values()),
            refusals=self.reasons.refused(left),
        )

    def _past(self, queue: str) -> dict[str, float]:
        return self.world.usage.past(queue, self.now) if queue else {}

    def _hold_what_is_freed(self) -> None:
        """Nobody else gets the places that gangs were told to leave for a certain one."""
        for identity, freeing in self.world.freeing.items():
            if self.world.awaited(freeing):
                self.nodes.take_all(freeing.request, freeing.pods)
                self._fix(freeing.request, freeing.pods, max(self.now, freeing.start))
            elif seat(self.nodes, freeing.request, freeing.pods):
                self.seated.add(identity)
                self._fix(freeing.request, freeing.pods, self.now)

    def _offer_what_is_seated(self) -> None:
        """Those whose places are free now come before all others: one of their shape before them in the order would
        find no room, which is then said of all of that shape."""
        for identity in [name for name in self.fixed if name in self.seated]:
            number = self.world.waiting.index[identity]
            request = self.world.waiting.request(number)
            taken = self.world.takes(request, self.fixed[identity].pods)
            if self._rank[number] and self.order.quotas.fits(request.queue, taken) is None:
                self._offer(number)

    def _fix(self, request: Request, pods: tuple[Pod, ...], start: int) -> None:
        seconds = request.seconds
        end = None if seconds is None else start + seconds
        self.fixed[request.id] = Promise(request.id, start, end, pods, firm=False)
        if request.id in self.profile.pins:
            self.profile.unpin([request.id])
        self.profile.pin(request, self.fixed[request.id], seconds)

    def _hold_promises(self) -> list[int]:
        """What was promised before is held before anybody is offered anything; it may move to the front meanwhile.

        Returns those of strict queues that are due: they were promised their starts, whoever came before them since.
        """
        waiting, promises, rank = self.world.waiting, self.world.promises, self._rank
        numbers = [waiting.index[name] for name in promises if name in waiting.index and name not in self.fixed]
        ordered = sorted((number for number in numbers if rank[number]), key=lambda number: int(rank[number]))
        requests = [waiting.request(number) for number in ordered]
        if not requests:
            return []
        fixed = [self.world.freeing[identity].request for identity in self.fixed]
        held = [promises[request.id] for request in requests]
        promised(self.profile, [*fixed, *requests], held, strict=False)
        return [
            number
            for number, request, promise in zip(ordered, requests, held, strict=True)
            if promise.start <= self.now and request.id in self.profile.pins
            and self.world.quotas.rules(request.queue).strict
        ]  # fmt: skip

    @property
    def _rank(self) -> NDArray[np.int64]:
        """Of all numbers their place in the order, before anybody starts; 0: their queue is stopped."""
        return self.world.order(self.now)

    def _in_time(self) -> NDArray[np.int64]:
        """The same as others end, in which those get their promises who have none."""
        if self._timed is None:
            self._timed = in_time(self.world, self.now)
        return self._timed

    def _offer(self, number: int) -> None:
        request = self.world.waiting.request(number)
        found = self.offering.try_now(request)
        if not isinstance(found, Refusal) and request.id not in self.profile.pins and self.ahead.plan(number):
            self.world.placer.undo(request, found)
            found = self.offering.try_now(request)
        if not isinstance(found, Refusal):
            self._start(number, request, found)
            return
        self.reasons.say(number, found)
        anywhere = self.offering.allowed(request) is None
        whole = anywhere and found.cause in (Cause.CAPACITY, Cause.TOPOLOGY, Cause.NEVER)
        self.order.failed(number, whole_shape=whole)
        if found.cause is Cause.PROMISED and request.id not in self.profile.pins and request.rigid:
            self.order.pass_over(number, but=self.profile.pins)

    def _start(self, number: int, request: Request, pods: tuple[Pod, ...]) -> None:
        self.starts.append(Start(request.id, pods))
        self.begun.add(number)
        self.order.started(number, self.world.takes(request, pods))
        self.profile.run([Running(request, pods, self.now)])

    def _left(self) -> NDArray[np.int64]:
        """Numbers of all that go on waiting, in the order as it stands now."""
        left, rank = self.order.left(), self._rank
        stopped = rank[left] == 0
        return left[np.lexsort((rank[left], stopped))]

    def _explain(self, left: NDArray[np.int64]) -> None:
        """Why each of them waits."""
        for identity in self.fixed.keys() - self.seated:
            number = self.world.waiting.index[identity]
            if number not in self.reasons:
                self.reasons.say(number, self.offering.awaits(identity))
        for numbers, skipped in self.order.whys(left[~self.reasons.known(left)]):
            self.reasons.say(numbers, self._reason(int(numbers[0]), skipped))

    def _reason(self, number: int, skipped: Skipped | None) -> Refusal:
        request_of = self.world.waiting.request
        request = request_of(number)
        if skipped is None:
            return Refusal(request.id, Cause.PROMISED)
        if skipped.shortage is not None:
            return skipped.shortage.refusal(request.id)
        if skipped.cause is Cause.CAPACITY:
            return self.reasons[skipped.behind]
        behind = request_of(skipped.behind).id if skipped.behind >= 0 else ""
        return Refusal(request.id, skipped.cause, at=request.queue, behind=behind)

    def _displace(self, left: NDArray[np.int64]) -> None:
        """Free places for the first in order, as far as searches for victims go."""
        if not self.world.running:
            return
        for number in left[self.reasons.among(left, MAY_DISPLACE)].tolist():
            if not self.displacing.left:
                break
            request = self.world.waiting.request(number)
            proof = self.displacing.find(request, self.offering.allowed(request))
            if proof is not None:
                self.evictions += proof.evictions
                self.nodes.take_all(request, proof.pods)
                self._fix(request, proof.pods, self.now + SECONDS_TO_GO)
                behind = proof.evictions[0].victim
                self.reasons.say(number, replace(self.reasons[number], cause=Cause.EVICTING, behind=behind))

    def _promises(self, left: NDArray[np.int64]) -> dict[str, Promise]:
        """When they start. Nobody is promised anything in a queue that is stopped, or by a window that is to come."""
        waiting = self.world.waiting
        fixed = np.isin(left, self._numbers(self.fixed))
        planned = left[~fixed & self.reasons.among(left, PLANNED)]
        if any(name not in self.profile.pins for name in waiting.ids[planned[: self.world.settings.depth]]):
            planned = planned[np.argsort(self._in_time()[planned], kind="stable")]
        wanted = [*left[fixed].tolist(), *planned[: self.world.settings.depth].tolist()]
        found = dict(self.fixed)
        kept = [each for each in self.world.promises.values() if each.request not in self.fixed]
        self.ahead.give_back()
        outlooks = promised(self.profile, [waiting.request(number) for number in wanted], kept)
        for number, outlook in zip(wanted, outlooks, strict=True):
            identity = outlook.request.id
            if outlook.promise is not None and identity not in found:
                found[identity] = outlook.promise
            if outlook.too_large and self.reasons[number].cause in WAITS_FOR_ROOM:
                self.reasons.say(number, replace(self.reasons[number], cause=Cause.NEVER))
        return {name: promise for name, promise in found.items() if waiting.index[name] in self.reasons}

    def _start_what_is_due(self, left: NDArray[np.int64], promises: dict[str, Promise]) -> NDArray[np.int64]:
        """What others that start leave free may let somebody start who was refused before them. Who is still left.

        Whoever was told to go in this round is there still, though it is planned as if it had gone.
        """
        waiting, rules = self.world.waiting, self.world.quotas.rules
        due = {name for name, each in promises.items() if each.start <= self.now and name not in self.fixed}
        strict = np.array([rules(queue).strict for queue in waiting.queues], np.bool_)
        looked_at = strict[waiting.queue[left]] | np.isin(left, self._numbers(due))
        blocked: set[str] = set()
        for number in left[looked_at].tolist() if not self.displacing.gone else ():
            request = waiting.request(number)
            if request.id in due and request.queue not in blocked:
                self._offer(number)
            if number not in self.begun and rules(request.queue).strict:
                blocked.add(request.queue)
        for number in self.begun:
            promises.pop(waiting.request(number).id, None)
        return left[~np.isin(left, list(self.begun))]

    def _numbers(self, gangs: Iterable[str]) -> list[int]:
        return [self.world.waiting.index[identity] for identity in gangs]


def _drained(world: World) -> list[Eviction]:
    """Gangs of queues that are stopped and emptied."""
    quotas = world.quotas
    return [
        Eviction(gang.request.id, "", f"queue {name} is being emptied", 0)
        for gang in world.running.values()
        if not gang.leaving
        for name in [_emptied(world, quotas.tree.path[quotas.tree.index[gang.request.queue]])]
        if name
    ]


def _emptied(world: World, path: Sequence[int]) -> str:
    names = [world.quotas.tree.names[row] for row in path]
    return next((name for name in names if name and world.queues[name].stop is Stop.DRAIN), "")
