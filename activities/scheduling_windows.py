"""Windows of reservations beside a pool's `World`: which nodes they keep, whom they tell to go, and who uses them.

The nodes are chosen anew when windows or nodes have changed, with those that a window has going before all others, so
that a scheduler that starts again finds the same.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from activities.scheduling_facts import News, Whole
from activities.scheduling_world import PoolWorld
from definitions.documents import from_data
from definitions.resource_flavor import ResourceFlavor
from policies.scheduling.asking import NOWHERE
from policies.scheduling.bookings import Phase, next_change, phase_of
from policies.scheduling.claims import Held, Leave, Want, claims, hold, names_it, told_to_go
from policies.scheduling.documents import Pool, Reserved
from policies.scheduling.eligible import lost_work
from policies.scheduling.model import Cause, Decision, Eviction, Refusal, Running, Start
from policies.scheduling.reasons import Refused
from policies.scheduling.terms import booking_of, spec_of
from store.base import Document
from store.pool_reads import BookedWindow, Windows
from store.verdicts import InWindow, Kept, Window

FAR = 2**60  # when what declares no end is expected to be gone
OVER = (Phase.DRAINING, Phase.ENDED)  # windows that keep what they have, and are given nothing


class PoolWindows:
    """The windows of one pool, between decisions. Times are whole seconds since 1970."""

    def __init__(self, pool: PoolWorld, whole: Whole, now: int) -> None:
        self._pool = pool
        read = [from_data(document, served_only=False) for document in whole.documents]
        self._models = {each.metadata.name: each.spec.gpu_type for each in read if isinstance(each, ResourceFlavor)}
        self._rows: dict[Window, BookedWindow] = {}
        self._wants: dict[Window, Want] = {}
        self._held: tuple[Held, ...] = ()
        self._shorts: dict[Window, Document] = {}
        self._coming: frozenset[str] = frozenset()
        self.leaves: dict[str, Leave] = {}  # of the present decision, by job
        self._take(whole.windows, now)

    def follow(self, news: News, now: int) -> None:
        """Be in line with what has changed."""
        if news.windows is not None:
            self._take(news.windows, now)
        elif news.nodes is not None:
            self._choose(now)

    def before(self, now: int) -> None:
        """Show the world the windows as they are now, and those that have to go as going."""
        world = self._pool.world
        world.windows = claims(self._held, now, world.settings.horizon)
        gangs = [gang for gang in world.running.values() if gang.request.id in self._pool.rows] if self._held else []
        told = told_to_go(self._held, gangs, names_it, now)
        self.leaves = {leave.request: leave for leave in told}
        for job in self.leaves:
            world.running[job] = replace(world.running[job], leaving=True)

    def after(self, decision: Decision, now: int) -> Decision:
        """The decision with those that have to go, and with the truth about reservations of which nothing is left."""
        running = self._pool.world.running
        going = [
            Eviction(job, "", leave.why, lost_work(running[job], now) // 1000) for job, leave in self.leaves.items()
        ]
        return replace(decision, evictions=(*going, *decision.evictions), refusals=self._true(decision.refusals))

    def kept(self) -> tuple[Kept, ...]:
        """Windows whose nodes are not those that are written."""
        nodes = {self._of(held.want): held.nodes for held in self._held}
        changed = []
        for window, row in self._rows.items():
            now, short = nodes.get(window), self._shorts.get(window)
            if (now, short) != (None if row.nodes is None else tuple(row.nodes), row.short):
                changed.append(Kept(window, row.version, now, short))
        return tuple(changed)

    def uses(self, start: Start, now: int) -> tuple[InWindow, ...]:
        """What the places of a start take of windows that have begun."""
        gang = self._pool.world.running[start.request]
        active = [held for held in self._held if phase_of(held.want.booking, now) is Phase.ACTIVE]
        return tuple(use for held in active if (use := _use(held, gang, self._of(held.want))) is not None)

    def settle(self, written: Iterable[Window]) -> None:
        """Be in line with what was written."""
        said = {one.window: one for one in self.kept()}
        for window in written:
            one, row = said[window], self._rows[window]
            nodes = None if one.nodes is None else list(one.nodes)
            self._rows[window] = row._replace(nodes=nodes, short=one.short, version=row.version + 1)

    def next_change(self, now: int) -> int | None:
        """When time alone brings another phase of a window."""
        times = [next_change(want.booking, now) for want in self._wants.values()]
        return min((at for at in times if at is not None), default=None)

    def inputs(self) -> Sequence[object]:
        """What a decision is made from, shortly."""
        return [(*window, row.version) for window, row in self._rows.items()]

    def _true(self, refusals: Collection[Refusal]) -> Refused:
        """Whatever else a job waits for, without a window to come it waits in vain."""
        found = Refused.made_of(refusals)
        over = self._pool.world.waiting.reserved() - self._coming
        named = ((each, self._pool.rows[each.request].reservation) for each in found) if over else ()
        return found.instead(Refusal(each.request, Cause.OVER, at=name) for each, name in named if name in over)

    def _take(self, windows: Windows, now: int) -> None:
        self._coming = windows.coming
        self._rows = {(row.reservation, row.made_at, row.number): row for row in windows.booked}
        self._wants = {window: self._want(row) for window, row in self._rows.items()}
        self._choose(now)

    def _choose(self, now: int) -> None:
        """Give windows their nodes. What is over keeps those that it had, where its jobs still are."""
        had = [Held(self._wants[key], tuple(row.nodes)) for key, row in self._rows.items() if row.nodes is not None]
        over = [held for held in had if phase_of(held.want.booking, now) in OVER]
        wants = [want for want in self._wants.values() if phase_of(want.booking, now) not in OVER]
        nodes = tuple(self._pool.world.described.values())
        kept = [held for held in had if phase_of(held.want.booking, now) not in OVER]
        held, short = hold(wants, nodes, kept, self._until() if wants else {})
        self._held = (*over, *held)
        self._shorts = {self._of(one.want): {"needed": one.needed, "free": one.free} for one in short}

    def _want(self, row: BookedWindow) -> Want:
        spec = spec_of(row.terms)
        model = "" if spec.capacity.flavor is None else self._models.get(spec.capacity.flavor, NOWHERE)
        pool = None
        if spec.pool is not None:
            pool = self._pool.scheduling.pools.get(spec.pool, Pool(spec.pool, selector={NOWHERE: NOWHERE}))
        booking = booking_of(row.terms, row.cancelled_at, row.vacated_at)
        return Want(Reserved(row.reservation, spec, model), booking, pool, (row.made_at, row.number))

    def _of(self, want: Want) -> Window:
        made_at, number = want.life
        assert isinstance(made_at, datetime)
        assert isinstance(number, int)
        return want.reserved.name, made_at, number

    def _until(self) -> dict[str, int]:
        """When what runs on a node is expected to be gone."""
        found: dict[str, int] = {}
        for gang in self._pool.world.running.values():
            end = FAR if gang.request.limit is None else gang.since + gang.request.limit
            for pod in gang.pods:
                found[pod.node] = max(end, found.get(pod.node, 0))
        return found


def _use(held: Held, gang: Running, window: Window) -> InWindow | None:
    if not names_it(held, gang.request):
        return None
    inside = [pod for pod in gang.pods if pod.node in set(held.nodes)]
    if not inside:
        return None
    shapes = [gang.request.roles[pod.role].shape for pod in inside]
    gpus = sum(shape.gpus * shape.share for shape in shapes)
    return InWindow(held.name, window[1], len({pod.node for pod in inside}), gpus)
