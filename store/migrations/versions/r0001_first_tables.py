"""First tables: jobs and what belongs to them, access, and what jobs are made from.

Types are spelled out here and not imported, so that this revision stays what it was when tables change later.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.Integer(), "sqlite")
KINDS: dict[str, Any] = {
    "text": sa.Text().with_variant(sa.Text(collation="C"), "postgresql"),
    "whole": WHOLE,
    "time": TIME,
    "json": sa.JSON(),
    "bool": sa.Boolean(),
    "bytes": sa.LargeBinary(),
}


def upgrade() -> None:
    _jobs()
    _attempts()
    _events()
    _checkpoints()
    _artifacts()
    _access()
    _secrets()
    _library()


def _jobs() -> None:
    op.create_table(
        "jobs",
        *_columns("text", "tenant project id name live_name? owner"),
        *_columns("json", "labels"),
        *_columns("text", "mode type"),
        *_columns("json", "spec"),
        *_columns("text", "spec_sha256"),
        *_columns("json", "submission"),
        *_columns("text", "template?"),
        *_columns("whole", "template_version?"),
        *_columns("text", "schedule? snapshot? cloned_from? seed request_id?"),
        *_columns("whole", "nodes ranks gpus"),
        *_columns("text", "phase reason failure?"),
        *_columns("whole", "attempt exit_code? checkpoint_step?"),
        *_columns("json", "progress?"),
        *_columns("whole", "event_count generation"),
        *_columns("time", "created_at started_at? ended_at? wake_at? deadline? start_acknowledged_at?"),
        *_columns("time", "cleanup_planned_at? expires_at? artifacts_expire_at? deleted_at? purged_at?"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.UniqueConstraint("tenant", "project", "id", name="uq_jobs_tenant_project_id"),
        sa.UniqueConstraint("tenant", "project", "live_name", name="uq_jobs_tenant_project_live_name"),
    )
    op.create_index("ix_jobs_newest", "jobs", ["tenant", "project", "created_at", "id"])
    op.create_index("ix_jobs_name", "jobs", ["tenant", "project", "name", "created_at"])
    op.create_index("ix_jobs_snapshot", "jobs", ["tenant", "project", "snapshot"])
    op.create_index("ix_jobs_phase", "jobs", ["phase", "failure"])
    _partial("ix_jobs_to_start", "created_at", "start_acknowledged_at IS NULL AND deleted_at IS NULL")
    _partial("ix_jobs_active", "created_at", "ended_at IS NULL AND deleted_at IS NULL")
    _partial("ix_jobs_to_plan", "ended_at", "cleanup_planned_at IS NULL AND ended_at IS NOT NULL")
    _partial("ix_jobs_expiring", "expires_at", "expires_at IS NOT NULL AND deleted_at IS NULL")
    _partial("ix_jobs_to_purge", "deleted_at", "deleted_at IS NOT NULL AND purged_at IS NULL")


def _attempts() -> None:
    op.create_table(
        "attempts",
        *_columns("text", "tenant project job"),
        *_columns("whole", "number"),
        *_columns("text", "token"),
        *_columns("time", "started_at? ended_at?"),
        *_columns("text", "failure? reason"),
        *_columns("whole", "exit_code? signal? first_rank? from_step? reached_step? checkpoint_step?"),
        *_columns("bool", "counted"),
        *_columns("json", "nodes last_lines ranks"),
        *_columns("time", "observed_at?"),
        *_columns("whole", "event_count"),
        sa.PrimaryKeyConstraint("job", "number", name="pk_attempts"),
        _of_job("attempts"),
    )


def _events() -> None:
    op.create_table(
        "events",
        *_columns("text", "tenant project"),
        *_columns("whole", "seq"),
        *_columns("text", "job key"),
        *_columns("time", "at"),
        *_columns("text", "actor kind reason"),
        *_columns("json", "data"),
        sa.PrimaryKeyConstraint("seq", name="pk_events"),
        _of_job("events"),
        sa.UniqueConstraint("job", "key", name="uq_events_job_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_job_seq", "events", ["job", "seq"])


def _checkpoints() -> None:
    op.create_table(
        "checkpoints",
        *_columns("text", "tenant project job folder"),
        *_columns("whole", "step"),
        *_columns("text", "token"),
        *_columns("whole", "attempt"),
        *_columns("bool", "complete"),
        *_columns("text", "problem"),
        *_columns("whole", "bytes files"),
        *_columns("json", "metrics"),
        *_columns("time", "saved_at? verified_at? deleted_at?"),
        sa.PrimaryKeyConstraint("job", "folder", name="pk_checkpoints"),
        _of_job("checkpoints"),
    )
    op.create_index("ix_checkpoints_job_step", "checkpoints", ["job", "step"])


def _artifacts() -> None:
    op.create_table(
        "artifacts",
        *_columns("text", "tenant project job path"),
        *_columns("whole", "attempt bytes"),
        *_columns("text", "sha256 object_key"),
        *_columns("time", "created_at deleted_at?"),
        sa.PrimaryKeyConstraint("job", "path", "attempt", name="pk_artifacts"),
        _of_job("artifacts"),
    )


def _access() -> None:
    op.create_table(
        "tokens",
        *_columns("text", "id tenant name role"),
        *_columns("json", "projects"),
        *_columns("text", "sha256 prefix"),
        *_columns("time", "created_at expires_at? revoked_at? last_used_at?"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("sha256", name="uq_tokens_sha256"),
    )
    op.create_index("ix_tokens_newest", "tokens", ["tenant", "created_at", "id"])
    op.create_table(
        "idempotency",
        *_columns("text", "tenant principal key method path request_sha256 holder"),
        *_columns("whole", "status?"),
        *_columns("json", "body?"),
        *_columns("time", "created_at"),
        sa.PrimaryKeyConstraint("tenant", "principal", "key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"])


def _secrets() -> None:
    op.create_table(
        "secrets",
        *_columns("text", "tenant project name"),
        *_columns("whole", "version"),
        *_columns("text", "owner key_id"),
        *_columns("bytes", "nonce ciphertext"),
        *_columns("time", "created_at rotated_at? deleted_at?"),
        sa.PrimaryKeyConstraint("tenant", "project", "name", "version", name="pk_secrets"),
    )


def _library() -> None:
    op.create_table(
        "snapshots",
        *_columns("text", "tenant project sha256"),
        *_columns("whole", "bytes files"),
        *_columns("text", "object_key"),
        *_columns("json", "git?"),
        *_columns("time", "created_at last_used_at"),
        sa.PrimaryKeyConstraint("tenant", "project", "sha256", name="pk_snapshots"),
    )
    op.create_index("ix_snapshots_last_used_at", "snapshots", ["last_used_at"])
    op.create_table(
        "templates",
        *_columns("text", "tenant project name"),
        *_columns("whole", "version"),
        *_columns("json", "document"),
        *_columns("text", "sha256"),
        *_columns("time", "created_at deleted_at?"),
        sa.PrimaryKeyConstraint("tenant", "project", "name", "version", name="pk_templates"),
    )
    op.create_table(
        "schedules",
        *_columns("text", "tenant project name"),
        *_columns("json", "document"),
        *_columns("bool", "paused"),
        *_columns("whole", "generation"),
        *_columns("time", "created_at deleted_at?"),
        sa.PrimaryKeyConstraint("tenant", "project", "name", name="pk_schedules"),
    )


def _columns(kind: str, names: str) -> Iterator[sa.Column[Any]]:
    """Columns of one kind, in order; a name with `?` may be null."""
    for name in names.split():
        numbered = name == "seq"
        yield sa.Column(name.rstrip("?"), KINDS[kind], nullable=name.endswith("?"), autoincrement=numbered)


def _of_job(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant", "project", "job"], ["jobs.tenant", "jobs.project", "jobs.id"], name=f"fk_{table}_jobs"
    )


def _partial(name: str, column: str, where: str) -> None:
    op.create_index(name, "jobs", [column], sqlite_where=sa.text(where), postgresql_where=sa.text(where))
