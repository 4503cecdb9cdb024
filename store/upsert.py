"""Statements that both databases understand, and that say how many rows they changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from types import ModuleType
from typing import Any, TypeVar, cast

from sqlalchemy import CursorResult, Delete, Executable, Table, Update, delete, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

from store.base import Base

T = TypeVar("T")

AT_ONCE = 5_000  # values in one statement; SQLite takes 32,766, PostgreSQL 65,535


def insert_missing(session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]], key: Sequence[str]) -> int:
    """Insert rows whose `key` columns are not there yet, and return how many were.

    A row with that key inserted by a transaction still under way is waited for, so exactly one of many racers inserts.
    """
    if not rows:
        return 0
    statement = _dialect(session).insert(cast(Table, table.__table__)).on_conflict_do_nothing(index_elements=list(key))
    options = {"preserve_rowcount": True}  # not kept for inserts otherwise
    inserted = 0
    for row in rows:
        inserted += cast(CursorResult[Any], session.execute(statement, dict(row), execution_options=options)).rowcount
    return inserted


def insert_missing_many(
    session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]], key: Sequence[str]
) -> None:
    """`insert_missing` in one go, where nobody asks how many there were."""
    if rows:
        statement = _dialect(session).insert(cast(Table, table.__table__))
        run_each(session, statement.on_conflict_do_nothing(index_elements=list(key)), rows)


def insert_or_replace(
    session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]], key: Sequence[str], written: Sequence[str]
) -> None:
    """Insert rows; where the key is there already, overwrite the columns `written`. One writer at a time."""
    if rows:
        insert = _dialect(session).insert(cast(Table, table.__table__))
        over = {name: insert.excluded[name] for name in written}
        run_each(session, insert.on_conflict_do_update(index_elements=list(key), set_=over), rows)


def insert_or_newer(
    session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]], key: Sequence[str], written: Sequence[str]
) -> None:
    """Insert rows; where the key is there already, overwrite the columns `written` if the first of them grows by it.

    So the newest row stands, in whatever order and however often they come. Columns not in `written` stay.
    """
    if not rows:
        return
    insert = _dialect(session).insert(cast(Table, table.__table__))
    age = written[0]
    statement = insert.on_conflict_do_update(
        index_elements=list(key),
        set_={name: insert.excluded[name] for name in written},
        where=table.__table__.c[age] < insert.excluded[age],
    )
    session.execute(statement, [dict(row) for row in rows])


def changed(session: Session, statement: Update | Delete) -> int:
    """Run an update or a delete and return how many rows it met. Rows loaded before are not refreshed."""
    result = session.execute(statement, execution_options={"synchronize_session": False})
    return cast(CursorResult[Any], result).rowcount


def delete_oldest(
    session: Session, table: type[Base], at: InstrumentedAttribute[Any], before: datetime, limit: int
) -> int:
    """Delete rows of which the time `at` is before then, at most so many, the oldest first; how many there were."""
    key = [table.__table__.c[column.name] for column in table.__table__.primary_key]
    oldest = select(*key).where(at < before).order_by(at).limit(limit)
    return changed(session, delete(table).where(tuple_(*key).in_(oldest)))


def run_each(session: Session, statement: Executable, rows: Iterable[Mapping[str, Any]]) -> None:
    """Run one statement on a table with the values of each row, in their order, thousands handed over together."""
    left = iter(rows)
    while some := [dict(row) for row in islice(left, AT_ONCE)]:
        session.execute(statement, some)


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Items in parts that one statement can name."""
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]


def _dialect(session: Session) -> ModuleType:
    """Where the `insert` with ON CONFLICT of this session's database is."""
    return postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
