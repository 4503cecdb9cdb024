"""Windows of reservations as they are shown: what became of each, who uses it, and the calendar of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from api.access import Caller
from api.queueing import Seen
from api.reservation_amounts import Around, around, booked_times, times
from definitions.api_reservations import (
    CalendarEntry,
    CalendarPage,
    CalendarWindow,
    WindowPage,
    WindowPhase,
    WindowUse,
    WindowView,
)
from definitions.cluster import LOCAL_CLUSTER
from definitions.quantities import format_duration
from definitions.reservation import ReservationSpec
from policies.reserving import Amount, Usage, hours_by_day, in_words, moved, planned, usage
from policies.scheduling.bookings import Booking, Use, charged
from policies.scheduling.model import WHOLE
from policies.scheduling.terms import booking_of, spec_of, time_of
from policies.scheduling.walltime import moment
from policies.scheduling.windows import Window, overlap
from store import reservation_reads, reservations, scheduling_documents
from store.tables import BookingRow, ReservationRow, ReservedUseRow, SchedulingDocumentRow

MOST_DAYS = 92
MOST_WINDOWS = 24 * MOST_DAYS


@dataclass(frozen=True)
class Days:
    """Days of a calendar, in the zone in which they begin."""

    days: tuple[date, ...]
    zone: ZoneInfo

    @classmethod
    def of(cls, first: date, count: int, zone: str) -> "Days":
        return cls(tuple(first + timedelta(days=number) for number in range(count)), ZoneInfo(zone))

    @property
    def begins(self) -> int:
        return self._midnight(self.days[0])

    @property
    def ends(self) -> int:
        return self._midnight(self.days[-1] + timedelta(days=1))

    def _midnight(self, day: date) -> int:
        return moment(datetime.combine(day, time()), self.zone).at


def window_page(
    caller: Caller, session: Session, life: ReservationRow, *, since: datetime | None, limit: int, after: str | None
) -> WindowPage:
    """Booked windows by number, with what was used of each until now. Raises BadCursor."""
    page = reservation_reads.window_page(session, life, limit=limit, after=after, since=since)
    if not page.items:
        return WindowPage(items=[])
    first, last = page.items[0].begins_at, max(row.ends_at for row in page.items)
    uses = reservations.uses(session, life.name, life.made_at, first, last)
    seen, there = Seen(caller, session, {use.job for use in uses}), around(caller, session)
    now = int(caller.deps.now().timestamp())
    items = [
        window_view(row, [use for use in uses if _within(use, row, caller.deps.now())], there, seen, now)
        for row in page.items
    ]
    return WindowPage(items=items, next=page.next)


def window_view(row: BookingRow, uses: Sequence[ReservedUseRow], there: Around, seen: Seen, now: int) -> WindowView:
    """One booked window. `uses`: of this window."""
    booking, kept = booking_of(row.terms, row.cancelled_at, row.vacated_at), there.held(row)
    until = charged(booking)
    nodes, gpus = _used(row, booking, kept, uses, now)
    return WindowView(
        **booked_times(row, kept),
        phase=WindowPhase(row.phase),
        version=row.version,
        extended=format_duration(timedelta(seconds=booking.extended)) if booking.extended else "",
        cancelled_at=row.cancelled_at,
        charged_until=None if until is None else time_of(until[1]),
        node_names=row.nodes or [],
        short=_short(row),
        moved=moved(booking.window, spec_of(row.terms)),
        uses=[_use(each, seen) for each in uses],
        used_node_hours=nodes.used,
        unused_node_hours=nodes.idle,
        used_gpu_hours=None if gpus is None else gpus.used,
        unused_gpu_hours=None if gpus is None else gpus.idle,
    )


def calendar_page(caller: Caller, session: Session, days: Days, limit: int, after: str | None) -> CalendarPage:
    """Reservations by name with their windows of some days; what was given up is not among them. Raises BadCursor."""
    page = scheduling_documents.page(session, "Reservation", limit=limit, after=after)
    lives = reservation_reads.living(session, [row.name for row in page.items])
    booked: dict[str, list[BookingRow]] = {}
    for row in reservation_reads.windows_of(session, list(lives.values()), time_of(days.begins)):
        booked.setdefault(row.reservation, []).append(row)
    there, now = around(caller, session), int(caller.deps.now().timestamp())
    items = [_entry(row, booked.get(row.name, []), there, days, now) for row in page.items]
    return CalendarPage(
        items=items, next=page.next, time_zone=str(days.zone), days=[day.isoformat() for day in days.days]
    )


def _used(
    row: BookingRow, booking: Booking, kept: Amount, uses: Sequence[ReservedUseRow], now: int
) -> tuple[Usage, Usage | None]:
    """Of its nodes, and of its GPUs where they are known. Without nodes it kept nothing."""
    there = row.nodes is not None
    nodes = usage(booking, (kept.nodes or 0) if there else 0, [_as_use(each, each.nodes) for each in uses], now)
    if kept.gpus is None:
        return nodes, None
    parts = usage(booking, kept.gpus * WHOLE if there else 0, [_as_use(each, each.gpus) for each in uses], now)
    return nodes, Usage(parts.used / WHOLE, parts.idle / WHOLE)


def _as_use(row: ReservedUseRow, amount: int) -> Use:
    return Use(int(row.since.timestamp()), None if row.until is None else int(row.until.timestamp()), amount)


def _within(use: ReservedUseRow, row: BookingRow, now: datetime) -> bool:
    """Whether a use, which goes on until now where it has not ended, falls into a window."""
    return use.since < row.ends_at and (use.until or now) > row.begins_at


def _use(row: ReservedUseRow, seen: Seen) -> WindowUse:
    return WindowUse(**seen.fields(row.job), since=row.since, until=row.until, nodes=row.nodes, gpus=row.gpus / WHOLE)


def _short(row: BookingRow) -> str:
    if row.short is None:
        return ""
    word = "GPUs" if row.terms["spec"]["capacity"].get("gpus") is not None else "nodes"
    return f"needs {row.short['needed']} {word}, {row.short['free']} are there"


def _entry(
    row: SchedulingDocumentRow, booked: Sequence[BookingRow], there: Around, days: Days, now: int
) -> CalendarEntry:
    spec = ReservationSpec.model_validate(row.document["spec"])
    windows = sorted([*_booked(booked, there, days), *_to_come(row.name, spec, booked, there, days, now)], key=_begin)
    spans = [(int(each.begins_at.timestamp()), int(each.ends_at.timestamp())) for each in windows]
    return CalendarEntry(
        reservation=row.name,
        queue=spec.queue,
        pool=spec.cluster or LOCAL_CLUSTER,
        keeps=in_words(spec.capacity),
        time_zone=spec.time_zone,
        windows=windows,
        hours_by_day=hours_by_day(spans, days.days, days.zone),
    )


def _booked(booked: Sequence[BookingRow], there: Around, days: Days) -> list[CalendarWindow]:
    """Those that keep something in the days: what was given up before it began keeps nothing."""
    found = [(row, booking_of(row.terms, row.cancelled_at, row.vacated_at)) for row in booked]
    return [
        CalendarWindow(**booked_times(row, there.held(row)), phase=WindowPhase(row.phase))
        for row, each in found
        if each.begins < min(each.ends, days.ends) and each.ends > days.begins
    ]


def _to_come(
    name: str, spec: ReservationSpec, booked: Sequence[BookingRow], there: Around, days: Days, now: int
) -> list[CalendarWindow]:
    """Those of the rule that are not booked yet."""
    taken = [booking_of(row.terms).window for row in booked]
    kept = there.amount(name, spec)
    plan = planned(spec, ZoneInfo, max(now, days.begins), days.ends, MOST_WINDOWS)
    return [
        CalendarWindow(**times(each.window, kept), phase=WindowPhase.PLANNED)
        for each in plan.windows
        if each.window.begins < days.ends and not _is_among(each.window, taken)
    ]


def _is_among(window: Window, booked: Sequence[Window]) -> bool:
    return any(overlap(window, each) for each in booked)


def _begin(window: CalendarWindow) -> datetime:
    return window.begins_at
