"""What decisions write of windows: the nodes that they keep, and what jobs use of them. Called where gangs get places
and give them back, in the same transaction."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from store.tables_reservations import BookingRow, ReservedUseRow
from store.tables_scheduling import GangRow
from store.upsert import changed, insert_missing_many
from store.verdicts import InWindow, Kept, Window

BY = "perdure"  # who chooses the nodes of windows


def keep(session: Session, kept: Iterable[Kept], now: datetime) -> frozenset[Window]:
    """Write which nodes windows have, where they are as the decision saw them; returns those that were. For another
    one there is a change, and the next decision. In order of their keys, so that no two writers wait in a circle."""
    written = []
    for one in sorted(kept, key=lambda one: one.window):
        key = zip((BookingRow.reservation, BookingRow.made_at, BookingRow.number), one.window, strict=True)
        seen = [*(column == value for column, value in key), BookingRow.version == one.version]
        nodes = None if one.nodes is None else list(one.nodes)
        values: dict[str, Any] = dict(nodes=nodes, short=one.short, version=one.version + 1)
        values |= dict(updated_at=now, updated_by=BY)
        if changed(session, update(BookingRow).where(*seen).values(**values)):
            written.append(one.window)
    return frozenset(written)


class Holder(NamedTuple):
    """A job of a reservation that holds places. `until`: when it will have ended by itself; None: that is not known."""

    job: str
    since: datetime
    until: datetime | None


def holders(session: Session, pool: str, reservation: str) -> list[Holder]:
    """Jobs of all tenants that name a reservation and hold places of a pool now, by job."""
    there = (GangRow.reservation == reservation, GangRow.pool == pool, GangRow.pods.is_not(None))
    query = select(GangRow.job, GangRow.placed_at, GangRow.limit_seconds).where(*there)
    found = []
    for job, since, limit in session.execute(query.order_by(GangRow.job)):
        assert since is not None, "who holds places got them at some time"
        until = None if limit is None else since + timedelta(seconds=limit)
        found.append(Holder(job, since, until))
    return found


def begin_uses(session: Session, uses: Sequence[tuple[str, str, InWindow]], now: datetime) -> None:
    """Note that jobs use windows from now on: job, tenant, and how much. Safe to repeat."""
    rows = [
        dict(
            reservation=use.reservation, made_at=use.made_at, job=job, tenant=tenant, since=now, until=None,
            nodes=use.nodes, gpus=use.gpus,
        )
        for job, tenant, use in uses
    ]  # fmt: skip
    insert_missing_many(session, ReservedUseRow, rows, ("reservation", "made_at", "job", "since"))


def end_uses(session: Session, job: str, now: datetime) -> None:
    """Note that a job has given its places back. Safe to repeat: what has ended stays as it is."""
    still = (ReservedUseRow.job == job, ReservedUseRow.until.is_(None))
    changed(session, update(ReservedUseRow).where(*still).values(until=now))
