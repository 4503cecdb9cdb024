"""What a job leaves behind: attempts, events, checkpoints, metrics, artifacts."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from api.access import Caller, Needs
from api.artifacts import download
from api.job_access import job_row
from api.parameters import ArtifactPath, Cursor, JobPath, LastEventId, Limit, aware
from api.sse import STREAM, Batch, Entry, streaming
from api.views import artifact_view, attempt_view, checkpoint_view, event_view
from definitions.api_history import (
    ArtifactPage,
    AttemptPage,
    CheckpointPage,
    EventPage,
    MetricPage,
    MetricPoint,
    MetricSeries,
)
from definitions.errors import PerdureError
from definitions.principal import Action, ResourceKind
from definitions.progress import MetricQuery
from store import artifacts, attempts, checkpoints, events
from store.paging import cursor as spell
from store.paging import read_name
from store.tables import ArtifactRow

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

JobReader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.JOB))]
EventReader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.EVENT))]
CheckpointReader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.CHECKPOINT))]
ArtifactReader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.ARTIFACT))]
ArtifactDeleter = Annotated[Caller, Depends(Needs(Action.DELETE, ResourceKind.ARTIFACT))]
OfAttempt = Annotated[
    int | None, Query(description="Attempt that left it; the newest that did when left out.", examples=[2], ge=1)
]
BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The bytes.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("/{job}/attempts", name="jobs.attempts", response_model=AttemptPage)
def attempts_(caller: JobReader, job: JobPath, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Every run of the job, first one first."""
    with caller.reading() as session:
        row = job_row(caller, session, job)
        page = attempts.page(session, row.tenant, row.project, row.id, limit=_size(caller, limit), after=cursor)
    return AttemptPage(items=[attempt_view(entry) for entry in page.items], next=page.next)


@router.get("/{job}/events", name="jobs.events", response_model=EventPage)
def events_(
    caller: EventReader,
    job: JobPath,
    since: Annotated[
        datetime | None, Query(description="Only events at or after.", examples=["2026-11-29T00:00:00Z"])
    ] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """What happened to the job, who did it and why; oldest first."""
    with caller.reading() as session:
        row = job_row(caller, session, job)
        page = events.page(
            session, row.tenant, row.project, row.id, limit=_size(caller, limit), after=cursor, since=aware(since)
        )
    return EventPage(items=[event_view(entry) for entry in page.items], next=page.next)


@router.get("/{job}/events/stream", name="jobs.eventsStream", response_class=StreamingResponse, responses=STREAM)
async def events_stream(caller: EventReader, job: JobPath, last_event_id: LastEventId = None) -> Any:
    """The same as it happens: `event` entries, `heartbeat` while idle, `end` when the job has ended."""
    seen = read_sequence(last_event_id)
    identity = await run_in_threadpool(_identity, caller, job)
    size = caller.deps.settings.limits.page

    def look() -> Batch:
        nonlocal seen
        with caller.reading() as session:
            row = job_row(caller, session, identity)
            new = events.after(session, row.tenant, row.project, row.id, seen, size)
        seen = new[-1].seq if new else seen
        entries = [Entry(str(event.seq), "event", event_view(event)) for event in new]
        return Batch(entries, last=row.phase.is_final and len(new) < size)

    return streaming(caller.deps, lambda: run_in_threadpool(look))


@router.get("/{job}/checkpoints", name="jobs.checkpoints", response_model=CheckpointPage)
def checkpoints_(caller: CheckpointReader, job: JobPath, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Saved states as the platform judged them, by step."""
    with caller.reading() as session:
        row = job_row(caller, session, job)
        page = checkpoints.page(session, row.tenant, row.project, row.id, limit=_size(caller, limit), after=cursor)
    return CheckpointPage(items=[checkpoint_view(entry) for entry in page.items], next=page.next)


@router.get("/{job}/metrics", name="jobs.metrics", response_model=MetricPage)
def metrics(
    caller: JobReader,
    job: JobPath,
    name: Annotated[list[str] | None, Query(description="Only these metrics.", examples=[["loss"]])] = None,
    points: Annotated[
        int, Query(description="Most points per metric; longer series are thinned out.", examples=[100], ge=2, le=5000)
    ] = 500,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """What the job reported in its progress file, as series by name."""
    with caller.reading() as session:
        row = job_row(caller, session, job)
    after = read_name(cursor) if cursor is not None else ""
    query = MetricQuery(names=tuple(name or ()), after=after, limit=_size(caller, limit), points=points)
    found = caller.deps.metrics.series(row.tenant, row.project, row.id, query)
    items = [
        MetricSeries(
            name=line.name,
            points=[MetricPoint(step=point.step, at=point.at, value=point.value) for point in line.points],
        )
        for line in found.series
    ]
    return MetricPage(items=items, next=spell(items[-1].name) if found.more and items else None)


@router.get("/{job}/artifacts", name="jobs.artifacts", response_model=ArtifactPage)
def artifacts_(caller: ArtifactReader, job: JobPath, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Files that the job left to be kept, by path."""
    with caller.reading() as session:
        row = job_row(caller, session, job)
        page = artifacts.page(session, row.tenant, row.project, row.id, limit=_size(caller, limit), after=cursor)
    return ArtifactPage(items=[artifact_view(entry) for entry in page.items], next=page.next)


@router.get("/{job}/artifacts/{path:path}", name="jobs.artifact", response_class=StreamingResponse, responses=BYTES)
def artifact(caller: ArtifactReader, job: JobPath, path: ArtifactPath, attempt: OfAttempt = None) -> Any:
    """The bytes of one of them."""
    row = _artifact(caller, job, path, attempt)
    return download(row, caller.deps.blobs.get(row.object_key))


@router.delete("/{job}/artifacts/{path:path}", name="jobs.deleteArtifact", status_code=204)
def delete_artifact(caller: ArtifactDeleter, job: JobPath, path: ArtifactPath, attempt: OfAttempt = None) -> None:
    """Remove one of them."""
    row = _artifact(caller, job, path, attempt)
    caller.deps.blobs.delete(row.object_key)
    now = caller.deps.now()
    caller.writing(lambda session: artifacts.mark_deleted(session, row, now))


def read_sequence(last_event_id: str | None) -> int:
    """The number of the last event that a client has seen; 0 for none."""
    if last_event_id is None:
        return 0
    if last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= 18:
        return int(last_event_id)
    raise PerdureError("PD-2022", "it is not the id of an event of this stream", where="Last-Event-ID")


def _artifact(caller: Caller, job: str, path: str, attempt: int | None) -> ArtifactRow:
    with caller.reading() as session:
        row = job_row(caller, session, job)
        found = artifacts.get(session, row.tenant, row.project, row.id, path, attempt)
    if found is None:
        raise caller.missing(ResourceKind.ARTIFACT, path)
    return found


def _identity(caller: Caller, job: str) -> str:
    with caller.reading() as session:
        return job_row(caller, session, job).id


def _size(caller: Caller, limit: int | None) -> int:
    return limit or caller.deps.settings.limits.default_page
