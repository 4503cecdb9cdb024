"""Lives of reservations in the database: one transaction for each look and each change, with the life locked."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from activities.adapters.database import database_errors
from activities.reservations import Look, ReservationKey, WindowWork
from definitions.reservation_calls import WindowAnswer, WindowAsked, WindowVerb
from policies.scheduling.bookings import Booking, Denied, Phase, began_before_its_end, cancel, extend, phase_of
from policies.scheduling.calendar import Entry, Outlook, look
from policies.scheduling.terms import booking_of, terms_of, time_of
from store import reservations, reserved
from store.base import Document
from store.engine import transaction
from store.reservations import NewBooking
from store.reserved import Holder
from store.tables_reservations import BookingRow, ReservationRow

BY = "perdure"  # who carries windows through their phases
GONE = Denied("the reservation is not there any more", "perdure reservations list shows those that are")
UNKNOWN = Denied("it has no window of that number", "perdure reservations show lists its windows")


class SqlReservations:
    """The Reservations port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(self, key: ReservationKey, now: datetime) -> Look:
        with database_errors():
            return transaction(self._engine, lambda session: _keep(session, key, now))

    def change(self, work: WindowWork, now: datetime) -> WindowAnswer:
        with database_errors():
            return transaction(self._engine, lambda session: _change(session, work, now))


def _keep(session: Session, key: ReservationKey, now: datetime) -> Look:
    phases: Counter[str] = Counter()
    wakes: list[int] = []
    lives = reservations.open_lives(session, key.tenant, key.name)
    over = 0
    for life in lives:
        reservations.heard(session, life)
        found = _outlook(session, life, now)
        every = [*found.entries, *found.new]
        phases.update(phase_of(each.booking, _seconds(now)).value for each in every)
        wakes += [] if found.wake is None else [found.wake]
        if found.over:
            reservations.end(session, life, now)
            over += 1
    del phases[Phase.ENDED.value]
    wake = None if not wakes else max(0.0, min(wakes) - now.timestamp())
    return Look(wake_after=wake, over=over == len(lives), windows=dict(sorted(phases.items())))


def _outlook(session: Session, life: ReservationRow, now: datetime) -> Outlook:
    """Look at a life, and write what is to be different."""
    rows = reservations.windows(session, life, hold=True)
    open_rows = [row for row in rows if row.phase != Phase.ENDED]
    holders = reserved.holders(session, life.pool, life.name) if open_rows else []
    entries = [_entry(session, row, holders, now) for row in rows]
    removed = None if life.removed_at is None else _seconds(life.removed_at)
    found = look(life.document["spec"], entries, _seconds(now), removed)
    for row, entry in zip(rows, found.entries, strict=True):
        moved = {"pool": life.pool} if entry.terms["spec"] != row.terms["spec"] else {}
        reservations.change(session, row, _columns(entry, now) | moved, BY, now)
    reservations.book(session, life, [_new(entry, now) for entry in found.new], BY, now)
    return found


def _entry(session: Session, row: BookingRow, holders: Sequence[Holder], now: datetime) -> Entry:
    booking = booking_of(row.terms, row.cancelled_at, row.vacated_at)
    if row.phase == Phase.ENDED:
        return Entry(row.number, booking, row.terms)
    inside = [one for one in holders if began_before_its_end(booking, _seconds(one.since))]
    ends = tuple(None if one.until is None else _seconds(one.until) for one in inside)
    others = _others(session, row, now) if booking.extends_itself else ()
    return Entry(row.number, booking, row.terms, ends, not inside, others)


def _others(session: Session, row: BookingRow, now: datetime) -> tuple[Booking, ...]:
    """Windows that keep some of the same nodes."""
    mine, nodes = (row.reservation, row.made_at, row.number), frozenset(row.nodes or ())
    return tuple(
        booking_of(other.terms, other.cancelled_at, other.vacated_at)
        for other in reservations.bookings(session, row.pool, now)
        if (other.reservation, other.made_at, other.number) != mine and not nodes.isdisjoint(other.nodes or ())
    )


def _change(session: Session, work: WindowWork, now: datetime) -> WindowAnswer:
    asked = work.asked
    lives = reservations.open_lives(session, work.key.tenant, work.key.name)
    life = next((one for one in lives if one.made_at == asked.made_at), None)
    if life is None:
        return _denied(GONE)
    row = next((one for one in reservations.windows(session, life, hold=True) if one.number == asked.number), None)
    if row is None:
        return _denied(UNKNOWN)
    if row.terms["request"] == asked.request_id:
        return WindowAnswer(ends_at=row.ends_at)
    booking = booking_of(row.terms, row.cancelled_at, row.vacated_at)
    found = _asked_for(session, row, booking, asked, now)
    if isinstance(found, Denied):
        return _denied(found)
    entry = Entry(row.number, found, terms_of(found, row.terms["spec"], asked.request_id))
    reservations.change(session, row, _columns(entry, now), asked.actor, now)
    return WindowAnswer(ends_at=time_of(found.ends))


def _asked_for(
    session: Session, row: BookingRow, booking: Booking, asked: WindowAsked, now: datetime
) -> Booking | Denied:
    if asked.verb is WindowVerb.CANCEL:
        return cancel(booking, _seconds(now))
    if asked.until is None:
        return Denied("nothing says until when", "ask for a later end")
    return extend(booking, _seconds(asked.until), _seconds(now), _others(session, row, now))


def _columns(entry: Entry, now: datetime) -> Document:
    booking = entry.booking
    return {
        "begins_at": time_of(booking.begins),
        "ends_at": time_of(booking.ends),
        "terms": entry.terms,
        "phase": phase_of(booking, _seconds(now)).value,
        "cancelled_at": None if booking.cancelled is None else time_of(booking.cancelled),
        "vacated_at": None if booking.vacated is None else time_of(booking.vacated),
    }


def _new(entry: Entry, now: datetime) -> NewBooking:
    columns = _columns(entry, now)
    return NewBooking(entry.number, columns["begins_at"], columns["ends_at"], entry.terms, columns["phase"])


def _denied(why: Denied) -> WindowAnswer:
    return WindowAnswer(denied=why.why, fix=why.fix)


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
