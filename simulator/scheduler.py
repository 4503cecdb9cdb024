"""The scheduler itself as a planner of the simulation: the same `plan()` over the same `World` as anywhere else."""

from collections.abc import Sequence

from policies.scheduling.model import Decision, Node, QueueRules, Request, Stop
from policies.scheduling.plan import plan
from policies.scheduling.world import Settings, World
from simulator.windows import ReservedWindows


class Scheduler:
    """`checkpoint_every`: gangs that run make a verified checkpoint so often, which the scheduler is told.

    `windows`: of reservations; a gang that one of them ends for good is not let in again.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        levels: Sequence[str],
        queues: Sequence[QueueRules],
        *,
        settings: Settings | None = None,
        checkpoint_every: int = 1800,
        windows: ReservedWindows | None = None,
    ) -> None:
        self.world = World(nodes, levels, queues, settings)
        self._windows = windows
        self._over: set[str] = set()
        self._emptied = any(rules.stop is Stop.DRAIN for rules in queues)
        self._checkpoint_every = checkpoint_every

    def submit(self, request: Request) -> None:
        if request.id not in self._over:
            self.world.submit(request)

    def ended(self, identity: str, now: int) -> None:
        self.world.ended(identity, now)

    def left(self, identity: str, now: int) -> None:
        self.world.left(identity, now)

    def node(self, node: Node) -> None:
        self.world.node(node)

    def lost(self, name: str) -> None:
        self.world.lost(name)

    def plan(self, now: int) -> Decision:
        for identity, gang in list(self.world.running.items()):
            made = now - (now - gang.since) % self._checkpoint_every
            if made > gang.since and made != gang.saved and not gang.leaving:
                self.world.saved(identity, made)
        if self._windows is None:
            return Decision() if self._idle() else plan(self.world, now)
        self._windows.before(self.world, now)
        return self._windows.after(plan(self.world, now), self.world, now)

    def apply(self, decision: Decision, now: int) -> None:
        self.world.apply(decision, now)
        if self._windows is not None:
            self._over |= self._windows.for_good()

    def wakes(self) -> int | None:
        return None if self._windows is None else self._windows.wakes()

    def _idle(self) -> bool:
        """Whether a round could decide nothing: nobody waits, or runs that could grow or whose queue is emptied."""
        world = self.world
        return not (len(world.waiting) or world.elastic or self._emptied)
