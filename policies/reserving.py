"""What a reservation comes to: its next windows with amounts, its days in a calendar, and what was used of it.

Arithmetic over documents, windows and bookings. Instants are seconds since 1970, hours are real ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from definitions.reservation import ReservationSpec, ReservedCapacity
from policies.scheduling.bookings import Booking, Use, unused
from policies.scheduling.documents import Pool, Reserved
from policies.scheduling.model import Node
from policies.scheduling.walltime import moment
from policies.scheduling.windows import LeftOut, Window, Zones, occurrences, redrawn

HOUR = 3600
WEEK = 7 * 24 * HOUR
PLACES = 3  # of hours behind the point
NAMED = 3  # nodes that are named in a few words
OFFSET = 6  # letters of `+01:00`


@dataclass(frozen=True, slots=True)
class Amount:
    """What one window keeps; None: known when its nodes are chosen."""

    nodes: int | None = None
    gpus: int | None = None

    def node_hours(self, seconds: int) -> float | None:
        return _times(self.nodes, seconds)

    def gpu_hours(self, seconds: int) -> float | None:
        return _times(self.gpus, seconds)


@dataclass(frozen=True, slots=True)
class Planned:
    """A window as it would be booked. `clocks_change`: in it, or since the window before."""

    window: Window
    clocks_change: bool
    notes: tuple[str, ...]


@dataclass(slots=True)
class Plan:
    """The next windows, days that are left out between them, and whether more follow."""

    windows: list[Planned] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    more: bool = False

    @property
    def seconds(self) -> int:
        return sum(each.window.seconds for each in self.windows)


@dataclass(frozen=True, slots=True)
class Usage:
    """Node-hours, or GPU-hours, until now."""

    used: float
    idle: float


def hours(seconds: int) -> float:
    return round(seconds / HOUR, PLACES)


def in_words(capacity: ReservedCapacity) -> str:
    """What is kept: `4 nodes of h100`, `32 GPUs`, `nodes a, b and 2 more`."""
    if capacity.node_names:
        more = len(capacity.node_names) - NAMED
        names = ", ".join(capacity.node_names[:NAMED])
        return f"node{'' if len(capacity.node_names) == 1 else 's'} {names}{f' and {more} more' if more > 0 else ''}"
    of = f" of {capacity.flavor}" if capacity.flavor else ""
    count, word = (capacity.nodes, "node") if capacity.nodes is not None else (capacity.gpus, "GPU")
    return f"{count} {word}{'' if count == 1 else 's'}{of}"


def amount(reserved: Reserved, pool: Pool | None, nodes: Sequence[Node]) -> Amount:
    """What a window keeps, as far as the nodes of its cluster tell. Where all are alike, GPUs tell nodes too.

    `pool`: that it is taken from; None: any nodes.
    """
    capacity = reserved.spec.capacity
    if capacity.node_names:
        there = {node.name: node.gpus for node in nodes}
        known = all(name in there for name in capacity.node_names)
        return Amount(len(capacity.node_names), sum(there[name] for name in capacity.node_names) if known else None)
    members = nodes if pool is None else pool.members(nodes)
    fitting = (node.gpus for node in members if not reserved.model or node.model == reserved.model)
    sizes = {gpus for gpus in fitting if gpus or capacity.gpus is None}
    size = sizes.pop() if len(sizes) == 1 else None
    if capacity.gpus is not None:
        return Amount(-(-capacity.gpus // size) if size else None, capacity.gpus)
    assert capacity.nodes is not None
    return Amount(capacity.nodes, None if size is None else capacity.nodes * size)


def next_weeks(spec: ReservationSpec, zones: Zones, now: int, weeks: int, most: int) -> tuple[Plan, int]:
    """Windows of so many weeks, from now or else from the first that is to come; and the end of these weeks. They are
    weeks of its zone, so that a weekly window is there as often as they are many, whatever clocks do."""
    first = next((each.window for each in planned(spec, zones, now, now, 1).windows), None)
    if first is None or first.begins <= now:
        until = now + weeks * WEEK
    else:
        until = moment(first.wall + timedelta(weeks=weeks), zones(spec.time_zone)).at
    return planned(spec, zones, now, until, most), until


def planned(spec: ReservationSpec, zones: Zones, now: int, until: int, most: int) -> Plan:
    """Windows that are not over and begin before `until`, at most so many; and always the next one."""
    plan, before = Plan(), ""
    for each in occurrences(spec, zones):
        if isinstance(each, LeftOut):
            plan.left_out.append(each)
            continue
        if each.ends <= now:
            plan.left_out, before = [], each.shown_end
            continue
        if plan.windows and (each.begins >= until or len(plan.windows) == most):
            plan.more = True
            break
        plan.windows.append(_planned(each, before))
        before = each.shown_end
    return plan


def still_to_come(spec: ReservationSpec, zones: Zones, now: int) -> bool:
    """Whether any window is not over yet."""
    return any(isinstance(each, Window) and each.ends > now for each in occurrences(spec, zones))


def moved(booked: Window, spec: ReservationSpec, zones: Zones = ZoneInfo) -> str:
    """Where the rules of its zone would put a booked window today, in words; empty when that is where it is."""
    today = redrawn(booked, spec, zones)
    if today is None:
        return ""
    there = f"{today.shown_begin} to {today.shown_end}" if isinstance(today, Window) else "nowhere"
    return f"by the rules of {spec.time_zone} as they are today it would be {there}, and it stays as it was booked"


def hours_by_day(windows: Iterable[tuple[int, int]], days: Sequence[date], zone: tzinfo) -> list[float]:
    """Real hours of some windows, each (begins, ends), on each of the days of a zone. Windows do not overlap."""
    spans = list(windows)
    edges = [(moment(datetime.combine(day, time()), zone).at, _next_day(day, zone)) for day in days]
    return [hours(sum(_shared(span, edge) for span in spans)) for edge in edges]


def usage(booking: Booking, reserved: int, uses: Iterable[Use], now: int) -> Usage:
    """What of a window was used until now, and what nobody used. Amounts are alike: nodes, or parts of GPUs."""
    begin, end = booking.begins, min(booking.ends, now)
    if end <= begin:
        return Usage(0, 0)
    counted = list(uses)
    used = sum(
        each.amount * _shared((each.since, end if each.until is None else each.until), (begin, end)) for each in counted
    )
    idle = sum(each.amount * (each.until - each.since) for each in unused(begin, end, reserved, counted))
    return Usage(hours(used), hours(idle))


def _planned(window: Window, before: str) -> Planned:
    notes = list(window.notes)
    begin, end, last = window.shown_begin[-OFFSET:], window.shown_end[-OFFSET:], before[-OFFSET:]
    if begin != end:
        notes.append(f"clocks change in it: {begin} becomes {end}")
    if last and last != begin:
        notes.append(f"clocks have changed since the window before: {last} became {begin}")
    return Planned(window, bool(notes), tuple(notes))


def _times(amount: int | None, seconds: int) -> float | None:
    return None if amount is None else hours(amount * seconds)


def _next_day(day: date, zone: tzinfo) -> int:
    return moment(datetime.combine(day + timedelta(days=1), time()), zone).at


def _shared(one: tuple[int, int], other: tuple[int, int]) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))
