"""Cron lines and calendar fields: checked, and taken apart into ranges.

A cron line has five fields. Where tools disagree the line is refused: a line that restricts both the day of the month
and the day of the week fires on either for some tools, and only when both hold for others.
"""

import re
from calendar import monthrange
from typing import NamedTuple

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(r"(?:(\*)|([0-9a-z]+)(?:-([0-9a-z]+))?)(?:/([0-9]{1,4}))?")


class Field(NamedTuple):
    """What one field of a calendar may hold."""

    label: str
    first: int
    last: int
    words: tuple[str, ...] = ()
    first_word: int = 0  # the number that the first word stands for


SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY_OF_MONTH = Field("day of month", 1, 31)
MONTH = Field("month", 1, 12, _MONTHS, 1)
DAY_OF_WEEK = Field("day of week", 0, 7, _DAYS)  # 0 and 7 are Sunday
YEAR = Field("year", 2000, 2100)
LINE = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)


class Range(NamedTuple):
    """`first`, then every `step` up to `last`, both included."""

    first: int
    last: int
    step: int


class CronError(ValueError):
    """A line or field that cannot be read."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.what = what
        self.fix = fix


class CronLine(NamedTuple):
    """A cron line, taken apart."""

    minute: tuple[Range, ...]
    hour: tuple[Range, ...]
    day_of_month: tuple[Range, ...]
    month: tuple[Range, ...]
    day_of_week: tuple[Range, ...]


def parse_line(text: str) -> CronLine:
    """Take a cron line apart. Raises CronError, also for a line whose date never comes."""
    fields = MACROS.get(text, text).split()
    if len(fields) != len(LINE):
        what = f"{text!r} has {len(fields)} fields" if not text.startswith("@") else f"{text!r} is not known"
        raise CronError(what, 'write five: minute, hour, day of month, month, day of week, such as "30 3 * * *"')
    line = CronLine(*(parse_field(word, field) for word, field in zip(fields, LINE, strict=True)))
    if not fields[2].startswith("*") and not fields[4].startswith("*"):
        what = f"{text!r} restricts both the day of the month and the day of the week, which tools read differently"
        raise CronError(what, "use two lines if either may match, or calendars if both must")
    if not any_date(line.month, line.day_of_month):
        raise CronError(f"{text!r} never comes: no such month has such a day", "correct day or month")
    return line


def parse_field(text: str, field: Field) -> tuple[Range, ...]:
    """Take one field apart: `*`, `5`, `1-5`, `*/15`, `mon-fri`, and lists of these. Raises CronError."""
    return tuple(_part(part, text, field) for part in text.lower().split(","))


def any_date(months: tuple[Range, ...], days: tuple[Range, ...]) -> bool:
    """Whether any of the months ever has any of the days; leap years count."""
    first = min(day.first for day in days)
    return any(first <= monthrange(2024, month)[1] for month in values(months))


def values(ranges: tuple[Range, ...]) -> tuple[int, ...]:
    return tuple(sorted({value for r in ranges for value in range(r.first, r.last + 1, r.step)}))


def _part(part: str, text: str, field: Field) -> Range:
    match = _PART.fullmatch(part)
    if not match:
        raise CronError(f"{text!r} is not a {field.label}", f"write {_allowed(field)}, *, a-b, */n, or a list of these")
    every, first, last, step = match.groups()
    if step == "0" or (step and int(step) == 0):
        raise CronError(f"{part!r} has a step of 0", "write a step of 1 or more")
    if every:
        return Range(field.first, 6 if field is DAY_OF_WEEK else field.last, int(step or 1))
    low = _number(first, field)
    high = _number(last, field) if last else (field.last if step else low)
    if high < low:
        raise CronError(f"{part!r} goes backwards", f"write two parts, {low}-{field.last},{field.first}-{high}")
    return Range(low, high, int(step or 1))


def _number(word: str, field: Field) -> int:
    if word in field.words:
        return field.words.index(word) + field.first_word
    if word.isdecimal() and len(word) <= 4 and field.first <= int(word) <= field.last:
        return int(word)
    raise CronError(f"{word!r} is not a {field.label}", f"write {_allowed(field)}")


def _allowed(field: Field) -> str:
    words = f" or {field.words[0]} to {field.words[-1]}" if field.words else ""
    return f"a number from {field.first} to {field.last}{words}"
