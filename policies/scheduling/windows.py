"""When a reservation holds: its windows as instants, from a rule in local time.

The rule keeps the zone and the local times; a window that was booked keeps its instants. A booked window is a value:
new rules of time zones never move it, and `redrawn` says where they would put it today.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import islice
from zoneinfo import ZoneInfo

from definitions.quantities import format_duration
from definitions.reservation import ReservationSpec
from policies.scheduling.recurring import Missing, days
from policies.scheduling.walltime import Moment, moment, shown

Zones = Callable[[str], tzinfo]


@dataclass(frozen=True, slots=True)
class Window:
    """One occurrence: from `begins` up to, not including, `ends`, in seconds since 1970.

    `wall` is the local start that the rule names, which with `number` tells one window from another. `shown_begin` and
    `shown_end` are local times with their offsets as they were at booking. `notes` have to be seen before it is
    confirmed: what clocks do to it.
    """

    number: int  # from 0
    wall: datetime
    begins: int
    ends: int
    shown_begin: str
    shown_end: str
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> int:
        """Real time, which is what is charged: a night in which clocks change is an hour longer or shorter."""
        return self.ends - self.begins


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A day that the rule names and on which there is no window. It does not count towards `count`."""

    day: str
    why: str


def occurrences(spec: ReservationSpec, zones: Zones = ZoneInfo) -> Iterator[Window | LeftOut]:
    """Every window in order, and between them what is left out. Endless when the rule has neither count nor until."""
    rule = spec.repeat
    most = 1 if rule is None else rule.count
    until = spec.start if rule is None else rule.until
    number = 0
    for day in days(rule, spec.start.date()):
        last = _start(spec, day.month_end if isinstance(day, Missing) else day)
        if number == most or (until is not None and last > until):
            return
        found = LeftOut(day.day, day.why) if isinstance(day, Missing) else window(spec, last, number, zones)
        number += isinstance(found, Window)
        yield found


def windows(spec: ReservationSpec, zones: Zones = ZoneInfo, *, most: int, after: int | None = None) -> list[Window]:
    """The first windows, at most so many; with `after` of those that end later than that instant."""
    found = (each for each in occurrences(spec, zones) if isinstance(each, Window))
    return list(islice((each for each in found if after is None or each.ends > after), most))


def window(spec: ReservationSpec, start: datetime, number: int, zones: Zones = ZoneInfo) -> Window | LeftOut:
    """The window of a local start, or why there is none."""
    zone = zones(spec.time_zone)
    begin = moment(start, zone)
    if not begin.day_exists():
        return LeftOut(str(start.date()), f"clocks jump over the whole day in {spec.time_zone}")
    end = _end(spec, begin, zone)
    if end.at <= begin.at:
        return LeftOut(str(start.date()), f"clocks jump over the whole window in {spec.time_zone}")
    notes = (begin.note(spec.time_zone, "start"), end.note(spec.time_zone, "end"), _length(begin, end))
    return Window(number, start, begin.at, end.at, begin.local, end.local, tuple(note for note in notes if note))


def redrawn(booked: Window, spec: ReservationSpec, zones: Zones = ZoneInfo) -> Window | LeftOut | None:
    """Where the rules of today would put a booked window; None when that is where it is."""
    today = window(spec, booked.wall, booked.number, zones)
    same = isinstance(today, Window) and (today.begins, today.ends) == (booked.begins, booked.ends)
    return None if same else today


def overlap(one: Window, other: Window) -> int:
    """Seconds that two windows share."""
    return max(0, min(one.ends, other.ends) - max(one.begins, other.begins))


def clashes(ours: Sequence[Window], theirs: Sequence[Window]) -> Iterator[tuple[Window, Window]]:
    """Every pair of windows that share time, in order. Both sequences are in order of their starts."""
    first = 0
    for one in ours:
        while first < len(theirs) and theirs[first].ends <= one.begins:
            first += 1
        for other in theirs[first:]:
            if other.begins >= one.ends:
                break
            if overlap(one, other):
                yield one, other


def _start(spec: ReservationSpec, day: date) -> datetime:
    return datetime.combine(day, spec.start.time())


def _length(begin: Moment, end: Moment) -> str | None:
    """What to show of a window whose length is not what its local times suggest."""
    real, read = timedelta(seconds=end.at - begin.at), end.asked - begin.asked
    if real == read:
        return None
    return f"it lasts {format_duration(real)}, not {format_duration(read)}, as clocks change"


def _end(spec: ReservationSpec, begin: Moment, zone: tzinfo) -> Moment:
    if spec.end is not None:
        return moment(begin.asked + (spec.end - spec.start), zone)
    assert spec.length is not None
    at = begin.at + spec.length // timedelta(seconds=1)
    return Moment(begin.asked + spec.length, at, shown(at, zone))
