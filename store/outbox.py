"""Messages that are written with what they tell of, and delivered afterwards, at least once."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from store.base import Document
from store.tables_scheduling import OutboxRow
from store.upsert import changed, chunks, delete_oldest, insert_missing, insert_missing_many


def add(session: Session, key: str, topic: str, target: str, body: Document, now: datetime) -> bool:
    """Write a message for workflow `target`. False when one with this key was written before: that one stands."""
    return insert_missing(session, OutboxRow, [message(key, topic, target, body, now)], ("key",)) == 1


def message(key: str, topic: str, target: str, body: Document, now: datetime) -> dict[str, Any]:
    """A row for `add_all`."""
    return {"key": key, "topic": topic, "target": target, "body": body, "created_at": now, "delivered_at": None}


def add_all(session: Session, messages: Sequence[Mapping[str, Any]]) -> None:
    """`add` for many at once."""
    insert_missing_many(session, OutboxRow, messages, ("key",))


def waiting(session: Session, topic: str, limit: int) -> list[OutboxRow]:
    """Messages of a topic that are not known to be delivered, oldest first.

    Of one instant "placed" comes before "displaced", as a job must hear them.
    """
    mine = (OutboxRow.topic == topic, OutboxRow.delivered_at.is_(None))
    query = select(OutboxRow).where(*mine).order_by(OutboxRow.created_at, OutboxRow.key.desc())
    return list(session.scalars(query.limit(limit)))


def delivered(session: Session, keys: Iterable[str], now: datetime) -> int:
    """Note that messages have arrived; for how many that was news. Safe to repeat: the first time stands."""
    told = 0
    for some in chunks(sorted(keys)):
        mine = (OutboxRow.key.in_(some), OutboxRow.delivered_at.is_(None))
        told += changed(session, update(OutboxRow).where(*mine).values(delivered_at=now))
    return told


def topics(session: Session, older_than: datetime) -> list[str]:
    """Topics with a message from before then that is not known to be delivered, in order."""
    late = (OutboxRow.delivered_at.is_(None), OutboxRow.created_at < older_than)
    return list(session.scalars(select(OutboxRow.topic).where(*late).distinct().order_by(OutboxRow.topic)))


def forget(session: Session, before: datetime, limit: int) -> int:
    """Remove messages that were delivered before then, at most so many; how many. One that was not is kept until it
    is."""
    return delete_oldest(session, OutboxRow, OutboxRow.delivered_at, before, limit)
