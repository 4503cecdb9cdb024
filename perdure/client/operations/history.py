"""What a job leaves behind: attempts, events, checkpoints, metrics, artifacts, logs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TypedDict

from perdure.client._models import (
    ArtifactPage,
    AttemptPage,
    CheckpointPage,
    EventPage,
    EventView,
    LogLineView,
    LogPage,
    MetricPage,
)
from perdure.client.call import Call, Items, Reply, nothing, reading, segment, segments


def attempts(
    job: str, *, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[AttemptPage]:
    """Every run of the job, first one first."""
    page = {"limit": limit, "cursor": cursor}
    return Call("jobs.attempts", "GET", _path(job, "attempts"), reading(AttemptPage), page, project=project)


def events(
    job: str,
    *,
    since: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    project: str | None = None,
) -> Call[EventPage]:
    """What happened to the job, who did it and why; oldest first."""
    query = {"since": since, "limit": limit, "cursor": cursor}
    return Call("jobs.events", "GET", _path(job, "events"), reading(EventPage), query, project=project)


def events_stream(job: str, *, project: str | None = None) -> Call[EventView]:
    """Events as they happen, from the first one on, until the job has ended."""
    return Call("jobs.eventsStream", "GET", _path(job, "events/stream"), reading(EventView), project=project)


def checkpoints(
    job: str, *, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[CheckpointPage]:
    """Saved states as the platform judged them, newest step first."""
    page = {"limit": limit, "cursor": cursor}
    return Call("jobs.checkpoints", "GET", _path(job, "checkpoints"), reading(CheckpointPage), page, project=project)


def metrics(
    job: str,
    *,
    name: list[str] | None = None,
    points: int | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    project: str | None = None,
) -> Call[MetricPage]:
    """What the job reported of itself, as series. `points`: most per metric, longer series are thinned out."""
    query = {"name": name, "points": points, "limit": limit, "cursor": cursor}
    return Call("jobs.metrics", "GET", _path(job, "metrics"), reading(MetricPage), query, project=project)


def artifacts(
    job: str, *, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[ArtifactPage]:
    """Files that the job left to be kept, by path."""
    page = {"limit": limit, "cursor": cursor}
    return Call("jobs.artifacts", "GET", _path(job, "artifacts"), reading(ArtifactPage), page, project=project)


def artifact(job: str, path: str, *, attempt: int | None = None, project: str | None = None) -> Call[bytes]:
    """The bytes of one of them, in memory."""
    query = {"attempt": attempt}
    return Call("jobs.artifact", "GET", _artifact(job, path), _bytes, query, project=project)


def download_artifact(
    job: str, path: str, into: Path, *, attempt: int | None = None, project: str | None = None
) -> Call[None]:
    """Write the bytes of one of them to the file `into`, which is overwritten."""
    query = {"attempt": attempt}
    return Call("jobs.artifact", "GET", _artifact(job, path), nothing, query, project=project, into=into)


def delete_artifact(job: str, path: str, *, attempt: int | None = None, project: str | None = None) -> Call[None]:
    """Remove one of them."""
    query = {"attempt": attempt}
    return Call("jobs.deleteArtifact", "DELETE", _artifact(job, path), nothing, query, project=project)


def logs(
    job: str,
    *,
    rank: int | None = None,
    attempt: int | None = None,
    tail: int | None = None,
    since: datetime | None = None,
    timestamps: bool = True,
    limit: int | None = None,
    cursor: str | None = None,
    project: str | None = None,
) -> Call[LogPage]:
    """Log lines, oldest first; several ranks are merged by time."""
    chosen = {"rank": rank, "attempt": attempt, "tail": tail, "since": since, "timestamps": timestamps}
    query = chosen | {"limit": limit, "cursor": cursor}
    return Call("jobs.logs", "GET", _path(job, "logs"), reading(LogPage), query, project=project)


def logs_stream(
    job: str,
    *,
    rank: int | None = None,
    attempt: int | None = None,
    tail: int | None = None,
    since: datetime | None = None,
    timestamps: bool = True,
    project: str | None = None,
) -> Call[LogLineView]:
    """Log lines as they are written, until the job has ended."""
    query = {"rank": rank, "attempt": attempt, "tail": tail, "since": since, "timestamps": timestamps}
    return Call("jobs.logsStream", "GET", _path(job, "logs/stream"), reading(LogLineView), query, project=project)


def read_events(
    job: str, *, follow: bool = False, since: datetime | None = None, project: str | None = None
) -> Items[EventView]:
    """Every event, one after the other; with `follow` on and on until the job has ended."""
    if follow:
        return Items(stream=events_stream(job, project=project))
    return Items(pages=events(job, since=since, project=project))


def read_logs(
    job: str,
    *,
    follow: bool = False,
    rank: int | None = None,
    attempt: int | None = None,
    tail: int | None = None,
    since: datetime | None = None,
    timestamps: bool = True,
    project: str | None = None,
) -> Items[LogLineView]:
    """Every log line there is, one after the other; with `follow` on and on until the job has ended."""
    chosen: _Chosen = {"rank": rank, "attempt": attempt, "tail": tail, "since": since, "timestamps": timestamps}
    if follow:
        return Items(stream=logs_stream(job, **chosen, project=project))
    return Items(pages=logs(job, **chosen, project=project))


class _Chosen(TypedDict):
    """Which log lines are meant."""

    rank: int | None
    attempt: int | None
    tail: int | None
    since: datetime | None
    timestamps: bool


def _path(job: str, what: str) -> str:
    return f"/v1/jobs/{segment(job)}/{what}"


def _artifact(job: str, path: str) -> str:
    return _path(job, f"artifacts/{segments(path)}")


def _bytes(reply: Reply) -> bytes:
    return reply.content
