"""Paging by key: a cursor names the last row that was seen, so rows that come or go meanwhile move no page."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Tuple, literal, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from store.errors import BadCursor
from store.types import EPOCH, MICROSECOND

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some rows, and the cursor of what follows: None on the last page."""

    items: list[T]
    next: str | None = None

    def map(self, change: Callable[[T], U]) -> "Page[U]":
        return Page([change(item) for item in self.items], self.next)


def cut(rows: Sequence[T], limit: int, cursor_of: Callable[[T], str]) -> Page[T]:
    """A page from a query that asked for limit + 1 rows: the one too many only says that there is more."""
    items = list(rows[:limit])
    return Page(items, cursor_of(items[-1]) if len(rows) > limit else None)


def cursor(*values: str | int | datetime) -> str:
    """Spell the key of a row. Readable by whoever looks: it hides nothing and grants nothing."""
    plain = [_microseconds(value) if isinstance(value, datetime) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps(plain, separators=(",", ":")).encode()).decode().rstrip("=")


def typed(columns: Sequence[ColumnElement[Any] | InstrumentedAttribute[Any]], values: Sequence[Any]) -> Tuple:
    """Values to compare with `tuple_(*columns)`, each stored as its column stores it."""
    return tuple_(*(literal(value, column.type) for column, value in zip(columns, values, strict=True)))


def read_time_and_id(text: str) -> tuple[datetime, str]:
    """The key (time, id) that `cursor` spelled. Raises BadCursor for anything else."""
    match _read(text):
        case [int(microseconds), str(name)] if 0 <= microseconds < 2**56:
            return EPOCH + timedelta(microseconds=microseconds), name
    raise BadCursor


def read_name_and_number(text: str) -> tuple[str, int]:
    """The key (name, number) that `cursor` spelled. Raises BadCursor for anything else."""
    match _read(text):
        case [str(name), int(number)] if 0 <= number < 2**63:
            return name, number
    raise BadCursor


def read_place(text: str) -> tuple[int, str]:
    """The key (position, id) that `cursor` spelled. Raises BadCursor for anything else."""
    match _read(text):
        case [int(position), str(name)] if 0 <= position < 2**63:
            return position, name
    raise BadCursor


def read_cluster_and_node(text: str) -> tuple[str, str]:
    """The key (cluster, node) that `cursor` spelled. Raises BadCursor for anything else."""
    match _read(text):
        case [str(cluster), str(node)]:
            return cluster, node
    raise BadCursor


def read_name(text: str) -> str:
    """The key (name) that `cursor` spelled. Raises BadCursor for anything else."""
    match _read(text):
        case [str(name)]:
            return name
    raise BadCursor


def read_number(text: str) -> int:
    """The key (number) that `cursor` spelled. Raises BadCursor for anything else."""
    match _read(text):
        case [int(number)] if 0 <= number < 2**63:
            return number
    raise BadCursor


def _read(text: str) -> Any:
    try:
        return json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise BadCursor from None


def _microseconds(value: datetime) -> int:
    return (value - EPOCH) // MICROSECOND
