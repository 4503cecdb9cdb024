"""Decisions as they were made, for people who ask later. Written by `pools.commit` only."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from store.paging import Page, cursor, cut, read_number
from store.tables_scheduling import DecisionRow
from store.upsert import delete_oldest


def get(session: Session, pool: str, number: int) -> DecisionRow | None:
    return session.get(DecisionRow, (pool, number))


def page(session: Session, pool: str, limit: int, after: str | None = None) -> Page[DecisionRow]:
    """Decisions of a pool, newest first, at most `limit`. `after`: cursor of the page before; raises BadCursor."""
    query = select(DecisionRow).where(DecisionRow.pool == pool)
    if after is not None:
        query = query.where(DecisionRow.number < read_number(after))
    rows = session.scalars(query.order_by(DecisionRow.number.desc()).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.number))


def forget(session: Session, before: datetime, limit: int) -> int:
    """Remove decisions made before then, at most so many; returns how many."""
    return delete_oldest(session, DecisionRow, DecisionRow.at, before, limit)
