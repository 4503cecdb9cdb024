"""The lines of a running attempt, read of its runtime: those that were asked for, as many as an answer holds."""

import heapq
import itertools
import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from activities.ports import LogLine, Runtime
from definitions.attempt import AttemptRef
from definitions.cluster_calls import LiveLine, LogsAsk, RankLine, RankLogsAsk, RankPlace

PAGE, SMALLEST_PAGE = 1000, 50  # lines that are read of the runtime at a time
MOST_LINES = 5000  # of one answer
MOST_BYTES = 512 * 1024  # of the text in one answer: it travels through the engine
TOGETHER = 16  # ranks that are read at a time


def wanted_lines(runtime: Runtime, ask: LogsAsk) -> tuple[LiveLine, ...]:
    """Up to `limit` lines after the cursor, or of the last `tail`; none older than `since`. Never more than fits."""
    place = RankPlace(rank=ask.rank, cursor=ask.cursor, tail=ask.tail)
    kept, _ = _fitting(_wanted(runtime, ask.ref, place, ask.since, PAGE), ask.limit)
    return tuple(LiveLine(at=line.at, text=line.text, cursor=line.cursor) for line in kept)


def merged_lines(runtime: Runtime, ask: RankLogsAsk) -> tuple[tuple[RankLine, ...], bool]:
    """The first `limit` lines of all ranks by time, from each rank's place on, and whether there were more.

    At least one line fits, so who asks again from the new places comes to the end.
    """
    page = max(min(PAGE, 2 * ask.limit // max(len(ask.ranks), 1)), SMALLEST_PAGE)

    def begun(place: RankPlace) -> Iterator[tuple[datetime, int, int, LogLine]]:
        lines = _in_time(_wanted(runtime, ask.ref, place, ask.since, page))
        first = list(itertools.islice(lines, 1))  # which reads a page, beside those of other ranks
        return itertools.chain(first, lines)

    with ThreadPoolExecutor(TOGETHER, "live-logs") as threads:
        merged = heapq.merge(*threads.map(begun, ask.ranks))
    kept, more = _fitting((line for _, _, _, line in merged), ask.limit)
    found = (RankLine(rank=line.rank, at=line.at, text=line.text, cursor=line.cursor) for line in kept)
    return tuple(found), more


def _wanted(
    runtime: Runtime, ref: AttemptRef, place: RankPlace, since: datetime | None, page: int
) -> Iterator[LogLine]:
    lines = _lines(runtime, ref, place, page)
    if since is not None:
        lines = (line for line in lines if line.at >= since)
    if place.cursor is None and place.tail is not None:
        return iter(deque(lines, maxlen=place.tail))
    return lines


def _lines(runtime: Runtime, ref: AttemptRef, place: RankPlace, page: int) -> Iterator[LogLine]:
    """A page that is not full is the last one for now."""
    cursor = place.cursor
    while True:
        lines = runtime.read_logs(ref, place.rank, cursor=cursor, limit=page)
        yield from lines
        if len(lines) < page:
            return
        cursor = lines[-1].cursor


def _in_time(lines: Iterator[LogLine]) -> Iterator[tuple[datetime, int, int, LogLine]]:
    """With the keys to merge by. Times of one rank never fall there, even when its clock was set back."""
    at: datetime | None = None
    for number, line in enumerate(lines):
        at = line.at if at is None else max(at, line.at)
        yield at, line.rank, number, line


def _fitting(lines: Iterator[LogLine], limit: int) -> tuple[list[LogLine], bool]:
    """As many lines as an answer holds, at least one where there is one, and whether any were left out."""
    kept: list[LogLine] = []
    room = MOST_BYTES
    for line in lines:
        room -= len(json.dumps(line.text, ensure_ascii=False).encode(errors="replace")) + 96
        if len(kept) >= min(limit, MOST_LINES) or (room < 0 and kept):
            return kept, True
        kept.append(line)
    return kept, False
