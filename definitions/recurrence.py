"""On which days something happens again, in fields: a subset of the recurrence rules of RFC 5545."""

import re
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from definitions.scheduling_types import WallTime
from definitions.spec_types import Conflict, Label, Line, SpecModel, Whole, raise_conflicts, refusal

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = re.compile(r"(-?[1-5])?(mon|tue|wed|thu|fri|sat|sun)")


class Day(NamedTuple):
    """A day of the week, Monday is 0; with `nth` the first, second, … or from -1 back the last of the month."""

    weekday: int
    nth: int | None = None

    def is_on(self, day: date) -> bool:
        if day.weekday() != self.weekday:
            return False
        if self.nth is None:
            return True
        from_end = ((day.replace(day=28) + timedelta(days=4)).replace(day=1) - day).days
        return self.nth == ((day.day - 1) // 7 + 1 if self.nth > 0 else -((from_end - 1) // 7 + 1))


def read_day(text: str) -> Day:
    """A day as it stands in a document, `mon` or `-1fri`."""
    match = _DAY.fullmatch(text)
    if not match:
        fix = "write mon to sun, and for months also 1mon (the first) or -1fri (the last)"
        raise refusal("PD-1603", f"{text!r} is not a day of the week", fix)
    return Day(WEEKDAYS.index(match[2]), int(match[1]) if match[1] else None)


def _day(text: str) -> str:
    read_day(text)
    return text


RuleDay = Annotated[Line, AfterValidator(_day), Label("day")]


class Frequency(StrEnum):
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class Recurrence(SpecModel):
    """How it comes again. Weeks begin on Monday. Without `count` and `until` it has no end."""

    frequency: Frequency = Field(description="What is counted.", examples=["weekly"])
    interval: Whole = Field(1, ge=1, le=366, description="Every so many of them.", examples=[2])
    days: tuple[RuleDay, ...] = Field(
        (),
        max_length=35,
        description="Days of the week, `mon` to `sun`; for months also `1mon`, the first Monday, or `-1fri`, the last "
        "Friday. Left out: the day of the start.",
        examples=[["mon", "wed"]],
    )
    count: Whole | None = Field(None, ge=1, le=10_000, description="How often in all.", examples=[10])
    until: WallTime | None = Field(
        None, description="The last local time at which it may begin.", examples=["2027-12-31T23:59"]
    )

    @property
    def read_days(self) -> tuple[Day, ...]:
        return tuple(read_day(text) for text in self.days)

    @model_validator(mode="after")
    def _rules(self) -> Self:
        found = []
        if self.count is not None and self.until is not None:
            found.append(Conflict("until", "count and until both say when it ends", "remove one of the two"))
        for index, text in enumerate(self.days):
            if read_day(text).nth is not None and self.frequency is not Frequency.MONTHLY:
                what = f"{text} counts within a month, and frequency is {self.frequency.value}"
                found.append(Conflict(f"days.{index}", what, f"write {text.lstrip('-12345')}, or frequency: monthly"))
            if text in self.days[:index]:
                found.append(Conflict(f"days.{index}", f"{text} is there twice", "remove one of the two"))
        raise_conflicts(found)
        return self


def start_fault(rule: Recurrence, start: datetime) -> Conflict | None:
    """Why the rule does not begin at this start; the first of its days must be the start's."""
    if rule.until is not None and rule.until < start:
        return Conflict("repeat.until", "until is before the first start", "make until later, or start earlier")
    if not rule.days or any(day.is_on(start.date()) for day in rule.read_days):
        return None
    days = ", ".join(rule.days)
    what = f"{start.date()} is a {WEEKDAYS[start.weekday()]}, which is none of the days that it is repeated on ({days})"
    return Conflict("start", what, f"start on {_next_day(rule, start.date())}, or correct repeat.days")


def _next_day(rule: Recurrence, day: date) -> date:
    """The first day on or after that the rule names; every kind of day comes within some months."""
    return next(
        later
        for later in (day + timedelta(days=ahead) for ahead in range(366))
        if any(each.is_on(later) for each in rule.read_days)
    )
