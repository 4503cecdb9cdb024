"""What jobs of all tenants hold and ask for, without whose they are: what everybody may know of the installation."""

from dataclasses import dataclass

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from definitions.states import Phase
from store.base import Document
from store.gangs import WAITING
from store.tables_clusters import NodeRow
from store.tables_jobs import AttemptRow, JobRow
from store.tables_scheduling import GangRow

WITH_PODS = tuple(phase for phase in Phase if phase.has_attempt)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Gangs that wait in one queue and ask for the same. `shape`: canonical JSON of what the pods of each ask for."""

    pool: str
    queue: str
    shape: str
    count: int


@dataclass(frozen=True, slots=True)
class Holding:
    """A gang with places, those of the size that it makes way for among them. `pods`: of PlacedPod."""

    pool: str
    shape: str
    pods: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class LooseJob:
    """A job that runs without the scheduler's places. `nodes`: where its ranks were seen, in order of rank."""

    pool: str
    spec: Document
    nodes: tuple[str, ...]


def waiting(session: Session) -> list[Waiting]:
    """All that is waited for, by pool, queue and shape."""
    key = (GangRow.pool, GangRow.queue, GangRow.shape)
    query = select(*key, func.count()).where(GangRow.state == WAITING).group_by(*key).order_by(*key)
    return [Waiting(pool, queue, shape, count) for pool, queue, shape, count in session.execute(query)]


def holding(session: Session) -> list[Holding]:
    """All that is held, in an order that tells nothing of whose it is."""
    query = select(GangRow.pool, GangRow.shape, GangRow.pods, GangRow.next_pods).where(GangRow.pods.is_not(None))
    found = session.execute(query.order_by(GangRow.pool, GangRow.shape))
    return [Holding(pool, shape, _larger(now or [], then or [])) for pool, shape, now, then in found]


def loose_jobs(session: Session) -> list[LooseJob]:
    """Jobs whose attempt has processes, and that have no gang: they were accepted before there were queues."""
    with_gang = select(GangRow.job).where(GangRow.job == JobRow.id).exists()
    present = and_(AttemptRow.job == JobRow.id, AttemptRow.number == JobRow.attempt)
    query = select(JobRow.cluster, JobRow.spec, AttemptRow.ranks).join(AttemptRow, present)
    query = query.where(JobRow.phase.in_(WITH_PODS), JobRow.ended_at.is_(None), JobRow.deleted_at.is_(None), ~with_gang)
    return [
        LooseJob(pool, spec, tuple(rank.get("node") or "" for rank in ranks or ()))
        for pool, spec, ranks in session.execute(query)
    ]


def nodes(session: Session) -> list[Document]:
    """Nodes of all clusters as they were seen last (NodeView), by cluster and name."""
    return list(session.scalars(select(NodeRow.view).order_by(NodeRow.cluster, NodeRow.name)))


def _larger(pods: list[Document], other: list[Document]) -> tuple[Document, ...]:
    """Of two lists of which one is a part of the other."""
    return tuple(pods if len(pods) >= len(other) else other)
