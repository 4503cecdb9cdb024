"""Clusters and their nodes. They are the installation's: jobs of every tenant run there, so no row names a tenant."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from store.base import Base, Document


class ClusterRow(Base):
    """A cluster as its document describes it, and what its worker told last. `generation` is the ETag."""

    __tablename__ = "clusters"

    name: Mapped[str] = mapped_column(primary_key=True)
    document: Mapped[Document]
    generation: Mapped[int]
    created_at: Mapped[datetime]
    created_by: Mapped[str]
    updated_at: Mapped[datetime]
    updated_by: Mapped[str]
    worker_seen_at: Mapped[datetime | None]
    report: Mapped[Document | None]  # ClusterReport of the last check


class InstallationRow(Base):
    """The one row of the control plane that has this database: by its id, objects in a cluster say whose they are."""

    __tablename__ = "installations"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 1
    id: Mapped[str]
    made_at: Mapped[datetime]


class NodeRow(Base):
    """A node as its cluster's worker saw it last. The row goes with the node."""

    __tablename__ = "nodes"

    cluster: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    view: Mapped[Document]  # NodeView
    seen_at: Mapped[datetime]  # when it last changed
