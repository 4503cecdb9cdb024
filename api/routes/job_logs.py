"""Logs: a page at a time, or as they are written."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from api.access import Caller, Needs
from api.arrays import plain_row
from api.logs import LogQuery, read_lines, read_place
from api.parameters import Cursor, JobPath, LastEventId, aware
from api.sse import STREAM, Batch, Entry, streaming
from definitions.api_history import LogPage
from definitions.errors import PerdureError
from definitions.job_document import most_ranks
from definitions.principal import Action, ResourceKind

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.LOG))]
Rank = Annotated[
    int | None, Query(description="Only this rank; all, merged by time, when left out.", examples=[0], ge=0)
]
Attempt = Annotated[
    int | None,
    Query(description="Only this attempt; the newest and those after it when left out.", examples=[1], ge=1),
]
Tail = Annotated[
    int | None, Query(description="Begin with the last so many lines of each rank.", examples=[100], ge=0, le=10000)
]
Since = Annotated[datetime | None, Query(description="Begin at this time.", examples=["2026-11-29T00:00:00Z"])]
Timestamps = Annotated[bool, Query(description="Give the time of each line.")]
MostLines = Annotated[int, Query(alias="limit", description="Most lines of one page.", examples=[1000], ge=1, le=10000)]


@router.get("/{job}/logs", name="jobs.logs", response_model=LogPage)
def logs(
    caller: Reader,
    job: JobPath,
    rank: Rank = None,
    attempt: Attempt = None,
    tail: Tail = None,
    since: Since = None,
    timestamps: Timestamps = True,
    limit: MostLines = 1000,
    cursor: Cursor = None,
) -> Any:
    """Log lines, oldest first."""
    query = _query(caller, job, rank, attempt, tail, since, timestamps, follow=False)
    read = read_lines(caller.deps.engine, caller.deps.logs, query, read_place(cursor), limit)
    next_ = None if read.ended else read.cursor or cursor
    return LogPage(items=[line for line, _ in read.lines], next=next_, ended=read.ended)


@router.get("/{job}/logs/stream", name="jobs.logsStream", response_class=StreamingResponse, responses=STREAM)
async def logs_stream(
    caller: Reader,
    job: JobPath,
    rank: Rank = None,
    attempt: Attempt = None,
    tail: Tail = None,
    since: Since = None,
    timestamps: Timestamps = True,
    last_event_id: LastEventId = None,
) -> Any:
    """The same as they are written.

    `log` entries, `heartbeat` while idle, `end` when the job has ended and all was sent.
    """
    deps = caller.deps
    query = await run_in_threadpool(_query, caller, job, rank, attempt, tail, since, timestamps, follow=True)
    place = read_place(last_event_id)

    def look() -> Batch:
        nonlocal place
        read = read_lines(deps.engine, deps.logs, query, place, deps.settings.limits.page)
        place = read.place
        return Batch([Entry(after.spell(), "log", line) for line, after in read.lines], last=read.ended)

    return streaming(deps, lambda: run_in_threadpool(look))


def _query(
    caller: Caller,
    job: str,
    rank: int | None,
    attempt: int | None,
    tail: int | None,
    since: datetime | None,
    timestamps: bool,
    *,
    follow: bool,
) -> LogQuery:
    with caller.reading() as session:
        row = plain_row(caller, session, job)
    ranks = most_ranks(row.spec, row.ranks)
    if rank is not None and rank >= ranks:
        there = f"ranks 0 to {ranks - 1}" if ranks > 1 else "one rank, 0"
        raise PerdureError("PD-2022", f"the job has {there}, and no rank {rank}", where="query.rank")
    if attempt is not None and attempt > row.attempt and (not follow or row.phase.is_final):
        had = f"{row.attempt} attempt{'' if row.attempt == 1 else 's'}" if row.attempt else "no attempt yet"
        raise PerdureError("PD-2022", f"the job has had {had}, and no number {attempt}", where="query.attempt")
    return LogQuery(row, rank, attempt, tail, aware(since), timestamps)
