"""When what jobs leave behind may go. Decided once, when a job has ended, and stored with it."""

from datetime import datetime, timedelta

from definitions.wire import Wire


class CleanupRules(Wire):
    """How long things are kept that no job's document speaks of."""

    snapshots: timedelta = timedelta(days=7)  # since the last use of one that no job names
    requests: timedelta = timedelta(hours=24)  # answers under an idempotency key
    decisions: timedelta = timedelta(days=7)  # of the scheduler, which itself looks back one day
    messages: timedelta = timedelta(days=7)  # since they were delivered


class Expiry(Wire):
    """When an ended job, and when its artifacts, may go. None: only when someone deletes them."""

    job: datetime | None = None
    artifacts: datetime | None = None


def expiry(ended_at: datetime, ttl: timedelta | None, artifacts_kept: timedelta | None) -> Expiry:
    """Both times count from the job's end. Artifacts never outlive their job."""
    job, artifacts = later(ended_at, ttl), later(ended_at, artifacts_kept)
    if job is not None and (artifacts is None or artifacts >= job):
        artifacts = None  # they go with the job
    return Expiry(job=job, artifacts=artifacts)


def later(start: datetime, span: timedelta | None) -> datetime | None:
    """`span` after `start`; None for no span, and for one that ends after the calendar does."""
    if span is None:
        return None
    try:
        return start + span
    except OverflowError:
        return None


def why_expired(ended_at: datetime, expires_at: datetime) -> str:
    return f"deleted: its ttlAfterFinished of {expires_at - ended_at} after its end is over"
