"""Which nodes the windows of reservations get, and how the planner sees them.

A window gets whole nodes, all that it asks for or none, and keeps them as long as they are there.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from definitions.reservation import AtEnd, LeadMode
from policies.scheduling.asks import Claim
from policies.scheduling.bookings import Booking, Phase, began_before_its_end, phase_of
from policies.scheduling.documents import Pool, Reserved
from policies.scheduling.model import Node, Request, Running


@dataclass(frozen=True, slots=True)
class Want:
    """One booked window of a reservation. `pool` None: any nodes. `life`: tells it from other windows of that name."""

    reserved: Reserved
    booking: Booking
    pool: Pool | None = None
    life: tuple[Hashable, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """A window with its nodes."""

    want: Want
    nodes: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.want.reserved.name


@dataclass(frozen=True, slots=True)
class Short:
    """A window that does not get all: how much it needs and how much there is for it, in nodes or in GPUs."""

    want: Want
    needed: int
    free: int


@dataclass(frozen=True, slots=True)
class Leave:
    """A gang that is told to go for the sake of a window, its start or its end. `for_good`: it is not to wait again."""

    request: str
    why: str
    by: int
    for_good: bool = False


@dataclass(slots=True)
class _Choice:
    """What is known while nodes are chosen. `until`: node -> when what runs there is expected to be gone."""

    nodes: Sequence[Node]
    until: Mapping[str, int]
    held: list[Held] = field(default_factory=list)
    spans: list[tuple[int, int, tuple[str, ...]]] = field(default_factory=list)  # of those: from, until, nodes
    of: dict[str, set[str]] = field(default_factory=dict)  # nodes of all windows of a name

    def give(self, held: Held) -> None:
        self.held.append(held)
        self.spans.append((held.want.booking.begins, held.want.booking.ends, held.nodes))
        self.of.setdefault(held.name, set()).update(held.nodes)


def hold(
    wants: Sequence[Want], nodes: Sequence[Node], kept: Sequence[Held] = (), until: Mapping[str, int] | None = None
) -> tuple[tuple[Held, ...], tuple[Short, ...]]:
    """Give each window its nodes: first to those that have some, then by start and name.

    Preferred are nodes that it has, or that another window of the reservation has; then those that are free soonest;
    then as they are listed. Nodes that do not take pods go only to reservations that name them. One that had all and
    can have that no longer keeps those of its nodes that are there.
    """
    choice = _Choice(nodes, until or {})
    before = {_key(each.want): each for each in kept}
    short = []
    for want in sorted(wants, key=lambda each: (_key(each) not in before, each.booking.begins, each.reserved.name)):
        had = before[_key(want)].nodes if _key(want) in before else ()
        found = _nodes_for(want, had, choice)
        if isinstance(found, Short):
            short.append(found)
            found = _left_of(want, had, choice)
        if found:
            choice.give(Held(want, found))
    return tuple(choice.held), tuple(short)


def claims(held: Sequence[Held], now: int, horizon: int | None = None) -> tuple[Claim, ...]:
    """The windows as the planner sees them now. `horizon`: nothing is planned to start later than so many seconds on,
    and of what begins later still only the next one of each node matters.

    A window whose reservation has a lead time is not seen before that begins, so that anything starts there until
    then. What was promised beyond may have to move when it is seen; without a lead time nothing has to.
    """
    found = tuple(claim for each in held for claim in _claims_of(each, now))
    return found if horizon is None else tuple(_that_matter(found, now + horizon))


def told_to_go(
    held: Sequence[Held], running: Sequence[Running], may: Callable[[Held, Request], bool], now: int
) -> tuple[Leave, ...]:
    """Gangs whose nodes a window has begun on and that may not use it, and those of a window that is over."""
    begun = {node: each for each in held if phase_of(each.want.booking, now) is Phase.ACTIVE for node in each.nodes}
    over = [each for each in held if phase_of(each.want.booking, now) is Phase.DRAINING]
    if not begun and not over:
        return ()
    found = (_stranger(begun, gang, may, now) or _stays_on(over, gang, now) for gang in running if not gang.leaving)
    return tuple(leave for leave in found if leave is not None)


def names_it(held: Held, request: Request) -> bool:
    """Who may use a window. Whether a job may name its reservation was asked when it was accepted (`bookings.may_use`);
    that the rules are others now throws nobody out."""
    return request.reservation == held.name


def _key(want: Want) -> tuple[Hashable, ...]:
    return want.reserved.name, *(want.life or (want.booking.window.number,))


def _left_of(want: Want, had: Sequence[str], choice: _Choice) -> tuple[str, ...]:
    there = {node.name for node in choice.nodes} - _taken(want, choice)
    return tuple(name for name in had if name in there)


def _taken(want: Want, choice: _Choice) -> set[str]:
    begins, ends = want.booking.begins, want.booking.ends
    return {name for since, until, nodes in choice.spans if since < ends and begins < until for name in nodes}


def _nodes_for(want: Want, had: Sequence[str], choice: _Choice) -> tuple[str, ...] | Short:
    capacity = want.reserved.spec.capacity
    taken = _taken(want, choice)
    if capacity.node_names:
        there = {node.name for node in choice.nodes} - taken
        found = tuple(name for name in capacity.node_names if name in there)
        return found if len(found) == len(capacity.node_names) else Short(want, len(capacity.node_names), len(found))
    fitting = [node for node in _fitting(want, choice.nodes) if node.name not in taken]
    ours = choice.of.get(want.reserved.name, set())
    begins = want.booking.begins
    fitting.sort(
        key=lambda node: (node.name not in had, node.name not in ours, max(0, choice.until.get(node.name, 0) - begins))
    )
    sizes = [node.gpus if capacity.gpus is not None else 1 for node in fitting]
    needed = capacity.gpus if capacity.gpus is not None else capacity.nodes or 0
    if sum(sizes) < needed:
        return Short(want, needed, sum(sizes))
    return tuple(_first(fitting, sizes, needed))


def _fitting(want: Want, nodes: Sequence[Node]) -> Sequence[Node]:
    members = nodes if want.pool is None else want.pool.members(nodes)
    wants_gpus = want.reserved.spec.capacity.gpus is not None
    model = want.reserved.model
    return [
        node for node in members if node.open and (not model or node.model == model) and (node.gpus or not wants_gpus)
    ]


def _first(nodes: Sequence[Node], sizes: Sequence[int], needed: int) -> Iterator[str]:
    for node, size in zip(nodes, sizes, strict=True):
        if needed <= 0:
            return
        yield node.name
        needed -= size


def _claims_of(held: Held, now: int) -> Iterator[Claim]:
    booking = held.want.booking
    phase = phase_of(booking, now)
    if phase in (Phase.DRAINING, Phase.ENDED) or (phase is Phase.UPCOMING and booking.lead is not None):
        return
    if phase is Phase.LEAD and booking.lead_mode is LeadMode.DRAIN:
        yield Claim(held.nodes, booking.watched, booking.begins)
    yield Claim(held.nodes, booking.begins, booking.ends, held.name)


def _that_matter(found: Iterable[Claim], until: int) -> Iterator[Claim]:
    """A gang that runs into a later window of a node would run into the one before that, too."""
    seen: set[str] = set()
    for claim in sorted(found, key=lambda claim: claim.start):
        if claim.start <= until or not seen.issuperset(claim.nodes):
            yield claim
        if claim.start > until:
            seen.update(claim.nodes)


def _stranger(begun: Mapping[str, Held], gang: Running, may: Callable[[Held, Request], bool], now: int) -> Leave | None:
    for pod in gang.pods:
        held = begun.get(pod.node)
        if held is not None and not may(held, gang.request):
            by = now + held.want.booking.grace
            return Leave(gang.request.id, f"the reservation {held.name} has begun on its nodes", by)
    return None


def _stays_on(over: Sequence[Held], gang: Running, now: int) -> Leave | None:
    """Wherever a job of the reservation is: a node that was lost may have been replaced meanwhile."""
    for held in over:
        booking = held.want.booking
        if gang.request.reservation == held.name and began_before_its_end(booking, gang.since):
            for_good = booking.at_end is AtEnd.CANCEL
            return Leave(
                gang.request.id, f"the reservation {held.name} is over", booking.ends + booking.grace, for_good
            )
    return None
