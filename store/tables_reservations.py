"""Reservations: their lives, their windows, and what jobs used of them. All are the installation's."""

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from store.base import Base, Document


class ReservationRow(Base):
    """The life of a reservation, from when its document was applied until its last window is over or it is removed.

    `wanted` grows whenever its workflow has something to look at; `heard` is what that has seen.
    """

    __tablename__ = "reservations"
    __table_args__ = (
        Index(
            "ix_reservations_unheard",
            "updated_at",
            sqlite_where=text("heard < wanted"),
            postgresql_where=text("heard < wanted"),
        ),
    )

    name: Mapped[str] = mapped_column(primary_key=True)
    made_at: Mapped[datetime] = mapped_column(primary_key=True)  # of its document: one of that name may come again
    tenant: Mapped[str]  # whose it is: its workflow is `reservation/{tenant}/{name}`
    created_by: Mapped[str]
    pool: Mapped[str]  # cluster whose nodes it keeps
    queue: Mapped[str]
    document: Mapped[Document]  # as it was applied last
    wanted: Mapped[int]
    heard: Mapped[int]
    updated_at: Mapped[datetime]
    removed_at: Mapped[datetime | None]  # its document was deleted
    ended_at: Mapped[datetime | None]


class BookingRow(Base):
    """One window of a reservation, under the terms that it was booked with, and the nodes that it keeps.

    `nodes` are held like a lease, from when a decision gave them until it ends; None: it has none, `short` says why.
    """

    __tablename__ = "bookings"
    __table_args__ = (Index("ix_bookings_pool", "pool", "ends_at"),)

    reservation: Mapped[str] = mapped_column(primary_key=True)
    made_at: Mapped[datetime] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # of the window, from 1
    pool: Mapped[str]
    begins_at: Mapped[datetime]
    ends_at: Mapped[datetime]  # when it gives up its nodes, as it stands now
    terms: Mapped[Document]  # the Booking: window, lead, what happens at the end, extension, cancellation
    phase: Mapped[str]  # "upcoming", "lead", "active", "draining", "ended"
    cancelled_at: Mapped[datetime | None]
    vacated_at: Mapped[datetime | None]
    nodes: Mapped[list[str] | None]
    short: Mapped[Document | None]  # needed and free
    version: Mapped[int]  # grows with every change but that of the phase; the ETag
    updated_at: Mapped[datetime]
    updated_by: Mapped[str]


class ReservedUseRow(Base):
    """What a job used of a window, from when it got its places until they were given back. Metering reads it."""

    __tablename__ = "reserved_uses"
    __table_args__ = (Index("ix_reserved_uses_job", "job"),)

    reservation: Mapped[str] = mapped_column(primary_key=True)
    made_at: Mapped[datetime] = mapped_column(primary_key=True)
    job: Mapped[str] = mapped_column(primary_key=True)
    since: Mapped[datetime] = mapped_column(primary_key=True)
    tenant: Mapped[str]
    until: Mapped[datetime | None]
    nodes: Mapped[int]
    gpus: Mapped[int]  # in 1/1000
