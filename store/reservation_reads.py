"""What is shown of lives and windows of reservations, for whoever looks. Nothing is locked."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, or_, select, tuple_
from sqlalchemy.orm import Session

from store.paging import Page, cursor, cut, read_number
from store.reservations import ENDED
from store.tables_reservations import BookingRow, ReservationRow


def living(session: Session, names: Sequence[str]) -> dict[str, ReservationRow]:
    """The lives whose documents are there, by name."""
    there = (ReservationRow.name.in_(names), ReservationRow.removed_at.is_(None))
    return {row.name: row for row in session.scalars(select(ReservationRow).where(*there))}


def present(session: Session, lives: Sequence[ReservationRow], now: datetime) -> dict[str, BookingRow]:
    """Of each life the window that is on, or else the next, by name. One that only drains is passed over if another
    one follows."""
    mine = tuple_(BookingRow.reservation, BookingRow.made_at).in_([(row.name, row.made_at) for row in lives])
    open_ = (mine, BookingRow.phase != ENDED)
    over = BookingRow.ends_at <= now
    rank = func.row_number().over(partition_by=BookingRow.reservation, order_by=(over, BookingRow.number))
    ranked = select(BookingRow, rank.label("rank")).where(*open_).subquery()
    first = select(ranked.c.reservation, ranked.c.made_at, ranked.c.number).where(ranked.c.rank == 1)
    key = tuple_(BookingRow.reservation, BookingRow.made_at, BookingRow.number)
    return {row.reservation: row for row in session.scalars(select(BookingRow).where(key.in_(first)))}


def window(session: Session, life: ReservationRow, number: int) -> BookingRow | None:
    """A booked window by its number."""
    return session.get(BookingRow, (life.name, life.made_at, number))


def window_page(
    session: Session, life: ReservationRow, *, limit: int, after: str | None = None, since: datetime | None = None
) -> Page[BookingRow]:
    """Booked windows by number, at most `limit`; with `since` of those that had not ended by then. `after` is the
    cursor of the page before; raises BadCursor."""
    query = select(BookingRow).where(BookingRow.reservation == life.name, BookingRow.made_at == life.made_at)
    if since is not None:
        query = query.where(BookingRow.ends_at > since)
    if after is not None:
        query = query.where(BookingRow.number > read_number(after))
    rows = session.scalars(query.order_by(BookingRow.number).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.number))


def windows_of(session: Session, lives: Sequence[ReservationRow], since: datetime) -> list[BookingRow]:
    """Windows of some lives that end, or would have ended, later than a time; by life and number."""
    mine = tuple_(BookingRow.reservation, BookingRow.made_at).in_([(row.name, row.made_at) for row in lives])
    late = or_(BookingRow.ends_at > since, BookingRow.cancelled_at.is_not(None))
    query = select(BookingRow).where(mine, late).order_by(BookingRow.reservation, BookingRow.number)
    return list(session.scalars(query))
