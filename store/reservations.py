"""Lives of reservations and their windows. They are the installation's: every tenant's jobs may run in them.

A life begins when a document is applied and is over when none of its windows can come any more. Its windows (bookings)
keep the terms under which they were booked. Whoever changes one has locked its life (`lock`), then its bookings.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import or_, select, tuple_, update
from sqlalchemy.orm import Session

from store import pools
from store.base import Document
from store.paging import Page, cursor, cut, read_name_and_number, typed
from store.tables_reservations import BookingRow, ReservationRow, ReservedUseRow
from store.types import EPOCH, MICROSECOND
from store.upsert import changed, insert_missing

NEWS = "windows"  # what a pool is told of a change
ENDED = "ended"
KEY = ("reservation", "made_at", "number")


class NewBooking(NamedTuple):
    """A window to be booked. `number`: from 1. `terms`: as policies/scheduling/terms.py writes them."""

    number: int
    begins_at: datetime
    ends_at: datetime
    terms: Document
    phase: str


def apply(
    session: Session, name: str, document: Document, tenant: str, actor: str, pool: str, queue: str, now: datetime
) -> ReservationRow:
    """Begin the life of a reservation whose document is being stored, or give its life another document.

    Called in the transaction that stores the document and holds the lock of documents. The same document changes
    nothing, so it is safe to repeat. A life that had come to its end goes on. `tenant` and `actor` are those of whoever
    applied it first.
    """
    row = named(session, name, hold=True)
    if row is None:
        row = ReservationRow(name=name, made_at=now, tenant=tenant, created_by=actor, heard=0, wanted=0)
        session.add(row)
    elif row.document == document:
        return row
    row.document, row.pool, row.queue, row.updated_at = document, pool, queue, now
    row.wanted, row.ended_at = row.wanted + 1, None
    session.flush()
    return row


def remove(session: Session, name: str, now: datetime) -> bool:
    """Note that the document is gone: what is still to come is given up, and nothing is booked any more.

    Called in the transaction that removes the document. Safe to repeat; False when there was nothing to remove.
    """
    row = named(session, name, hold=True)
    if row is None:
        return False
    row.removed_at, row.updated_at = now, now
    if row.ended_at is None:  # else there is nothing left to look at
        row.wanted += 1
    session.flush()
    return True


def named(session: Session, name: str, *, hold: bool = False) -> ReservationRow | None:
    """The life whose document is there: the one that jobs may name. It may have come to its end. `hold`: lock it."""
    query = select(ReservationRow).where(ReservationRow.name == name, ReservationRow.removed_at.is_(None))
    return session.scalar(query.with_for_update() if hold else query)


def get(session: Session, name: str) -> ReservationRow | None:
    """The newest life of that name, removed or not. Only reads."""
    query = select(ReservationRow).where(ReservationRow.name == name).order_by(ReservationRow.made_at.desc())
    return session.scalar(query.limit(1))


def open_lives(session: Session, tenant: str, name: str) -> list[ReservationRow]:
    """Lives of that name that are not over, oldest first, locked: one that was removed may still drain beside another
    one. What is written of their windows waits for whoever has them."""
    mine = (ReservationRow.tenant == tenant, ReservationRow.name == name, ReservationRow.ended_at.is_(None))
    return list(session.scalars(select(ReservationRow).where(*mine).order_by(ReservationRow.made_at).with_for_update()))


def page(session: Session, *, limit: int, after: str | None = None, with_ended: bool = False) -> Page[ReservationRow]:
    """Lives by name and age, at most `limit`; those that are over or removed only `with_ended`. `after` is the cursor
    of the page before; raises BadCursor."""
    key = (ReservationRow.name, ReservationRow.made_at)
    query = select(ReservationRow).order_by(*key)
    if not with_ended:
        query = query.where(ReservationRow.ended_at.is_(None), ReservationRow.removed_at.is_(None))
    if after is not None:
        name, made = read_name_and_number(after)
        query = query.where(tuple_(*key) > typed(key, (name, EPOCH + made * MICROSECOND)))
    rows = session.scalars(query.limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.name, row.made_at))


def unheard(session: Session, limit: int) -> list[ReservationRow]:
    """Lives whose workflow has something to look at, those that wait longest first."""
    waits = ReservationRow.heard < ReservationRow.wanted
    return list(session.scalars(select(ReservationRow).where(waits).order_by(ReservationRow.updated_at).limit(limit)))


def heard(session: Session, life: ReservationRow) -> None:
    """Its workflow sees all that there is, with the life locked. Safe to repeat."""
    life.heard = life.wanted
    session.flush()


def end(session: Session, life: ReservationRow, now: datetime) -> None:
    """Nothing of it is to come any more. Safe to repeat: the first time stands."""
    life.ended_at = life.ended_at or now
    session.flush()


def bookings(session: Session, pool: str | None, since: datetime, until: datetime | None = None) -> list[BookingRow]:
    """Windows of a pool (None: of all) that are not over or ended at `since` or later, and begin before `until`; by
    start and name. Of those that drain the end is past and the phase is not."""
    query = select(BookingRow).where(or_(BookingRow.ends_at >= since, BookingRow.phase != ENDED))
    if pool is not None:
        query = query.where(BookingRow.pool == pool)
    if until is not None:
        query = query.where(BookingRow.begins_at < until)
    return list(session.scalars(query.order_by(BookingRow.begins_at, BookingRow.reservation, BookingRow.number)))


def windows(session: Session, life: ReservationRow, *, hold: bool = False) -> list[BookingRow]:
    """All windows that were ever booked of a life, by number. `hold`: nobody else changes them in the meantime."""
    mine = (BookingRow.reservation == life.name, BookingRow.made_at == life.made_at)
    query = select(BookingRow).where(*mine).order_by(BookingRow.number)
    return list(session.scalars(query.with_for_update() if hold else query))


def book(session: Session, life: ReservationRow, new: Sequence[NewBooking], actor: str, now: datetime) -> int:
    """Book windows, whose nodes a decision then chooses, and tell the pool. A number that is booked stays as it is, so
    it is safe to repeat. Returns how many were booked."""
    shared: dict[str, Any] = dict(reservation=life.name, made_at=life.made_at, pool=life.pool, version=1)
    shared |= dict(cancelled_at=None, vacated_at=None, nodes=None, short=None, updated_at=now, updated_by=actor)
    made = insert_missing(session, BookingRow, [shared | each._asdict() for each in new], KEY)
    if made:
        pools.note(session, life.pool, NEWS)
    return made


def change(session: Session, row: BookingRow, values: Document, actor: str, now: datetime) -> bool:
    """Change a window that is as `row` has it, and tell its pool, and the one that it goes to; False when it was
    changed meanwhile. Values that it has already change nothing. A change of the phase alone leaves the version as it
    is. `row` itself is not refreshed."""
    new = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not new:
        return True
    version = row.version + (set(new) != {"phase"})
    mine = (BookingRow.reservation == row.reservation, BookingRow.made_at == row.made_at)
    seen = (BookingRow.number == row.number, BookingRow.version == row.version)
    written = new | {"version": version, "updated_at": now, "updated_by": actor}
    if not changed(session, update(BookingRow).where(*mine, *seen).values(**written)):
        return False
    for pool in sorted({row.pool, new.get("pool", row.pool)}):
        pools.note(session, pool, NEWS)
    return True


def uses(
    session: Session, reservation: str, made_at: datetime, since: datetime, until: datetime
) -> list[ReservedUseRow]:
    """What jobs used of a life between two times, oldest first: whole uses, not cut to these times."""
    mine = (ReservedUseRow.reservation == reservation, ReservedUseRow.made_at == made_at)
    within = (ReservedUseRow.since < until, or_(ReservedUseRow.until.is_(None), ReservedUseRow.until > since))
    query = select(ReservedUseRow).where(*mine, *within)
    return list(session.scalars(query.order_by(ReservedUseRow.since, ReservedUseRow.job)))
