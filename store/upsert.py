"""Statements that both databases understand, and that say how many rows they changed."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, Delete, Table, Update
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
    options = {"preserve_rowcount": True}  # not kept for inserts otherwise
    inserted = 0
    for row in rows:
        inserted += cast(CursorResult[Any], session.execute(statement, dict(row), execution_options=options)).rowcount
    return inserted


def changed(session: Session, statement: Update | Delete) -> int:
    """Run an update or a delete and return how many rows it met. Rows loaded before are not refreshed."""
    result = session.execute(statement, execution_options={"synchronize_session": False})
    return cast(CursorResult[Any], result).rowcount
