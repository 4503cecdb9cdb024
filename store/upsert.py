"""Inserts that both databases understand and that a repeat does not break."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from store.base import Base


def insert_missing(session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]], key: Sequence[str]) -> int:
    """Insert rows whose `key` columns are not there yet, and return how many were.

    A row with that key inserted by a transaction still under way is waited for, so exactly one of many racers inserts.
    """
    if not rows:
        return 0
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    statement = dialect.insert(cast(Table, table.__table__)).on_conflict_do_nothing(index_elements=list(key))
    inserted = 0
    for row in rows:
        result = cast(CursorResult[Any], session.execute(statement, dict(row)))
        inserted += result.rowcount
    return inserted
