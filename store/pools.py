"""Pools: whose turn it is to decide, what has happened since the last decision, and the transaction that carries one
out. They are the installation's: every tenant's gangs are in them."""

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from store import settling
from store.errors import Fenced
from store.tables_scheduling import PoolChangeRow, PoolRow, QueuePastRow, SchedulingDocumentRow
from store.upsert import insert_missing
from store.verdicts import Committed, Verdict


def take(session: Session, pool: str) -> int:
    """Begin to decide for a pool, which is made if it is missing: a token that outdates all that were taken before.

    Commit it before reading what to decide from, so that who held the token before can write nothing any more then.
    """
    if insert_missing(session, PoolRow, [{"name": pool, "token": 0, "decision": 0, "decided_at": None}], ("name",)):
        # Who is changing documents has not seen this pool, so there will be no news of that: wait for the change.
        session.execute(select(SchedulingDocumentRow.kind).limit(1).with_for_update(read=True))
    row = _locked(session, pool)
    assert row is not None
    row.token += 1
    session.flush()
    return row.token


def get(session: Session, pool: str) -> PoolRow | None:
    return session.get(PoolRow, pool)


def every(session: Session) -> list[PoolRow]:
    """All pools that anybody decided for, by name."""
    return list(session.scalars(select(PoolRow).order_by(PoolRow.name)))


def past(session: Session, pool: str) -> list[QueuePastRow]:
    """What queues used in a pool in the past, as the last decisions left it."""
    query = select(QueuePastRow).where(QueuePastRow.pool == pool)
    return list(session.scalars(query.order_by(QueuePastRow.queue, QueuePastRow.resource)))


def note(session: Session, pool: str, kind: str, job: str | None = None) -> None:
    """Say that something changed ("gang", "nodes", "documents", "use"). The pool need not exist yet. Safe to repeat."""
    session.add(PoolChangeRow(pool=pool, kind=kind, job=job))
    session.flush()


def note_all(session: Session, kind: str) -> None:
    """`note` for every pool that anybody decided for. Others read everything when they are decided for first."""
    session.add_all(PoolChangeRow(pool=name, kind=kind, job=None) for name in session.scalars(_NAMES))
    session.flush()


def waiting_pools(session: Session) -> dict[str, int]:
    """Pools with changes that no decision has seen -> the highest number among them.

    From pool to pool by the index, since it is asked many times a second, also while 100,000 changes wait.
    """
    found: dict[str, int] = {}
    name = select(func.min(PoolChangeRow.pool))
    pool = session.scalar(name)
    while pool is not None:
        found[pool] = session.scalar(select(func.max(PoolChangeRow.seq)).where(PoolChangeRow.pool == pool)) or 0
        pool = session.scalar(name.where(PoolChangeRow.pool > pool))
    return found


def changes(session: Session, pool: str, limit: int = 10_000) -> list[PoolChangeRow]:
    """Changes that no decision has seen, by number. A lower number may still come after a higher one was read."""
    query = select(PoolChangeRow).where(PoolChangeRow.pool == pool).order_by(PoolChangeRow.seq)
    return list(session.scalars(query.limit(limit)))


def commit(session: Session, pool: str, token: int, decided: int, verdict: Verdict, now: datetime) -> Committed:
    """Carry out a verdict: all that it says of gangs that are as it saw them, with the messages to their jobs.

    `decided`: number of the pool's last decision when it was made. A start needs its gang to wait at that version and
    all limits to hold; otherwise it is dropped and takes nothing. A verdict that says nothing of a gang is no decision.
    Raises Fenced, with nothing written, when `token` or `decided` is not the pool's any more: so a repeat is refused.
    """
    row = _locked(session, pool)
    if row is None or row.token != token:
        raise Fenced(pool, f"token {token} was overtaken by {row.token if row else 'nobody, the pool is gone'}")
    if row.decision != decided:
        raise Fenced(pool, f"decision {decided} was its last, now that is {row.decision}")
    settling.see(session, pool, verdict, now)
    if not verdict.decides:
        return Committed(decided)
    row.decision, row.decided_at = decided + 1, now
    session.flush()
    return settling.settle(session, row, verdict, now)


_NAMES = select(PoolRow.name).order_by(PoolRow.name)


def _locked(session: Session, pool: str) -> PoolRow | None:
    return session.get(PoolRow, pool, with_for_update=True, populate_existing=True)
