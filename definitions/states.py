"""Words for where a job is and why: phases, and classes of failure."""

from enum import StrEnum


class Phase(StrEnum):
    """Where a job is. The reason is a field of its own beside it."""

    PENDING = "Pending"  # accepted: the row is there, the workflow has not begun
    QUEUED = "Queued"  # it waits for places; the scheduler decides
    STARTING = "Starting"  # an attempt is being launched
    RUNNING = "Running"
    COLLECTING = "Collecting"  # an attempt has ended; logs, checkpoints and artifacts are being kept
    BACKING_OFF = "BackingOff"  # the next attempt waits for its time
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    CANCELLING = "Cancelling"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"

    @property
    def is_final(self) -> bool:
        return self in (Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)

    @property
    def has_attempt(self) -> bool:
        """Whether processes of an attempt may exist in this phase."""
        return self in (Phase.STARTING, Phase.RUNNING, Phase.COLLECTING, Phase.SUSPENDING, Phase.CANCELLING)


class FailureClass(StrEnum):
    """Why an attempt failed. Retry, back-off and budget are decided from this (policies/failure.py)."""

    USER_ERROR = "user-error"
    OUT_OF_MEMORY = "out-of-memory"
    SIGNAL = "signal"
    COMMAND_NOT_FOUND = "command-not-found"
    HANG = "hang"
    TIMEOUT = "timeout"
    DISK_FULL = "disk-full"
    INFRASTRUCTURE = "infrastructure"
    NODE_LOST = "node-lost"
    PREEMPTED = "preempted"
    EVICTED = "evicted"  # its pod was taken off its node: a drain, a taint, a shortage, a deletion
    IMAGE = "image"
    CONFIG = "config"  # what its pod names is not there: a secret, a key, a volume
    DEPENDENCY = "dependency"
    REPEATED = "repeated"  # the same failure at the same step three times


class Mode(StrEnum):
    BATCH = "batch"
    SERVICE = "service"
