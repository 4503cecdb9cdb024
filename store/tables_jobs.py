"""Jobs, and what belongs to one: attempts, events, checkpoints, artifacts.

A child's row names tenant, project and job in one foreign key: it cannot belong to another tenant than its job does.
"""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from definitions.cluster import LOCAL_CLUSTER
from definitions.states import FailureClass, Mode, Phase
from store.base import Base, Document, Tenanted


def _of_job() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["tenant", "project", "job"], ["jobs.tenant", "jobs.project", "jobs.id"])


def _partial(name: str, *columns: str, where: str) -> Index:
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))


class JobRow(Tenanted, Base):
    """One job: the document as accepted, and what is true of it now.

    `live_name` is the name until the job is final or deleted, then null: its uniqueness lets one live job hold a name.
    `generation` is the ETag: it grows with every change but progress, which would make it useless for If-Match.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("tenant", "project", "id"),
        UniqueConstraint("tenant", "project", "live_name"),
        Index("ix_jobs_newest", "tenant", "project", "created_at", "id"),
        Index("ix_jobs_name", "tenant", "project", "name", "created_at"),
        Index("ix_jobs_snapshot", "tenant", "project", "snapshot"),
        Index("ix_jobs_phase", "phase", "failure"),
        _partial("ix_jobs_to_start", "created_at", where="start_acknowledged_at IS NULL AND deleted_at IS NULL"),
        _partial("ix_jobs_active", "created_at", where="ended_at IS NULL AND deleted_at IS NULL"),
        _partial("ix_jobs_to_plan", "ended_at", where="cleanup_planned_at IS NULL AND ended_at IS NOT NULL"),
        _partial("ix_jobs_expiring", "expires_at", where="expires_at IS NOT NULL AND deleted_at IS NULL"),
        _partial("ix_jobs_to_purge", "deleted_at", where="deleted_at IS NOT NULL AND purged_at IS NULL"),
        _partial("ix_jobs_alone", "tenant", "project", "created_at", "id", where="parent IS NULL"),
        _partial("ix_jobs_parent", "tenant", "project", "parent", "array_index", where="parent IS NOT NULL"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    live_name: Mapped[str | None]
    owner: Mapped[str]
    labels: Mapped[dict[str, str]]
    mode: Mapped[Mode]
    type: Mapped[str]
    spec: Mapped[Document]
    spec_sha256: Mapped[str]
    submission: Mapped[Document]
    template: Mapped[str | None]
    template_version: Mapped[int | None]
    schedule: Mapped[str | None]
    snapshot: Mapped[str | None]
    cloned_from: Mapped[str | None]
    seed: Mapped[str]
    request_id: Mapped[str | None]
    nodes: Mapped[int]
    ranks: Mapped[int]
    gpus: Mapped[int]
    phase: Mapped[Phase]
    reason: Mapped[str]
    failure: Mapped[FailureClass | None]
    attempt: Mapped[int]
    exit_code: Mapped[int | None]
    checkpoint_step: Mapped[int | None]
    progress: Mapped[Document | None]
    event_count: Mapped[int]
    generation: Mapped[int]
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    wake_at: Mapped[datetime | None]
    deadline: Mapped[datetime | None]
    start_acknowledged_at: Mapped[datetime | None]
    cleanup_planned_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    artifacts_expire_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]
    purged_at: Mapped[datetime | None]
    cluster: Mapped[str] = mapped_column(server_default=LOCAL_CLUSTER)
    parent: Mapped[str | None]  # the array that it is one of
    array_index: Mapped[int | None]
    asked_nodes: Mapped[int | None]  # of an elastic job, whose `nodes`, `ranks` and `gpus` are its last attempt's


class AttemptRow(Tenanted, Base):
    """One attempt. `event_count` is the job's when this was written: what is older never overwrites what is newer."""

    __tablename__ = "attempts"
    __table_args__ = (_of_job(),)

    job: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token: Mapped[str]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    failure: Mapped[FailureClass | None]
    reason: Mapped[str]
    exit_code: Mapped[int | None]
    signal: Mapped[int | None]
    first_rank: Mapped[int | None]
    from_step: Mapped[int | None]
    reached_step: Mapped[int | None]
    checkpoint_step: Mapped[int | None]
    counted: Mapped[bool]
    nodes: Mapped[list[str]]
    last_lines: Mapped[list[str]]
    ranks: Mapped[list[Document]]  # evidence, as the runtime saw it at observed_at
    observed_at: Mapped[datetime | None]
    event_count: Mapped[int]


class EventRow(Tenanted, Base):
    """One line of a job's history. Rows are only ever added; `seq` is the order of arrival and the reader's cursor."""

    __tablename__ = "events"
    __table_args__ = (
        _of_job(),
        UniqueConstraint("job", "key"),
        Index("ix_events_job_seq", "job", "seq"),
        {"sqlite_autoincrement": True},  # numbers are never used again, so a cursor never points at another event
    )

    seq: Mapped[int] = mapped_column(primary_key=True)
    job: Mapped[str]
    key: Mapped[str]
    at: Mapped[datetime]
    actor: Mapped[str]
    kind: Mapped[str]
    reason: Mapped[str]
    data: Mapped[Document]


class CheckpointRow(Tenanted, Base):
    """One checkpoint folder as it was last judged (`verified_at`). Once deleted it stays deleted."""

    __tablename__ = "checkpoints"
    __table_args__ = (_of_job(), Index("ix_checkpoints_job_step", "job", "step"))

    job: Mapped[str] = mapped_column(primary_key=True)
    folder: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int]
    token: Mapped[str]
    attempt: Mapped[int]
    complete: Mapped[bool]
    problem: Mapped[str]
    bytes: Mapped[int]
    files: Mapped[int]
    metrics: Mapped[Document]
    saved_at: Mapped[datetime | None]
    verified_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]


class ArtifactRow(Tenanted, Base):
    """One file that an attempt left. Once deleted it stays deleted."""

    __tablename__ = "artifacts"
    __table_args__ = (_of_job(),)

    job: Mapped[str] = mapped_column(primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    bytes: Mapped[int]
    sha256: Mapped[str]
    object_key: Mapped[str]
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class JobFollowerRow(Tenanted, Base):
    """`follower`, a job of the same project, is told when `job` has ended: it waits for it, or is its array."""

    __tablename__ = "job_followers"
    __table_args__ = (_of_job(), Index("ix_job_followers_follower", "tenant", "project", "follower"))

    job: Mapped[str] = mapped_column(primary_key=True)
    follower: Mapped[str] = mapped_column(primary_key=True)
