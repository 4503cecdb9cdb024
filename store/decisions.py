"""Decisions as they were made, for people who ask later. Written by `pools.commit` only."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from store.paging import Page, cursor, cut, read_number
from store.tables_scheduling import DecisionRow
from store.upsert import changed


def get(session: Session, pool: str, number: int) -> DecisionRow | None:
    return session.get(DecisionRow, (pool, number))


def page(session: Session, pool: str, limit: int, after: str | None = None) -> Page[DecisionRow]:
    """Decisions of a pool, newest first, at most `limit`. `after`: cursor of the page before; raises BadCursor."""
    query = select(DecisionRow).where(DecisionRow.pool == pool)
    if after is not None:
        query = query.where(DecisionRow.number < read_number(after))
    rows = session.scalars(query.order_by(DecisionRow.number.desc()).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.number))


def forget(session: Session, before: datetime) -> int:
    """Remove decisions made before then; returns how many."""
    return changed(session, delete(DecisionRow).where(DecisionRow.at < before))
