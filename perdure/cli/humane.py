"""Quantities and times as people read and write them. Pure: the time is an argument."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")
BARS = "▁▂▃▄▅▆▇█"


def duration(text: str) -> timedelta:
    """Read `90s`, `1h30m`, `2d`. Raises ValueError saying how to write it."""
    parts = DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration; write it like 30s, 5m or 1h30m")
    return timedelta(seconds=sum(float(number) * UNITS[unit] for number, unit in parts))


def moment(text: str, now: datetime) -> datetime:
    """Read a duration as so long ago, or a time with its zone (RFC 3339). Raises ValueError."""
    if DURATION.match(text) and text[-1:].isalpha() and "T" not in text:
        return now - duration(text)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time; write it like 10m, or like 2026-01-31T18:00:00Z") from None
    if read.tzinfo is None:
        raise ValueError(f"{text!r} does not say in which time zone; add Z, or an offset such as +01:00")
    return read.astimezone(UTC)


def lasting(span: timedelta | None) -> str:
    """The two biggest units of a duration: `1d4h`, `5m12s`, `0s`; empty for None."""
    if span is None:
        return ""
    seconds = max(0, int(span.total_seconds()))
    amounts = [(seconds // 86_400, "d"), (seconds // 3_600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")]
    first = next((at for at, (amount, _) in enumerate(amounts) if amount), len(amounts) - 1)
    shown = amounts[first : first + 2]
    return "".join(f"{amount}{unit}" for amount, unit in shown if amount or len(shown) == 1) or "0s"


def ago(at: datetime | None, now: datetime) -> str:
    return "" if at is None else f"{lasting(now - at)} ago" if at <= now else f"in {lasting(at - now)}"


def size(count: int | None) -> str:
    """Bytes in binary units."""
    if count is None:
        return ""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def count(amount: int, one: str, many: str) -> str:
    return f"{amount} {one if amount == 1 else many}"


def number(value: float | None) -> str:
    """A metric's value in at most six significant digits."""
    return "" if value is None else f"{value:.6g}"


def sparkline(values: list[float], width: int) -> str:
    """Values as bars, the least as the lowest. More values than `width` are averaged in groups."""
    finite = [value for value in values if value == value and abs(value) != float("inf")]
    if not finite:
        return ""
    groups = min(width, len(finite))
    edges = [round(at * len(finite) / groups) for at in range(groups + 1)]
    means = [sum(finite[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    if high == low:
        return BARS[3] * groups
    return "".join(BARS[int((mean - low) / (high - low) * (len(BARS) - 1) + 0.5)] for mean in means)
