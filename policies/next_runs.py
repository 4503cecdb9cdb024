"""When a schedule fires next, known before the engine knows of it. Without jitter.

The engine gives the same times, but for one hour a year: where clocks are set back east of Greenwich, it leaves out
some times of schedules that fire several times within that hour.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from heapq import merge
from zoneinfo import ZoneInfo

from definitions import cron
from definitions.schedule import Calendar, ScheduleSpec
from definitions.wire import Wire

NOTHING = timedelta(0)
HORIZON_DAYS = 366 * 40  # the engine looks no farther either: what has not come by then never does


class Times(Wire):
    """A calendar taken apart: every value that each field may have."""

    second: tuple[int, ...]
    minute: tuple[int, ...]
    hour: tuple[int, ...]
    day_of_month: frozenset[int]
    month: frozenset[int]
    day_of_week: frozenset[int]  # Sunday is 0
    year: frozenset[int] | None  # None: every year


def next_runs(spec: ScheduleSpec, after: datetime, count: int) -> tuple[datetime, ...]:
    """The next `count` times later than `after`, in UTC; fewer when the schedule ends before."""
    begin = max(after, spec.start_at - timedelta(microseconds=1)) if spec.start_at else after
    zone = ZoneInfo(spec.time_zone)
    found: list[datetime] = []
    for moment in merge(*(_moments(times, zone, begin) for times in times_of(spec))):
        if spec.end_at is not None and moment > spec.end_at:
            break
        if not found or moment != found[-1]:
            found.append(moment)
        if len(found) == count:
            break
    return tuple(found)


def times_of(spec: ScheduleSpec) -> tuple[Times, ...]:
    """Cron lines and calendars in one form."""
    return (
        *(_of_line(cron.parse_line(line)) for line in spec.cron),
        *(_of_calendar(entry) for entry in spec.calendars),
    )


def _of_line(line: cron.CronLine) -> Times:
    return Times(
        second=(0,),
        minute=cron.values(line.minute),
        hour=cron.values(line.hour),
        day_of_month=frozenset(cron.values(line.day_of_month)),
        month=frozenset(cron.values(line.month)),
        day_of_week=_week(cron.values(line.day_of_week)),
        year=None,
    )


def _of_calendar(entry: Calendar) -> Times:
    return Times(
        second=cron.values(cron.parse_field(entry.second, cron.SECOND)),
        minute=cron.values(cron.parse_field(entry.minute, cron.MINUTE)),
        hour=cron.values(cron.parse_field(entry.hour, cron.HOUR)),
        day_of_month=frozenset(cron.values(cron.parse_field(entry.day_of_month, cron.DAY_OF_MONTH))),
        month=frozenset(cron.values(cron.parse_field(entry.month, cron.MONTH))),
        day_of_week=_week(cron.values(cron.parse_field(entry.day_of_week, cron.DAY_OF_WEEK))),
        year=None if entry.year == "*" else frozenset(cron.values(cron.parse_field(entry.year, cron.YEAR))),
    )


def _week(days: tuple[int, ...]) -> frozenset[int]:
    return frozenset(day % 7 for day in days)


def _moments(times: Times, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Moments later than `after`, in order. Where a clock is set back, local times of a day are not."""
    first = after.astimezone(zone).date() - timedelta(days=1)
    for day in _days(times, first):
        yield from sorted(moment for moment in _of_day(times, zone, day) if moment > after)


def _days(times: Times, first: date) -> Iterator[date]:
    for offset in range(HORIZON_DAYS):
        day = first + timedelta(days=offset)
        if times.year is not None and day.year > max(times.year):
            return
        if _is_on(times, day):
            yield day


def _is_on(times: Times, day: date) -> bool:
    if times.year is not None and day.year not in times.year:
        return False
    return day.month in times.month and day.day in times.day_of_month and day.isoweekday() % 7 in times.day_of_week


def _of_day(times: Times, zone: ZoneInfo, day: date) -> Iterator[datetime]:
    for hour in times.hour:
        for minute in times.minute:
            for second in times.second:
                yield from _instants(datetime.combine(day, time(hour, minute, second), zone))


def _instants(local: datetime) -> tuple[datetime, ...]:
    """When a local time comes: never where clocks skip it.

    What comes twice, where clocks are set back, is as the engine has it: west of Greenwich both, elsewhere the second.
    """
    first, second = (local.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second:
        return (first,)
    if first > second:
        return ()
    offset = local.replace(fold=1).utcoffset()
    return (first, second) if offset is not None and offset < NOTHING else (second,)
