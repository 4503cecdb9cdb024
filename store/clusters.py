"""Clusters and nodes as people and workers see them. They are the installation's: every tenant may read them all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select, tuple_, update
from sqlalchemy.orm import Session

from definitions.cluster import NodeView
from store import pools
from store.base import Document
from store.paging import Page, cursor, cut, read_cluster_and_node, read_name, typed
from store.tables_clusters import ClusterRow, NodeRow
from store.tables_jobs import JobRow
from store.upsert import changed, insert_missing, insert_or_replace


@dataclass(frozen=True)
class JobsThere:
    """Jobs of all tenants on a cluster: those that have not ended, and ended ones whose remains are still kept."""

    active: int
    kept: int


def create(session: Session, name: str, document: Document, actor: str, now: datetime) -> ClusterRow | None:
    """Add a cluster; None when the name is taken (of many racers one gets it)."""
    row = {"name": name, "document": document, "generation": 1, "worker_seen_at": None, "report": None}
    who = {"created_at": now, "created_by": actor, "updated_at": now, "updated_by": actor}
    if not insert_missing(session, ClusterRow, [row | who], ("name",)):
        return None
    return session.get_one(ClusterRow, name, populate_existing=True)


def replace(session: Session, row: ClusterRow, document: Document, actor: str, now: datetime) -> None:
    """Give a locked cluster another document. The same one changes nothing."""
    if row.document == document:
        return
    row.document, row.updated_by, row.updated_at = document, actor, now
    row.generation += 1


def get(session: Session, name: str, *, lock: bool = False) -> ClusterRow | None:
    return session.get(ClusterRow, name, with_for_update=lock or None)


def hold(session: Session, name: str) -> ClusterRow | None:
    """The cluster, which nobody can remove before this transaction ends; its worker may go on writing to it."""
    row = select(ClusterRow).where(ClusterRow.name == name).with_for_update(read=True, key_share=True)
    return session.scalar(row)


def names(session: Session) -> list[str]:
    return list(session.scalars(select(ClusterRow.name).order_by(ClusterRow.name)))


def page(session: Session, *, limit: int, after: str | None = None) -> Page[ClusterRow]:
    """Clusters by name, at most `limit`. `after` is the cursor of the page before; raises BadCursor."""
    query = select(ClusterRow)
    if after is not None:
        query = query.where(ClusterRow.name > read_name(after))
    rows = session.scalars(query.order_by(ClusterRow.name).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.name))


def remove(session: Session, name: str) -> bool:
    """Forget a cluster and its nodes; nothing happens on the cluster itself. Safe to repeat."""
    session.execute(delete(NodeRow).where(NodeRow.cluster == name))
    return changed(session, delete(ClusterRow).where(ClusterRow.name == name)) == 1


def jobs_there(session: Session, name: str) -> JobsThere:
    """How many jobs keep the cluster from being removed, and how many have left something there."""
    mine = select(func.count()).select_from(JobRow).where(JobRow.cluster == name)
    active = session.scalar(mine.where(JobRow.ended_at.is_(None), JobRow.deleted_at.is_(None)))
    kept = session.scalar(mine.where(JobRow.ended_at.is_not(None), JobRow.purged_at.is_(None)))
    return JobsThere(active or 0, kept or 0)


def note_worker(session: Session, name: str, now: datetime) -> ClusterRow | None:
    """Say that the cluster's worker is there. None when there is no such cluster (any more)."""
    changed(session, update(ClusterRow).where(ClusterRow.name == name).values(worker_seen_at=now))
    return session.get(ClusterRow, name, populate_existing=True)


def record_report(session: Session, name: str, report: Document) -> None:
    """Keep what the last check found. It is no change of the cluster itself."""
    changed(session, update(ClusterRow).where(ClusterRow.name == name).values(report=report))


def nodes(
    session: Session,
    *,
    cluster: str | None = None,
    name: str | None = None,
    limit: int,
    after: str | None = None,
) -> Page[NodeRow]:
    """Nodes by cluster and name, at most `limit`; raises BadCursor."""
    key = (NodeRow.cluster, NodeRow.name)
    query = select(NodeRow)
    if cluster is not None:
        query = query.where(NodeRow.cluster == cluster)
    if name is not None:
        query = query.where(NodeRow.name == name)
    if after is not None:
        query = query.where(tuple_(*key) > typed(key, read_cluster_and_node(after)))
    rows = session.scalars(query.order_by(*key).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.cluster, row.name))


def node(session: Session, cluster: str, name: str) -> NodeRow | None:
    return session.get(NodeRow, (cluster, name))


def count_nodes(session: Session) -> dict[str, int]:
    """Nodes by cluster."""
    found = session.execute(select(NodeRow.cluster, func.count()).group_by(NodeRow.cluster))
    return {cluster: count for cluster, count in found}


def record_nodes(session: Session, cluster: str, changed_ones: Sequence[NodeView], gone: Sequence[str]) -> None:
    """Write nodes that changed and drop those that are gone. Safe to repeat: a second worker of the cluster writes the
    same, and in the same order, so that neither waits for the other in a circle. Hundreds may change in a second."""
    rows = [
        {"cluster": cluster, "name": seen.name, "view": seen.model_dump(mode="json"), "seen_at": seen.seen_at}
        for seen in sorted(changed_ones, key=lambda seen: seen.name)
    ]
    insert_or_replace(session, NodeRow, rows, ("cluster", "name"), ("view", "seen_at"))
    if gone:
        changed(session, delete(NodeRow).where(NodeRow.cluster == cluster, NodeRow.name.in_(list(gone))))
    if pools.get(session, cluster) is not None:  # somebody decides for it
        pools.note(session, cluster, "nodes")


def node_names(session: Session, cluster: str) -> list[str]:
    """Names of a cluster's nodes that are written down."""
    return list(session.scalars(select(NodeRow.name).where(NodeRow.cluster == cluster)))
