"""Documents of the scheduler: queues, flavors, priority classes, topologies, node pools. They are the installation's.

Whoever changes one checks all of them together before, so changes stand in line (`lock`); whoever accepts a job on the
word of a document keeps it from changing until the job is written (`hold`).
"""

from datetime import datetime

from sqlalchemy import JSON, delete, func, select, text, type_coerce
from sqlalchemy.orm import Session

from store import pools
from store.base import Document
from store.paging import Page, cursor, cut, read_name
from store.tables_jobs import JobRow
from store.tables_scheduling import SchedulingDocumentRow
from store.upsert import changed

NEWS = "documents"  # what pools are told of a change


def lock(session: Session) -> None:
    """Let nobody else change documents, or accept jobs on their word, before this transaction ends; reading goes on.

    On SQLite the write transaction itself is that lock.
    """
    _lock(session, "EXCLUSIVE")


def hold(session: Session) -> None:
    """Let nobody change documents before this transaction ends. Any number of transactions hold at once."""
    _lock(session, "ROW SHARE")


def every(session: Session) -> list[Document]:
    """All documents as they were applied last, by kind and name."""
    key = (SchedulingDocumentRow.kind, SchedulingDocumentRow.name)
    return list(session.scalars(select(SchedulingDocumentRow.document).order_by(*key)))


def held(session: Session) -> list[Document]:
    """`every` for whoever accepts a job on their word: they stay as they are until the job is written.

    Without any the job starts at once, which the first queue that is applied at this moment changes nothing about.
    """
    if not every(session):
        return []
    hold(session)
    return every(session)


def get(session: Session, kind: str, name: str) -> SchedulingDocumentRow | None:
    return session.get(SchedulingDocumentRow, (kind, name))


def page(session: Session, kind: str, *, limit: int, after: str | None = None) -> Page[SchedulingDocumentRow]:
    """Documents of a kind by name, at most `limit`. `after` is the cursor of the page before; raises BadCursor."""
    query = select(SchedulingDocumentRow).where(SchedulingDocumentRow.kind == kind)
    if after is not None:
        query = query.where(SchedulingDocumentRow.name > read_name(after))
    rows = session.scalars(query.order_by(SchedulingDocumentRow.name).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.name))


def jobs_with(session: Session, *, queue: str | None = None, priority_class: str | None = None) -> int:
    """Jobs of all tenants that have not ended and whose ticket names this queue, or this class.

    Also those that neither wait nor hold places now, as suspended ones: they come back with the same ticket.
    """
    ticket = type_coerce(JobRow.submission, JSON)["ticket"]
    query = select(func.count()).select_from(JobRow).where(JobRow.ended_at.is_(None), JobRow.deleted_at.is_(None))
    for field, name in (("queue", queue), ("priority_class", priority_class)):
        if name is not None:
            query = query.where(ticket[field].as_string() == name)
    return session.scalar(query) or 0


def put(session: Session, kind: str, name: str, document: Document, actor: str, now: datetime) -> SchedulingDocumentRow:
    """Store a document, whether or not there is one of that name; the caller holds `lock`.

    The same one changes nothing, so it is safe to repeat; another one is a new generation that every pool is told of.
    """
    row = get(session, kind, name)
    if row is None:
        who = {"created_at": now, "created_by": actor, "updated_at": now, "updated_by": actor}
        row = SchedulingDocumentRow(kind=kind, name=name, document=document, generation=1, **who)
        session.add(row)
    elif row.document == document:
        return row
    else:
        row.document, row.updated_by, row.updated_at = document, actor, now
        row.generation += 1
    session.flush()
    pools.note_all(session, NEWS)
    return row


def remove(session: Session, kind: str, name: str) -> bool:
    """Forget a document; the caller holds `lock` and has seen that nothing names it. Safe to repeat."""
    mine = (SchedulingDocumentRow.kind == kind, SchedulingDocumentRow.name == name)
    if not changed(session, delete(SchedulingDocumentRow).where(*mine)):
        return False
    pools.note_all(session, NEWS)
    return True


def _lock(session: Session, mode: str) -> None:
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"LOCK TABLE {SchedulingDocumentRow.__tablename__} IN {mode} MODE"))
