"""What jobs of all tenants hold and ask for, without whose they are: what everybody may know of the installation."""

from dataclasses import dataclass

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from definitions.states import Phase
from store.base import Document
from store.tables_clusters import NodeRow
from store.tables_jobs import AttemptRow, JobRow
from store.tables_scheduling import GangRow

WITH_PODS = tuple(phase for phase in Phase if phase.has_attempt)


@dataclass(frozen=True, slots=True)
class GangAmounts:
    """A gang. `shape`: canonical JSON of what its pods ask for; `pods`: its places, where it has some."""

    pool: str
    queue: str
    state: str
    shape: str
    pods: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class LooseJob:
    """A job that runs without the scheduler's places. `nodes`: where its ranks were seen, in order of rank."""

    pool: str
    spec: Document
    nodes: tuple[str, ...]


def gangs(session: Session) -> list[GangAmounts]:
    """Every gang of every pool, in an order that tells nothing of them."""
    query = select(GangRow.pool, GangRow.queue, GangRow.state, GangRow.shape, GangRow.pods)
    found = session.execute(query.order_by(GangRow.pool, GangRow.queue, GangRow.shape))
    return [GangAmounts(pool, queue, state, shape, tuple(pods or ())) for pool, queue, state, shape, pods in found]


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
