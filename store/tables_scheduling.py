"""The scheduler's tables. Pools, queues and their documents are the installation's; a gang belongs to its job."""

from datetime import datetime

from sqlalchemy import Float, ForeignKeyConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from store.base import Base, Document, Tenanted


class SchedulingDocumentRow(Base):
    """A Queue, ResourceFlavor, PriorityClass, Topology, NodePool or Reservation as it was applied last."""

    __tablename__ = "scheduling_documents"

    kind: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    document: Mapped[Document]
    generation: Mapped[int]  # the ETag
    created_at: Mapped[datetime]
    created_by: Mapped[str]
    updated_at: Mapped[datetime]
    updated_by: Mapped[str]


class PoolRow(Base):
    """The nodes of one cluster as the scheduler sees them. Whoever decides takes the next `token`, and only the last
    one that was taken may commit."""

    __tablename__ = "pools"

    name: Mapped[str] = mapped_column(primary_key=True)  # of the cluster
    token: Mapped[int]
    decision: Mapped[int]  # number of the last decision
    decided_at: Mapped[datetime | None]


class PoolChangeRow(Base):
    """News for a pool that no decision has seen yet. The decision that has seen it removes it."""

    __tablename__ = "pool_changes"
    __table_args__ = (Index("ix_pool_changes_pool", "pool", "seq"), {"sqlite_autoincrement": True})

    seq: Mapped[int] = mapped_column(primary_key=True)
    pool: Mapped[str]
    kind: Mapped[str]  # "gang", "nodes", "documents", "use": what queues use
    job: Mapped[str | None]  # of "gang"


class GangRow(Tenanted, Base):
    """A job that waits for places or holds them. The row follows the job's phase: it is there from Queued until the
    attempt is over and its pods are known to be gone. Without `pods` it holds nothing.

    What the job asks for (up to `asked_at`) is written with the job's state; the rest is the scheduler's.
    """

    __tablename__ = "gangs"
    __table_args__ = (
        ForeignKeyConstraint(["tenant", "project", "job"], ["jobs.tenant", "jobs.project", "jobs.id"]),
        Index("ix_gangs_pool", "pool", "job"),
        Index("ix_gangs_queue", "queue", "position"),
        Index("ix_gangs_place", "pool", "position", "job"),
        Index(
            "ix_gangs_reservation",
            "reservation",
            sqlite_where=text("reservation IS NOT NULL"),
            postgresql_where=text("reservation IS NOT NULL"),
        ),
        Index(
            "ix_gangs_limited", "pool", sqlite_where=text("cause = 'limit'"), postgresql_where=text("cause = 'limit'")
        ),
    )

    job: Mapped[str] = mapped_column(primary_key=True)
    pool: Mapped[str]
    queue: Mapped[str]
    attempt: Mapped[int]  # that it waits for, or that holds
    version: Mapped[int]  # grows whenever the job's side changes the row: a decision about an older one does not count
    priority: Mapped[int]
    priority_class: Mapped[str | None]
    limit_seconds: Mapped[int | None]
    shape: Mapped[str]  # canonical JSON of what its pods ask for; equal texts are equal shapes
    asked_at: Mapped[datetime]

    state: Mapped[str]  # "waiting", "placed", "leaving"
    pods: Mapped[list[Document] | None]  # of PlacedPod
    amounts: Mapped[Document | None]  # resource -> amount that its places count against quotas
    placed_at: Mapped[datetime | None]
    decision: Mapped[int | None]  # that said what follows, or placed it
    position: Mapped[int | None]  # grows along the pool's order, with gaps: see `gang_places`
    cause: Mapped[str | None]
    refusal: Mapped[Document | None]  # Refusal: the numbers of the cause
    reason: Mapped[str | None]  # the sentence that people read
    start_at: Mapped[datetime | None]
    end_at: Mapped[datetime | None]
    firm: Mapped[bool | None]  # whether start_at is promised or estimated
    leaves_for: Mapped[str | None]  # the gang that gets its places
    # Of a gang that changes its size: what it gets when its present attempt is over, held with what it has until then.
    next_pods: Mapped[list[Document] | None]
    next_amounts: Mapped[Document | None]
    reservation: Mapped[str | None]  # that it is to run in


class QueueUseRow(Base):
    """What the places of all pools take of a queue, and of all queues below it. Changed only by conditional updates
    in the transaction that gives or takes the places."""

    __tablename__ = "queue_use"

    queue: Mapped[str] = mapped_column(primary_key=True)
    resource: Mapped[str] = mapped_column(primary_key=True)
    used: Mapped[int]


class QueuePastRow(Base):
    """What a queue used in the past, faded to `at`, in the unit of the resource."""

    __tablename__ = "queue_past"

    pool: Mapped[str] = mapped_column(primary_key=True)
    queue: Mapped[str] = mapped_column(primary_key=True)
    resource: Mapped[str] = mapped_column(primary_key=True)
    amount: Mapped[float] = mapped_column(Float(53))
    at: Mapped[datetime]


class DecisionRow(Base):
    """One decision that changed something. `digest`: of what it was made from."""

    __tablename__ = "decisions"
    __table_args__ = (Index("ix_decisions_at", "at"),)

    pool: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token: Mapped[int]
    at: Mapped[datetime]
    digest: Mapped[str]
    document: Mapped[Document]


class OutboxRow(Base):
    """A message that must be delivered at least once. Its `key` makes writing it twice one message."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index(
            "ix_outbox_waiting",
            "topic",
            "created_at",
            sqlite_where=text("delivered_at IS NULL"),
            postgresql_where=text("delivered_at IS NULL"),
        ),
        Index(
            "ix_outbox_delivered",
            "delivered_at",
            sqlite_where=text("delivered_at IS NOT NULL"),
            postgresql_where=text("delivered_at IS NOT NULL"),
        ),
    )

    key: Mapped[str] = mapped_column(primary_key=True)
    topic: Mapped[str]  # whose messages: "pool/NAME"
    target: Mapped[str]  # id of the workflow that is told
    body: Mapped[Document]
    created_at: Mapped[datetime]
    delivered_at: Mapped[datetime | None]
