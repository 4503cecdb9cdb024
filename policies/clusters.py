"""Whether a cluster's worker can be counted on, said the same way in plans, submits and `why`."""

from datetime import datetime, timedelta

from definitions.quantities import format_duration

HEARTBEAT = timedelta(seconds=10)  # how often a worker says that it is there
SILENT_AFTER = timedelta(seconds=45)  # four missed heartbeats: it is not only busy


def silence(cluster: str, seen_at: datetime | None, now: datetime) -> str | None:
    """What to mind about a cluster's worker; None while it is there."""
    if seen_at is None:
        return f"the worker of cluster {cluster} was never seen; its jobs wait until it is started"
    away = now - seen_at
    if away <= SILENT_AFTER:
        return None
    since = format_duration(timedelta(seconds=int(away.total_seconds())))
    return (
        f"the worker of cluster {cluster} was last seen {since} ago; its jobs go on, and nothing is started meanwhile"
    )
