"""Reading a job's logs as one stream: ranks merged by time, attempts one after another, one cursor over all of it."""

import base64
import binascii
import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from api.ports import Line, LogReader, RanksRead
from definitions.api_history import LogLineView
from definitions.attempt import AttemptRef
from definitions.cluster_calls import RankPlace
from store import attempts, jobs
from store.engine import reading
from store.errors import BadCursor
from store.tables import AttemptRow, JobRow


@dataclass(frozen=True)
class LogQuery:
    """Which lines are wanted. `attempt` None: the newest one, and those that follow it."""

    job: JobRow
    rank: int | None = None
    attempt: int | None = None
    tail: int | None = None
    since: datetime | None = None
    timestamps: bool = True


@dataclass(frozen=True)
class Place:
    """How far a reader has come: in `attempt`, after `after[rank]` ("": its log was still empty).

    `tail` applies to the attempt where reading began, to ranks of which nothing was read yet.
    """

    attempt: int
    began: int
    after: dict[int, str] = field(default_factory=dict)

    def spell(self) -> str:
        plain = [self.attempt, self.began, {str(rank): cursor for rank, cursor in self.after.items()}]
        return base64.urlsafe_b64encode(json.dumps(plain, separators=(",", ":")).encode()).decode().rstrip("=")


@dataclass(frozen=True)
class Lines:
    """Lines, each with the place after it; where to go on; whether more can ever come."""

    lines: list[tuple[LogLineView, Place]]
    place: Place | None
    ended: bool

    @property
    def cursor(self) -> str | None:
        return self.place.spell() if self.place else None


def read_place(text: str | None) -> Place | None:
    """The place that a cursor spells. Raises BadCursor for what this API never gave."""
    if text is None:
        return None
    try:
        plain = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise BadCursor from None
    match plain:
        case [int(attempt), int(began), dict(after)] if _are_cursors(after):
            return Place(attempt, began, {int(rank): cursor for rank, cursor in after.items()})
    raise BadCursor


def read_lines(engine: Engine, reader: LogReader, query: LogQuery, place: Place | None, limit: int) -> Lines:
    """Up to `limit` lines from `place` on.

    The job and its attempts are looked at before their logs: what they say has ended by then has written everything.
    """
    with reading(engine) as session:
        job = jobs.get(session, query.job.tenant, query.job.project, query.job.id)
        known = _attempts(session, query)
    if job is None or not known:
        return Lines([], place, ended=job is None or job.phase.is_final)
    last = max(known)
    place = place or Place(query.attempt or last, query.attempt or last)
    found: list[tuple[LogLineView, Place]] = []
    while (attempt := known.get(place.attempt)) is not None:
        new, place, drained = _read_attempt(reader, query, attempt, place, limit - len(found))
        found += new
        over = drained and attempt.ended_at is not None
        if not over or len(found) >= limit:
            return Lines(found, place, ended=False)
        if query.attempt is not None or attempt.number == last:
            return Lines(found, place, ended=query.attempt is not None or job.phase.is_final)
        place = Place(attempt.number + 1, place.began)
    return Lines(found, place, ended=job.phase.is_final)


def _attempts(session: Any, query: LogQuery) -> dict[int, AttemptRow]:
    job, known, after = query.job, {}, None
    while True:
        page = attempts.page(session, job.tenant, job.project, job.id, limit=500, after=after)
        known.update({row.number: row for row in page.items})
        if (after := page.next) is None:
            return known


def _read_attempt(
    reader: LogReader, query: LogQuery, attempt: AttemptRow, place: Place, limit: int
) -> tuple[list[tuple[LogLineView, Place]], Place, bool]:
    """Lines of one attempt, where reading goes on, and whether that was all there is for now."""
    row = query.job
    ref = AttemptRef(tenant=row.tenant, project=row.project, job=row.id, number=attempt.number, token=attempt.token)
    ranks = range(_ranks(row, attempt)) if query.rank is None else (query.rank,)
    read = reader.read(ref, [_wanted(query, place, rank) for rank in ranks], limit=limit, since=query.since)
    batches: dict[int, Sequence[Line]] = {}
    for rank in ranks:
        batches[rank], place = _taken(query, place, rank, read)
    merged = heapq.merge(*(_keyed(rank, lines) for rank, lines in batches.items()))
    found: list[tuple[LogLineView, Place]] = []
    for _, rank, _, line in merged:
        if len(found) == limit:
            return found, place, False
        place = replace(place, after=place.after | {rank: line.cursor})
        at = line.at if query.timestamps else None
        found.append((LogLineView(attempt=attempt.number, rank=rank, at=at, text=line.text), place))
        if (rank, line.cursor) in read.ends:
            break
    return found, place, not read.ends and all(len(lines) < limit for lines in batches.values())


def _ranks(row: JobRow, attempt: AttemptRow) -> int:
    """Of that attempt: an elastic job's may have had more of them than it has now."""
    return row.ranks if attempt.number == row.attempt or not attempt.ranks else len(attempt.ranks)


def _wanted(query: LogQuery, place: Place, rank: int) -> RankPlace:
    """Where a rank is read on. A tail of nothing still needs to know where the log ends."""
    after, tail = place.after.get(rank), _tail(query, place)
    if after is not None:
        return RankPlace(rank=rank, cursor=after or None)
    return RankPlace(rank=rank, tail=None if tail is None else max(tail, 1))


def _taken(query: LogQuery, place: Place, rank: int, read: RanksRead) -> tuple[Sequence[Line], Place]:
    """A rank's next lines. What was empty is marked, so that `tail` does not cut what is written later."""
    lines = read.lines.get(rank, ())
    if place.after.get(rank) is not None or (not lines and read.ends):
        return lines, place
    if _tail(query, place) == 0:
        return [], replace(place, after=place.after | {rank: lines[-1].cursor if lines else ""})
    return lines, place if lines else replace(place, after=place.after | {rank: ""})


def _tail(query: LogQuery, place: Place) -> int | None:
    return query.tail if place.attempt == place.began else None


def _keyed(rank: int, lines: Sequence[Line]) -> list[tuple[datetime, int, int, Line]]:
    """Times of one rank never fall while its lines are merged, even when its clock was set back."""
    keyed: list[tuple[datetime, int, int, Line]] = []
    for number, line in enumerate(lines):
        at = max(line.at, keyed[-1][0]) if keyed else line.at
        keyed.append((at, rank, number, line))
    return keyed


def _are_cursors(after: dict[Any, Any]) -> bool:
    return all(str(rank).isdecimal() and isinstance(cursor, str) for rank, cursor in after.items())
