"""The scheduler: its documents, pools, who waits and who holds places, what queues use, decisions, and the outbox.

Types are spelled out here and not imported, so that this revision stays what it was when tables change later.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _documents()
    _pools()
    _gangs()
    _queues()
    _told()


def _documents() -> None:
    op.create_table(
        "scheduling_documents",
        _column("kind", TEXT),
        _column("name", TEXT),
        _column("document", sa.JSON()),
        _column("generation", WHOLE),
        _column("created_at", TIME),
        _column("created_by", TEXT),
        _column("updated_at", TIME),
        _column("updated_by", TEXT),
        sa.PrimaryKeyConstraint("kind", "name", name="pk_scheduling_documents"),
    )


def _pools() -> None:
    op.create_table(
        "pools",
        _column("name", TEXT),
        _column("token", WHOLE),
        _column("decision", WHOLE),
        _column("decided_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_pools"),
    )
    op.create_table(
        "pool_changes",
        _column("seq", WHOLE, autoincrement=True),
        _column("pool", TEXT),
        _column("kind", TEXT),
        _column("job", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("seq", name="pk_pool_changes"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_pool_changes_pool", "pool_changes", ["pool", "seq"])


def _gangs() -> None:
    op.create_table(
        "gangs",
        _column("tenant", TEXT),
        _column("project", TEXT),
        _column("job", TEXT),
        _column("pool", TEXT),
        _column("queue", TEXT),
        _column("attempt", WHOLE),
        _column("version", WHOLE),
        _column("priority", WHOLE),
        _column("priority_class", TEXT, nullable=True),
        _column("limit_seconds", WHOLE, nullable=True),
        _column("shape", TEXT),
        _column("asked_at", TIME),
        _column("state", TEXT),
        _column("pods", sa.JSON(), nullable=True),
        _column("amounts", sa.JSON(), nullable=True),
        _column("placed_at", TIME, nullable=True),
        _column("decision", WHOLE, nullable=True),
        _column("position", WHOLE, nullable=True),
        _column("cause", TEXT, nullable=True),
        _column("refusal", sa.JSON(), nullable=True),
        _column("reason", TEXT, nullable=True),
        _column("start_at", TIME, nullable=True),
        _column("end_at", TIME, nullable=True),
        _column("firm", sa.Boolean(), nullable=True),
        _column("leaves_for", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("job", name="pk_gangs"),
        sa.ForeignKeyConstraint(
            ["tenant", "project", "job"], ["jobs.tenant", "jobs.project", "jobs.id"], name="fk_gangs_jobs"
        ),
    )
    op.create_index("ix_gangs_pool", "gangs", ["pool", "job"])
    op.create_index("ix_gangs_queue", "gangs", ["queue", "position"])
    limited = sa.text("cause = 'limit'")
    op.create_index("ix_gangs_limited", "gangs", ["pool"], sqlite_where=limited, postgresql_where=limited)


def _queues() -> None:
    op.create_table(
        "queue_use",
        _column("queue", TEXT),
        _column("resource", TEXT),
        _column("used", WHOLE),
        sa.PrimaryKeyConstraint("queue", "resource", name="pk_queue_use"),
    )
    op.create_table(
        "queue_past",
        _column("pool", TEXT),
        _column("queue", TEXT),
        _column("resource", TEXT),
        _column("amount", sa.Float(53)),
        _column("at", TIME),
        sa.PrimaryKeyConstraint("pool", "queue", "resource", name="pk_queue_past"),
    )


def _told() -> None:
    op.create_table(
        "decisions",
        _column("pool", TEXT),
        _column("number", WHOLE, autoincrement=False),
        _column("token", WHOLE),
        _column("at", TIME),
        _column("digest", TEXT),
        _column("document", sa.JSON()),
        sa.PrimaryKeyConstraint("pool", "number", name="pk_decisions"),
    )
    op.create_table(
        "outbox",
        _column("key", TEXT),
        _column("topic", TEXT),
        _column("target", TEXT),
        _column("body", sa.JSON()),
        _column("created_at", TIME),
        _column("delivered_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("key", name="pk_outbox"),
    )
    waiting = sa.text("delivered_at IS NULL")
    op.create_index(
        "ix_outbox_waiting", "outbox", ["topic", "created_at"], sqlite_where=waiting, postgresql_where=waiting
    )


def _column(name: str, kind: Any, *, nullable: bool = False, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable, **options)
