"""What becomes of a booked window: its phases, making it longer, giving it up, and what of it nobody used.

Every function is one of the booking and the time; instants are seconds since 1970, intervals end before their end.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise

from definitions.quantities import format_duration
from definitions.reservation import AtEnd, LeadMode, ReservationSpec
from policies.scheduling.windows import Window

SECOND = timedelta(seconds=1)


class Phase(StrEnum):
    UPCOMING = "upcoming"
    LEAD = "lead"  # its nodes become free
    ACTIVE = "active"
    DRAINING = "draining"  # it is over, and its jobs are not gone yet
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Booking:
    """A window with the terms that it was booked under, and what has happened to it since."""

    window: Window
    lead: int | None = None  # None: no time of its own, and nothing that might still run at the start is started
    lead_mode: LeadMode = LeadMode.BACKFILL
    at_end: AtEnd = AtEnd.SUSPEND
    grace: int = 0
    may_extend: int = 0
    extend_notice: int = 0
    extends_itself: bool = False
    cancel_notice: int = 0
    charge_idle: bool = True
    extended: int = 0  # seconds
    cancelled: int | None = None
    vacated: int | None = None  # when, after its end, its jobs were known to be gone

    @property
    def planned_end(self) -> int:
        return self.window.ends + self.extended

    @property
    def begins(self) -> int:
        return self.window.begins

    @property
    def watched(self) -> int:
        """When its lead time begins."""
        return self.begins - (self.lead or 0)

    @property
    def ends(self) -> int:
        """When it gives up its nodes: at its end, or when it is cancelled; before its start it held none."""
        if self.cancelled is None:
            return self.planned_end
        return min(self.planned_end, max(self.cancelled, self.begins))


@dataclass(frozen=True, slots=True)
class Denied:
    """Why a booking stays as it is, and what could be asked for instead."""

    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Use:
    """So much of the reserved amount was in use; `until` None: it still is."""

    since: int
    until: int | None
    amount: int


@dataclass(frozen=True, slots=True)
class Idle:
    """So much of the reserved amount was not."""

    since: int
    until: int
    amount: int


def booked(window: Window, spec: ReservationSpec) -> Booking:
    """A window under the terms of its reservation as they stand now."""
    return Booking(
        window,
        lead=None if spec.lead.time is None else spec.lead.time // SECOND,
        lead_mode=spec.lead.mode,
        at_end=spec.at_end,
        grace=spec.grace // SECOND,
        may_extend=spec.extension.most // SECOND,
        extend_notice=spec.extension.notice // SECOND,
        extends_itself=spec.extension.automatic,
        cancel_notice=spec.cancellation.notice // SECOND,
        charge_idle=spec.charge_idle,
    )


def phase_of(booking: Booking, now: int) -> Phase:
    """Where it stands. After its end it drains until its jobs are known to be gone, unless they may stay."""
    if booking.cancelled is not None and booking.cancelled < booking.begins and now >= booking.cancelled:
        return Phase.ENDED
    if now < booking.begins:
        return Phase.UPCOMING if now < booking.watched else Phase.LEAD
    if now < booking.ends:
        return Phase.ACTIVE
    gone = booking.at_end is AtEnd.KEEP or (booking.vacated is not None and now >= booking.vacated)
    return Phase.ENDED if gone else Phase.DRAINING


def next_change(booking: Booking, now: int) -> int | None:
    """When time alone brings the next phase, or while it drains, when its jobs are stopped by force; else None."""
    phase = phase_of(booking, now)
    if phase is Phase.ENDED:
        return None
    times = [booking.watched, booking.begins, booking.ends]
    if booking.at_end is not AtEnd.KEEP:
        times.append(booking.ends + booking.grace)
    return next((time for time in times if time > now), None)


def began_before_its_end(booking: Booking, since: int) -> bool:
    """Whether a job of the reservation that holds its places since then has to go with this window. One that begins in
    the second in which a window is cancelled does, and one that begins as the next window follows does not."""
    return since < booking.ends or (booking.cancelled is not None and since == booking.ends)


def may_use(spec: ReservationSpec, path: Sequence[str], *, named: bool) -> bool:
    """Whether a job may run in it. `path`: its queue and all above; `named`: it asked for this reservation."""
    return (named or spec.users.without_naming) and bool({spec.queue, *spec.users.queues} & set(path))


def extend(booking: Booking, until: int, now: int, others: Iterable[Booking]) -> Booking | Denied:
    """The booking with a later end. `others`: those of the same capacity."""
    if phase_of(booking, now) in (Phase.DRAINING, Phase.ENDED) or booking.cancelled is not None:
        return Denied("it has ended", "book another window")
    if not booking.may_extend:
        return Denied("its reservation allows no extension", "book another window, or set extension.most")
    if until <= booking.ends:
        return Denied("the new end is not later than the end that it has", "ask for a later one")
    if now > booking.ends - booking.extend_notice:
        late = now - (booking.ends - booking.extend_notice)
        return Denied(f"it had to be asked for {_spelled(late)} earlier", "book another window")
    room = _room(booking, others)
    if room <= booking.ends:
        return Denied("it is as long as it can be", "book another window")
    if until > room:
        over, left = _spelled(until - room), _spelled(room - booking.ends)
        return Denied(f"the new end is {over} later than it can be", f"ask for at most {left} more")
    return replace(booking, extended=until - booking.window.ends)


def extend_itself(booking: Booking, jobs_end: Sequence[int | None], now: int, others: Iterable[Booking]) -> Booking:
    """The booking as long as its jobs need it, if it may become longer by itself. None: an end that is not known."""
    if not booking.extends_itself or not jobs_end or booking.cancelled is not None:
        return booking
    if phase_of(booking, now) is not Phase.ACTIVE:
        return booking
    room = _room(booking, others)
    needed = max(room if end is None else end for end in jobs_end)
    until = max(booking.planned_end, min(needed, room))
    return replace(booking, extended=until - booking.window.ends)


def cancel(booking: Booking, now: int) -> Booking | Denied:
    """The booking given up now. Before its start it holds nothing any more; after it, its jobs are told to go."""
    if booking.cancelled is not None:
        return booking
    if now >= booking.ends:
        return Denied("it has ended", "nothing is held any more")
    return replace(booking, cancelled=now)


def charged(booking: Booking) -> tuple[int, int] | None:
    """The interval that is charged whether used or not; None when it was cancelled early enough."""
    until = booking.planned_end
    if booking.cancelled is not None:
        until = min(until, booking.cancelled + booking.cancel_notice)
    return (booking.begins, until) if until > booking.begins else None


def unused(since: int, until: int, reserved: int, uses: Iterable[Use]) -> tuple[Idle, ...]:
    """What of a reserved amount nobody used between two instants, in order; parts that are alike are one."""
    steps = {since: 0, until: 0}
    for use in uses:
        begin, end = max(use.since, since), until if use.until is None else min(use.until, until)
        if begin < end:
            steps[begin] = steps.get(begin, 0) + use.amount
            steps[end] = steps.get(end, 0) - use.amount
    found: list[Idle] = []
    times, used = sorted(steps), 0
    for begin, end in pairwise(times):
        used += steps[begin]
        idle = max(0, reserved - used)
        if found and found[-1].until == begin and found[-1].amount == idle:
            found[-1] = replace(found[-1], until=end)
        elif idle:
            found.append(Idle(begin, end, idle))
    return tuple(found)


def billed(booking: Booking, reserved: int, uses: Iterable[Use]) -> int:
    """Reserved amount times seconds that is charged: all of the interval, or with `charge_idle` off what was used."""
    interval = charged(booking)
    if interval is None:
        return 0
    whole = (interval[1] - interval[0]) * reserved
    if booking.charge_idle:
        return whole
    return whole - sum((idle.until - idle.since) * idle.amount for idle in unused(*interval, reserved, uses))


def _spelled(seconds: int) -> str:
    return format_duration(timedelta(seconds=seconds))


def _room(booking: Booking, others: Iterable[Booking]) -> int:
    """The latest end that it may have: as long as was allowed, and not into the next booking."""
    latest = booking.window.ends + booking.may_extend
    following = [each.begins for each in others if each.begins >= booking.ends and each.begins < each.ends]
    return min([latest, *following])
