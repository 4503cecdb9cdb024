"""What a scheduler reads of a pool, over all tenants, in few statements and light rows: a pool may have 100,000 gangs.

Reads of one round go in this order: changes first, then rows. What is written in between is then seen twice, never
missed.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from definitions.ids import pool_workflow_id
from definitions.states import Phase
from store.base import Document
from store.tables_clusters import ClusterRow, NodeRow
from store.tables_jobs import AttemptRow, CheckpointRow, JobRow
from store.tables_reservations import BookingRow, ReservationRow
from store.tables_scheduling import DecisionRow, GangRow, OutboxRow
from store.upsert import chunks

WITH_PODS = tuple(phase for phase in Phase if phase.has_attempt)
ENDED = "ended"  # the phase of a window that is over
DISPLACED = "displaced"  # how keys of such messages begin


class Gang(NamedTuple):
    """A gang's row, as far as deciding needs it."""

    job: str
    queue: str
    attempt: int
    version: int
    priority: int
    priority_class: str | None
    limit_seconds: int | None
    shape: str
    asked_at: datetime
    state: str
    pods: list[Document] | None = None
    amounts: Document | None = None
    placed_at: datetime | None = None
    position: int | None = None
    cause: str | None = None
    refusal: Document | None = None
    reason: str | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    firm: bool | None = None
    leaves_for: str | None = None
    reservation: str | None = None
    next_pods: list[Document] | None = None


class BookedWindow(NamedTuple):
    """A window that is not over, as far as deciding needs it."""

    reservation: str
    made_at: datetime
    number: int
    version: int
    terms: Document
    cancelled_at: datetime | None = None
    vacated_at: datetime | None = None
    nodes: list[str] | None = None
    short: Document | None = None


class Windows(NamedTuple):
    """Windows of a pool that are not over, by start and name. `coming`: reservations that may still have one."""

    booked: list[BookedWindow]
    coming: frozenset[str]


class Stray(NamedTuple):
    """A job whose attempt has pods and that has no gang: it was accepted before there were queues.

    `nodes`: where its pods are, one for each rank, as far as they have been seen.
    """

    job: str
    attempt: int
    spec: Document
    started_at: datetime | None
    nodes: tuple[str, ...]


class Mark(NamedTuple):
    """What differs whenever a node of a cluster has joined, left or changed."""

    nodes: int
    last: datetime


_COLUMNS = [getattr(GangRow, name) for name in Gang._fields]


def gangs(session: Session, pool: str, jobs: Iterable[str] | None = None) -> list[Gang]:
    """Gangs of a pool, by job: all, or those of these jobs that are there."""
    mine = select(*_COLUMNS).where(GangRow.pool == pool).order_by(GangRow.job)
    if jobs is None:
        return [Gang._make(row) for row in session.execute(mine)]
    parts = (mine.where(GangRow.job.in_(part)) for part in chunks(sorted(set(jobs))))
    return [Gang._make(row) for part in parts for row in session.execute(part)]


def windows(session: Session, pool: str) -> Windows:
    columns = [getattr(BookingRow, name) for name in BookedWindow._fields]
    query = select(*columns).where(BookingRow.pool == pool, BookingRow.phase != ENDED)
    ordered = query.order_by(BookingRow.begins_at, BookingRow.reservation, BookingRow.made_at, BookingRow.number)
    lives = select(ReservationRow.name).where(ReservationRow.pool == pool, ReservationRow.ended_at.is_(None))
    coming = frozenset(session.scalars(lives.where(ReservationRow.removed_at.is_(None))))
    return Windows([BookedWindow._make(row) for row in session.execute(ordered)], coming)


def marks(session: Session) -> dict[str, Mark]:
    """By cluster."""
    query = select(NodeRow.cluster, func.count(), func.max(NodeRow.seen_at)).group_by(NodeRow.cluster)
    return {cluster: Mark(count, last) for cluster, count, last in session.execute(query)}


def nodes(session: Session, clusters: Iterable[str]) -> dict[str, list[Document]]:
    """Nodes of these clusters as they were seen last (NodeView), by name."""
    found: dict[str, list[Document]] = {cluster: [] for cluster in clusters}
    query = select(NodeRow.cluster, NodeRow.view).where(NodeRow.cluster.in_(sorted(found)))
    for cluster, view in session.execute(query.order_by(NodeRow.cluster, NodeRow.name)):
        found[cluster].append(view)
    return found


def cluster(session: Session, name: str) -> Document | None:
    """The document of a cluster; None for this machine."""
    return session.scalar(select(ClusterRow.document).where(ClusterRow.name == name))


def strays(session: Session, pool: str) -> list[Stray]:
    """Jobs of a cluster with pods and without a gang, by id. An array has no attempt: its pods are its jobs'."""
    with_gang = select(GangRow.job).where(GangRow.job == JobRow.id).exists()
    present = and_(AttemptRow.job == JobRow.id, AttemptRow.number == JobRow.attempt)
    query = (
        select(JobRow.id, JobRow.attempt, JobRow.spec, JobRow.started_at, AttemptRow.started_at, AttemptRow.ranks)
        .outerjoin(AttemptRow, present)
        .where(JobRow.cluster == pool, JobRow.phase.in_(WITH_PODS), JobRow.ended_at.is_(None))
        .where(JobRow.deleted_at.is_(None), JobRow.attempt > 0, ~with_gang)
    )
    return [
        Stray(job, attempt, spec, started or first, tuple(rank.get("node") or "" for rank in ranks or ()))
        for job, attempt, spec, first, started, ranks in session.execute(query.order_by(JobRow.id))
    ]


def saves(session: Session, pool: str) -> dict[str, datetime]:
    """Job -> when the newest verified checkpoint was made of those that hold places."""
    good = (CheckpointRow.complete, CheckpointRow.deleted_at.is_(None), CheckpointRow.saved_at.is_not(None))
    query = (
        select(CheckpointRow.job, func.max(CheckpointRow.saved_at))
        .join(GangRow, GangRow.job == CheckpointRow.job)
        .where(GangRow.pool == pool, GangRow.pods.is_not(None), *good)
    )
    return {job: at for job, at in session.execute(query.group_by(CheckpointRow.job)) if at is not None}


def displaced(session: Session, pool: str, since: datetime) -> Iterator[tuple[Document, datetime]]:
    """What decisions since then said of gangs that had to leave, oldest first, as their documents have it."""
    said = select(OutboxRow.key).where(OutboxRow.topic == pool_workflow_id(pool), OutboxRow.created_at >= since)
    keys = [key for key in session.scalars(said) if key.startswith(f"{DISPLACED}/")]
    for part in chunks(sorted({int(key.rpartition("/")[2]) for key in keys})):
        mine = (DecisionRow.pool == pool, DecisionRow.number.in_(part))
        for row in session.scalars(select(DecisionRow).where(*mine).order_by(DecisionRow.number)):
            for one in row.document.get("told", ()):
                yield one, row.at
