"""Clusters, their nodes, and on which of them a job runs.

Types are spelled out here and not imported, so that this revision stays what it was when tables change later.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "clusters",
        _column("name", TEXT),
        _column("document", sa.JSON()),
        _column("generation", WHOLE),
        _column("created_at", TIME),
        _column("created_by", TEXT),
        _column("updated_at", TIME),
        _column("updated_by", TEXT),
        _column("worker_seen_at", TIME, nullable=True),
        _column("report", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_clusters"),
    )
    op.create_table(
        "nodes",
        _column("cluster", TEXT),
        _column("name", TEXT),
        _column("view", sa.JSON()),
        _column("seen_at", TIME),
        sa.PrimaryKeyConstraint("cluster", "name", name="pk_nodes"),
    )
    # The version before this one inserts jobs without a cluster while both run: those are of this machine.
    op.add_column("jobs", sa.Column("cluster", TEXT, nullable=False, server_default="local"))


def _column(name: str, kind: Any, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable)
