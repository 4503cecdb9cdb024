"""The days that a rule of recurrence names, without any time of day or zone."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from definitions.recurrence import WEEKDAYS, Day, Frequency, Recurrence

LAST_YEAR = 8999  # of the calendar that is looked at; nothing is reserved for longer


class Missing(NamedTuple):
    """A day that the rule names and that its month does not have."""

    day: str
    why: str
    month_end: date


def days(rule: Recurrence | None, start: date) -> Iterator[date | Missing]:
    """Days from the start on, in order, as far as the calendar goes; `count` and `until` are not looked at."""
    if rule is None:
        yield start
        return
    found = {Frequency.DAILY: _daily, Frequency.WEEKLY: _weekly, Frequency.MONTHLY: _monthly}[rule.frequency]
    for day in found(rule, start):
        if isinstance(day, Missing) or day >= start:
            yield day


def _daily(rule: Recurrence, start: date) -> Iterator[date]:
    wanted = rule.read_days
    for day in _steps(start, rule.interval):
        if not wanted or any(each.is_on(day) for each in wanted):
            yield day


def _weekly(rule: Recurrence, start: date) -> Iterator[date]:
    weekdays = sorted({day.weekday for day in rule.read_days}) or [start.weekday()]
    for monday in _steps(start - timedelta(days=start.weekday()), 7 * rule.interval):
        yield from (monday + timedelta(days=weekday) for weekday in weekdays)


def _monthly(rule: Recurrence, start: date) -> Iterator[date | Missing]:
    month = start.year * 12 + start.month - 1
    while month // 12 <= LAST_YEAR:
        first = date(month // 12, month % 12 + 1, 1)
        last = first.replace(day=monthrange(first.year, first.month)[1])
        if rule.days:
            yield from _named_days(first, last, rule.read_days)
        elif start.day <= last.day:
            yield first.replace(day=start.day)
        else:
            yield Missing(f"{first:%Y-%m}-{start.day}", "the month has no such day", last)
        month += rule.interval


def _named_days(first: date, last: date, wanted: tuple[Day, ...]) -> Iterator[date | Missing]:
    month = [first.replace(day=number) for number in range(1, last.day + 1)]
    for each in wanted:
        if each.nth is not None and not any(each.is_on(day) for day in month):
            yield Missing(f"{first:%Y-%m}", f"the month has no {each.nth}{WEEKDAYS[each.weekday]}", last)
    yield from (day for day in month if any(each.is_on(day) for each in wanted))


def _steps(start: date, step: int) -> Iterator[date]:
    day = start
    while day.year <= LAST_YEAR:
        yield day
        day += timedelta(days=step)
