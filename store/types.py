"""Column types that keep the project's promises on both databases: aware UTC, words for enums, text that can be stored.

What a job writes can hold bytes and numbers that no database takes (NUL, lone surrogates, NaN). They are replaced on
the way in, here and nowhere else, so that no log line of a user can make a write fail.
"""

import math
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

E = TypeVar("E", bound=StrEnum)

# Lists are in the same order on both databases, whatever the locale of the server is.
TEXT = Text().with_variant(Text(collation="C"), "postgresql")


class Utc(TypeDecorator[datetime]):
    """A point in time: microseconds since 1970 in SQLite, `timestamptz` in PostgreSQL. Always aware, always UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Integer() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} has no time zone; times in the store are aware")
        return (value - EPOCH) // MICROSECOND if dialect.name == "sqlite" else value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        when: datetime = EPOCH + value * MICROSECOND if dialect.name == "sqlite" else value
        return when.astimezone(UTC)


class CleanText(TypeDecorator[str]):
    """Text of any length, ordered by code point. NUL and lone surrogates become the replacement character."""

    impl = TEXT
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean_text(value)


class Words(TypeDecorator[E]):
    """A StrEnum, stored as its word."""

    impl = TEXT
    cache_ok = True

    def __init__(self, kind: type[E]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: E | str | None, dialect: Dialect) -> str | None:
        return None if value is None else self.kind(value).value

    def process_result_value(self, value: Any, dialect: Dialect) -> E | None:
        return None if value is None else self.kind(value)


class CleanJson(TypeDecorator[Any]):
    """A JSON value, kept as it was written, order of keys included. NaN and infinities become "NaN", "Infinity"."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return clean_json(value)


Whole = BigInteger().with_variant(Integer(), "sqlite")  # SQLite numbers rows by itself only in an INTEGER column


def clean_text(value: str) -> str:
    """`value` with every character that UTF-8 or PostgreSQL cannot hold replaced."""
    if "\0" in value:
        value = value.replace("\0", REPLACEMENT)
    if value.isascii():
        return value
    return "".join(REPLACEMENT if "\ud800" <= letter <= "\udfff" else letter for letter in value)


def clean_json(value: Any) -> Any:
    """`value` with texts cleaned, tuples as lists, and numbers that JSON lacks as words, which float() reads back."""
    match value:
        case str():
            return clean_text(value)
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        case dict():
            return {clean_text(key): clean_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [clean_json(inner) for inner in value]
        case _:
            return value
