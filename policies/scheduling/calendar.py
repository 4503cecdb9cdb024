"""Which windows of a reservation are booked, and what becomes of those that are: one look at a life, from its document,
its bookings and the time. Instants are seconds since 1970."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

from definitions.reservation import ReservationSpec
from policies.scheduling.bookings import Booking, Phase, booked, extend_itself, next_change, phase_of
from policies.scheduling.terms import Terms, terms_of
from policies.scheduling.windows import Window, Zones, occurrences

DAY = 86_400
AHEAD = 60 * DAY  # so far ahead windows are booked, and the next one whenever it is
LOOK_AGAIN = DAY  # at the latest, while the rule goes on
LOOK_WHILE_DRAINING = 5  # seconds: whether the last jobs have gone
BEFORE_THE_END = 60  # seconds in which a window that extends itself looks whether it has to
Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A booking as it is stored. `jobs_end`: when jobs that run in it will have ended, None for one that is not known.
    `vacant`: nobody of them is there. `others`: bookings that keep some of the same nodes."""

    number: int
    booking: Booking
    terms: Terms
    jobs_end: tuple[int | None, ...] = ()
    vacant: bool = False
    others: tuple[Booking, ...] = ()


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a life should be from now on. `entries`: all that were there, as they are to be; `new`: those to be booked.
    `wake`: when to look again, unless something happens before. `over`: nothing of it can come any more."""

    entries: tuple[Entry, ...]
    new: tuple[Entry, ...] = ()
    wake: int | None = None
    over: bool = False


@dataclass(slots=True)
class _Look:
    """`spec`: of the document as it was applied last; `read`: the same."""

    spec: Spec
    read: ReservationSpec
    entries: list[Entry]
    now: int
    new: list[Entry] = field(default_factory=list)


def look(
    spec: Spec, entries: Sequence[Entry], now: int, removed: int | None = None, zones: Zones = ZoneInfo
) -> Outlook:
    """Look at a life. Looking again at what it answers changes nothing. `removed`: when its document was."""
    seen = _Look(spec, ReservationSpec.model_validate(spec), list(entries), now)
    coming: list[Window] = []
    if removed is None:
        coming = list(_coming(seen, zones))
        _book(seen, coming)
        _drop_what_was_changed_away(seen, coming)
    else:
        seen.entries = [_given_up(each, removed, now) for each in seen.entries]
    seen.entries = [_at_its_end(each, now) for each in seen.entries]
    every = [*seen.entries, *seen.new]
    over = not coming and all(phase_of(each.booking, now) is Phase.ENDED for each in every)
    return Outlook(tuple(seen.entries), tuple(seen.new), None if over else _wake(every, coming, now), over)


def _coming(look: _Look, zones: Zones) -> Iterator[Window]:
    """Windows that are not over and begin soon, or else the next one. What this document has given up stays so."""
    found = (each for each in occurrences(look.read, zones) if isinstance(each, Window) and each.ends > look.now)
    given_up = {
        each.booking.window.wall
        for each in look.entries
        if each.booking.cancelled is not None and _same(each.terms["spec"], look.spec)
    }
    later = (each for each in found if each.wall not in given_up)
    first = next(later, None)
    if first is not None:
        yield first
        yield from takewhile(lambda each: each.begins <= look.now + AHEAD, later)


def _book(look: _Look, coming: Sequence[Window]) -> None:
    """Book what is not booked, and give windows that have not begun the terms of today's document."""
    last = max((each.number for each in look.entries), default=0)
    for window in coming:
        at = _index_of(look, window)
        if at is None:
            if not any(_runs_into(each.booking, window, look.now) for each in look.entries):
                last += 1
                look.new.append(_entry(look, last, window))
        elif not _same(look.entries[at].terms["spec"], look.spec) and look.entries[at].booking.begins > look.now:
            look.entries[at] = _entry(look, look.entries[at].number, window)


def _index_of(look: _Look, window: Window) -> int | None:
    """The booking of a local start."""
    for at, each in enumerate(look.entries):
        if each.booking.window.wall == window.wall and each.booking.cancelled is None:
            return at
    return None


def _drop_what_was_changed_away(look: _Look, coming: Sequence[Window]) -> None:
    """Windows of an earlier document that the present one does not have are given up before they begin."""
    walls = {window.wall for window in coming}
    for at, each in enumerate(look.entries):
        booking = each.booking
        if booking.cancelled is not None or booking.begins <= look.now or booking.window.wall in walls:
            continue
        if not _same(each.terms["spec"], look.spec):
            terms = {**each.terms, "spec": dict(look.spec)}
            look.entries[at] = replace(each, booking=replace(booking, cancelled=look.now), terms=terms)


def _runs_into(booking: Booking, window: Window, now: int) -> bool:
    """Whether a window that has begun, and is not over, takes time of another one of the same reservation."""
    begun = booking.begins <= now < booking.ends
    return begun and window.begins < booking.ends and booking.begins < window.ends


def _entry(look: _Look, number: int, window: Window) -> Entry:
    booking = booked(window, look.read)
    return Entry(number, booking, terms_of(booking, look.spec))


def _given_up(entry: Entry, removed: int, now: int) -> Entry:
    booking = entry.booking
    if booking.cancelled is not None or booking.ends <= removed:
        return entry
    return replace(entry, booking=replace(booking, cancelled=min(removed, now)))


def _at_its_end(entry: Entry, now: int) -> Entry:
    """Longer while its jobs run, if it may be by itself; and over when they have gone."""
    booking = entry.booking
    phase = phase_of(booking, now)
    if phase is Phase.DRAINING and entry.vacant:
        return replace(entry, booking=replace(booking, vacated=now))
    if phase is Phase.ACTIVE and now >= _asks_at(booking):
        longer = extend_itself(booking, entry.jobs_end, now, entry.others)
        if longer != booking:
            return replace(entry, booking=longer, terms={**entry.terms, "extended": longer.extended})
    return entry


def _asks_at(booking: Booking) -> int:
    """When a window that extends itself looks first at what still runs in it."""
    return booking.ends - max(booking.extend_notice, BEFORE_THE_END)


def _wake(entries: Sequence[Entry], coming: Sequence[Window], now: int) -> int | None:
    times = [now + LOOK_AGAIN] if coming else []
    for each in entries:
        booking, phase = each.booking, phase_of(each.booking, now)
        change = next_change(booking, now)
        times += [] if change is None else [change]
        if phase is Phase.DRAINING:
            times.append(now + LOOK_WHILE_DRAINING)
        if booking.extends_itself and booking.cancelled is None and phase is not Phase.ENDED:
            times += [at for at in (_asks_at(booking), booking.ends - 1) if at > now]
    return min(times, default=None)


def _same(one: Spec, other: Spec) -> bool:
    """Whether two documents describe the same windows under the same terms."""
    return {**one, "description": ""} == {**other, "description": ""}
