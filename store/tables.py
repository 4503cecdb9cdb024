"""Every table, and the metadata that migrations must arrive at."""

from store.base import Base
from store.tables_access import IdempotencyRow, SecretRow, TokenRow
from store.tables_clusters import ClusterRow, InstallationRow, NodeRow
from store.tables_jobs import ArtifactRow, AttemptRow, CheckpointRow, EventRow, JobFollowerRow, JobRow
from store.tables_library import ScheduleRow, SnapshotRow, TemplateRow
from store.tables_reservations import BookingRow, ReservationRow, ReservedUseRow
from store.tables_scheduling import (
    DecisionRow,
    GangRow,
    OutboxRow,
    PoolChangeRow,
    PoolRow,
    QueuePastRow,
    QueueUseRow,
    SchedulingDocumentRow,
)

metadata = Base.metadata

__all__ = [
    "ArtifactRow",
    "AttemptRow",
    "BookingRow",
    "CheckpointRow",
    "ClusterRow",
    "DecisionRow",
    "EventRow",
    "GangRow",
    "IdempotencyRow",
    "InstallationRow",
    "JobFollowerRow",
    "JobRow",
    "NodeRow",
    "OutboxRow",
    "PoolChangeRow",
    "PoolRow",
    "QueuePastRow",
    "QueueUseRow",
    "ReservationRow",
    "ReservedUseRow",
    "ScheduleRow",
    "SchedulingDocumentRow",
    "SecretRow",
    "SnapshotRow",
    "TemplateRow",
    "TokenRow",
    "metadata",
]
