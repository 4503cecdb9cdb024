"""The clock of everything that is no workflow; whoever needs another one is given it."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)
