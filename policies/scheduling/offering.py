"""Whether a gang can start now, and where: with room, within quotas, and without delaying what others were promised."""

import numpy as np

from policies.scheduling.demands import demand
from policies.scheduling.masks import Mask
from policies.scheduling.model import Cause, Pod, Promise, Refusal, Request
from policies.scheduling.partial import largest_sizes
from policies.scheduling.profile import Profile
from policies.scheduling.quotas import Quotas
from policies.scheduling.seats import seat
from policies.scheduling.sizes import fewest
from policies.scheduling.world import World


class Offering:
    """Tries gangs one after the other. What one gets is taken in the world's nodes, and in nothing else.

    `fixed`: places of gangs for which others were told to go; `seated`: those of them whose places are free and taken.
    """

    def __init__(self, world: World, profile: Profile, quotas: Quotas, now: int) -> None:
        self.world, self.profile, self.quotas, self.now = world, profile, quotas, now
        self.nodes = world.nodes
        self.fixed: dict[str, Promise] = {}
        self.seated: set[str] = set()

    def try_now(self, request: Request) -> tuple[Pod, ...] | Refusal:
        """Its places, taken, or why it has none now."""
        identity = request.id
        if identity in self.seated:
            return self.fixed[identity].pods
        if identity in self.fixed:
            return self.awaits(identity)
        if request.reservation is not None and not self._window(request.reservation).any():
            return Refusal(identity, Cause.RESERVATION, at=request.reservation)
        pinned = self.profile.pins.get(identity)
        if pinned is not None and pinned.start > self.now and pinned.line < 0:
            return self._not_yet(request)
        if request.rigid:
            return self._place(request, None)
        refusal: Refusal | None = None

        def fits(sizes: tuple[int, ...]) -> bool:
            nonlocal refusal
            found = self._place(request, sizes)
            if isinstance(found, Refusal):
                refusal = found
                return False
            self.world.placer.undo(request, found)
            return True

        sizes = largest_sizes(request, fits)
        if sizes is None:
            assert refusal is not None, "a size that does not fit was refused"
            return refusal
        return self._place(request, sizes)

    def awaits(self, identity: str) -> Refusal:
        """It waits for those that were told to go for it."""
        return Refusal(identity, Cause.EVICTING, behind=min(self.world.freeing[identity].victims))

    def _not_yet(self, request: Request) -> Refusal:
        """Of a gang that was looked for an earlier start just now: why it has none."""
        found = self.world.placer.place(request, allowed=self.allowed(request), sizes=fewest(request))
        if isinstance(found, Refusal):
            return found
        self.world.placer.undo(request, found)
        return Refusal(request.id, Cause.PROMISED)

    def _place(self, request: Request, sizes: tuple[int, ...] | None) -> tuple[Pod, ...] | Refusal:
        """Where the score says, if that delays no promise; else where it delays none; else where it was planned."""
        placer, seconds, allowed = self.world.placer, request.seconds, self.allowed(request)
        if sizes is not None:
            shortage = self.quotas.fits(request.queue, demand(request, sizes))
            if shortage is not None:
                return shortage.refusal(request.id)
        found = placer.place(request, allowed=allowed, sizes=sizes)
        if isinstance(found, Refusal):
            return found
        if self.profile.may_start(request, found, seconds):
            return found
        placer.undo(request, found)
        free = self.profile.free_now(request, seconds)
        free = free if allowed is None else free & allowed
        again = placer.place(request, allowed=free, sizes=sizes) if free.any() else None
        if again is not None and not isinstance(again, Refusal):
            if self.profile.may_start(request, again, seconds):
                return again
            placer.undo(request, again)
        pods = self._planned_now(request, sizes, allowed)
        return pods if pods and seat(self.nodes, request, pods) else Refusal(request.id, Cause.PROMISED)

    def _planned_now(self, request: Request, sizes: tuple[int, ...] | None, allowed: Mask | None) -> tuple[Pod, ...]:
        """Its places as a plan has them, device by device, if that starts now: the score knows no promised device."""
        pinned = self.profile.pins.get(request.id)
        if pinned is not None:
            due = pinned.start <= self.now and sizes in (None, fewest(request))
            return self.profile.promise(pinned).pods if due else ()
        if self.profile.limits.of(request.queue)[1] >= 0:
            return ()  # a strict queue's gangs are planned after one another
        found = self.profile.earliest(request, request.seconds, sizes, not_after=self.now)
        if found is None:
            return ()
        there = allowed is None or all(allowed[self.nodes.index[pod.node]] for pod in found.pods)
        return found.pods if there else ()

    def allowed(self, request: Request) -> Mask | None:
        """Rows where its reservation and the quotas of models of GPU let it be; None: everywhere."""
        found: Mask | None = None
        if request.reservation is not None:
            found = self._window(request.reservation)
        models = self.world.limited_models
        for role in request.roles if models else ():
            parts = role.shape.gpus * role.shape.share * role.count
            if not parts or len(role.shape.gpu_models) == 1:
                continue
            short = [m for m in models if self.quotas.fits(request.queue, {f"gpu/{m}": parts}) is not None]
            there = ~np.isin(self.nodes.model, [n for n, model in enumerate(self.nodes.models) if model in short])
            found = there if found is None else found & there
        return found

    def _window(self, reservation: str) -> Mask:
        """Rows that belong to the reservation now."""
        active = [each for each in self.world.windows if each.start <= self.now < each.end]
        return self.nodes.among(name for each in active if each.reservation == reservation for name in each.nodes)
