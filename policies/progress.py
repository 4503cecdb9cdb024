"""From a job's own progress lines to step, rate, time of arrival and series. Pure: lines come in, nothing is read."""

import itertools
import json
import math
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from definitions.progress import MetricQuery, MetricsFound, ProgressNow, ProgressPoint, Series, SeriesPoint

RATE_WINDOW = timedelta(minutes=5)  # long enough to even out a save, short enough to follow a change
LONGEST_LINE = 64 * 1024
LARGEST_STEP = 2**53  # beyond it a number counts nothing, and does not survive JSON
SPELLED = 100  # bytes of one point of a series, as it is sent
FARTHEST = timedelta(days=3650)  # an arrival later than this says only that the rate is not known yet


def parse_points(content: bytes) -> list[ProgressPoint]:
    """The readable lines of a progress file, in file order. Torn, blank and foreign lines are left out."""
    points = (_point(line) for line in content.split(b"\n") if line and len(line) <= LONGEST_LINE)
    return [point for point in points if point is not None]


def summarise(points: Sequence[ProgressPoint]) -> ProgressNow | None:
    """How far the job is, from the newest attempt's points; None without any.

    The lowest rank that reports speaks for its attempt: the others say the same a moment later. Metrics are the newest
    values by name, from whichever rank.
    """
    attempt = max((point.attempt for point in points), default=0)
    newest = [point for point in points if point.attempt == attempt]
    if not newest:
        return None
    speaker = min(point.rank for point in newest)
    spoken = [point for point in newest if point.rank == speaker]
    last = spoken[-1]
    rate = _rate(spoken)
    total = next((point.total for point in reversed(spoken) if point.total is not None), None)
    metrics = {name: value for point in newest for name, value in point.metrics.items()}
    eta = _eta(last, total, rate)
    return ProgressNow(step=last.step, at=last.at, total=total, rate=rate, eta=eta, metrics=metrics)


def metric_names(points: Sequence[ProgressPoint]) -> tuple[str, ...]:
    """In the order in which they were first reported."""
    return tuple(dict.fromkeys(name for point in points for name in point.metrics))


def series(points: Sequence[ProgressPoint], metric: str, most: int) -> tuple[SeriesPoint, ...]:
    """One metric over the steps, as real points, `most` (at least 2) of them at the most.

    A later attempt takes over from its first step on: what an earlier one reported beyond was lost with it. Of several
    ranks the lowest that reports the metric counts.
    """
    reported = [point for point in points if metric in point.metrics]
    taken: list[ProgressPoint] = []
    for attempt in sorted({point.attempt for point in reported}):
        own = [point for point in reported if point.attempt == attempt]
        speaker = min(point.rank for point in own)
        spoken = [point for point in own if point.rank == speaker]
        begin = min(point.step for point in spoken)
        taken = [point for point in taken if point.step < begin] + spoken
    by_step = {point.step: point for point in taken}
    line = [SeriesPoint(step=step, at=p.at, value=p.metrics[metric]) for step, p in sorted(by_step.items())]
    return tuple(_thin_out(line, max(most, 2)))


def wanted_series(points: Sequence[ProgressPoint], query: MetricQuery, room: int | None = None) -> MetricsFound:
    """The series that were asked for, by name. `room`: bytes of all together, about; one series always fits."""
    wanted = sorted(name for name in metric_names(points) if name > query.after)
    names = [name for name in wanted if not query.names or name in query.names]
    found: list[Series] = []
    for metric in names[: query.limit]:
        line = Series(name=metric, points=series(points, metric, query.points))
        if room is not None:
            room -= len(metric.encode()) + SPELLED * len(line.points)
            if room < 0 and found:
                break
        found.append(line)
    return MetricsFound(series=tuple(found), more=len(found) < len(names))


def _point(line: bytes) -> ProgressPoint | None:
    try:
        body = json.loads(line)
        step, written = body["step"], datetime.fromisoformat(body["time"])
        if written.tzinfo is None or not _is_count(step):
            return None
        at = written.astimezone(UTC)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    attempt, rank, total = (body.get(name) for name in ("attempt", "rank", "total"))
    return ProgressPoint(
        step=step,
        at=at,
        attempt=attempt if _is_count(attempt) else 0,
        rank=rank if _is_count(rank) else 0,
        total=total if _is_count(total) else None,
        metrics=_numbers(body.get("metrics")),
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_STEP


def _numbers(metrics: Any) -> dict[str, float]:
    """The finite numbers of a JSON object: a loss that is not a number has no place in a series."""
    found = metrics.items() if isinstance(metrics, dict) else ()
    return {name: number for name, value in found if _is_text(name) and (number := _finite(value)) is not None}


def _is_text(name: str) -> bool:
    """JSON can spell halves of characters, which nothing can send on, and a zero, which no database takes."""
    try:
        return "\0" not in name and bool(name.encode())
    except UnicodeEncodeError:
        return False


def _finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def _rate(spoken: list[ProgressPoint]) -> float | None:
    last = spoken[-1]
    first = next(point for point in spoken if last.at - point.at <= RATE_WINDOW)
    seconds = (last.at - first.at).total_seconds()
    steps = last.step - first.step
    return steps / seconds if seconds > 0 and steps > 0 else None


def _eta(last: ProgressPoint, total: int | None, rate: float | None) -> datetime | None:
    if total is None or rate is None or total < last.step:
        return None
    seconds = (total - last.step) / rate
    try:
        return last.at + timedelta(seconds=seconds) if seconds < FARTHEST.total_seconds() else None
    except OverflowError:
        return None


def _thin_out(line: list[SeriesPoint], most: int) -> list[SeriesPoint]:
    """Keep the ends and, of each bucket between them, the point that spans the largest triangle with its neighbours.

    So a spike survives, which an average would flatten and an even choice would miss.
    """
    if len(line) <= most:
        return line
    width = (len(line) - 2) / max(most - 2, 1)
    edges = [1 + int(bucket * width) for bucket in range(most - 2)] + [len(line) - 1]
    buckets = [line[start:end] for start, end in itertools.pairwise(edges)]
    kept = [line[0]]
    for bucket, following in zip(buckets, [*buckets[1:], line[-1:]], strict=False):
        ahead = (statistics.fmean(p.step for p in following), statistics.fmean(p.value for p in following))
        kept.append(max(bucket, key=lambda point: _triangle(kept[-1], point, ahead)))
    return [*kept, line[-1]]


def _triangle(left: SeriesPoint, point: SeriesPoint, right: tuple[float, float]) -> float:
    """Twice the area between three points."""
    return abs((left.step - right[0]) * (point.value - left.value) - (left.step - point.step) * (right[1] - left.value))
