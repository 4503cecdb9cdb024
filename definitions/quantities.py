"""Quantities as people write them: durations (`1h30m`), sizes (`10Gi`), processor shares (`500m`).

Each kind has one grammar, one canonical spelling, and `parse(format(x)) == x`. What the grammar refuses is answered
with the form to write instead, because the usual mistakes (`3:00`, `90`, `10GB`) mean different things to different
tools and guessing would be silent.
"""

import re
from datetime import timedelta
from decimal import Decimal

LONGEST_DURATION = timedelta(days=3650)
LARGEST_SIZE = 2**63 - 1  # bytes
MOST_CPUS = 1_000_000  # thousandths would pass any machine long before this

_DURATION = re.compile(r"(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?")
_DURATION_UNITS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}  # milliseconds
_DURATION_WORDS = {"day": "d", "hour": "h", "hr": "h", "minute": "m", "min": "m", "second": "s", "sec": "s"}
_NUMBER_AND_WORD = r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([A-Za-z]{1,9})"
_SIZE = re.compile(r"([0-9]+)(Ki|Mi|Gi|Ti|Pi|[kKMGTP])?")
_SIZE_UNITS: dict[str, int] = {
    "": 1,
    **{prefix: 1000**power for power, prefix in enumerate("kMGTP", start=1)},
    **{f"{prefix}i": 1024**power for power, prefix in enumerate("KMGTP", start=1)},
}
_DURATION_FORMS = "write a number with a unit: 30s, 90m, 24h, 7d, or several in falling order: 1h30m"
_SIZE_FORMS = "write 500M (decimal), 10Gi (binary), or a whole number of bytes"


class QuantityError(ValueError):
    """A quantity that cannot be read. `what` says what is wrong with it, `fix` which form to write."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.what = what
        self.fix = fix


def parse_duration(value: object) -> timedelta:
    """Read `90m`, `24h`, `7d`, `1d12h`, `250ms`. Raises QuantityError, with the form to write where it can be told."""
    if isinstance(value, timedelta):
        return _within_duration(value, str(value))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise QuantityError(f"{_shown(value)} is not a duration", _DURATION_FORMS)
    text = str(value)
    match = _DURATION.fullmatch(text)
    if not match or not any(match.groups()):
        raise QuantityError(*_duration_advice(text))
    digits = zip(match.groups(), _DURATION_UNITS.values(), strict=True)
    milliseconds = sum(_digits(count, text) * unit for count, unit in digits if count)
    if milliseconds > LONGEST_DURATION // timedelta(milliseconds=1):
        raise QuantityError(f"{text} is longer than ten years", "write at most 3650d")
    return _milliseconds(milliseconds)


def format_duration(value: timedelta) -> str:
    """Spell a duration canonically. Whole milliseconds only, which is all that `parse_duration` lets in."""
    rest = value // timedelta(milliseconds=1)
    parts = []
    for unit, size in _DURATION_UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_size(value: object) -> int:
    """Read `10Gi`, `500M` or a whole number of bytes. Raises QuantityError."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise QuantityError(f"{_shown(value)} is not a size", _SIZE_FORMS)
    match = _SIZE.fullmatch(str(value))
    if not match:
        raise QuantityError(*_size_advice(str(value)))
    count, unit = match.groups(default="")
    size = _digits(count, str(value)) * _SIZE_UNITS["k" if unit == "K" else unit]
    if size > LARGEST_SIZE:
        raise QuantityError(f"{value} is larger than any store", "write less than 8192Pi")
    return size


def format_size(value: int) -> str:
    """Spell a size with the unit that makes it shortest, binary before decimal."""
    exact = [f"{value // size}{unit}" for unit, size in _SIZE_UNITS.items() if value % size == 0 and value >= size]
    return min(reversed(exact), key=len, default="0")


def parse_cpus(value: object) -> int:
    """Read `2`, `0.5` or `500m` as thousandths of a processor. Raises QuantityError."""
    fix = "write whole processors (2), a fraction (0.5), or thousandths (500m)"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise QuantityError(f"{_shown(value)} is not a number of processors", fix)
    text = str(value)
    match = re.fullmatch(r"([0-9]{1,9})(m)?|([0-9]{1,6}\.[0-9]{1,3})", text)
    if not match:
        raise QuantityError(f"{text} is not a number of processors", fix)
    whole, thousandths, fraction = match.groups()
    cpus = int(Decimal(fraction) * 1000) if fraction else int(whole) * (1 if thousandths else 1000)
    if cpus > MOST_CPUS * 1000:
        raise QuantityError(f"{text} is more than {MOST_CPUS} processors", fix)
    return cpus


def format_cpus(value: int) -> str:
    return str(value // 1000) if value % 1000 == 0 else f"{value}m"


def _within_duration(value: timedelta, shown: str) -> timedelta:
    if value < timedelta(0):
        raise QuantityError(f"{shown} is negative", _DURATION_FORMS)
    if value > LONGEST_DURATION:
        raise QuantityError(f"{shown} is longer than ten years", "write at most 3650d")
    if value % timedelta(milliseconds=1):
        raise QuantityError(f"{shown} is finer than a millisecond", "round it to milliseconds")
    return value


def _milliseconds(count: int) -> timedelta:
    return timedelta(milliseconds=count)


def _duration_advice(text: str) -> tuple[str, str]:
    """Say what is wrong with a duration and what its author may have meant."""
    bare = text.strip()
    if bare != text and bare and _DURATION.fullmatch(bare):
        return f"{text!r} has spaces around it", f"write {bare}"
    if re.fullmatch(r"[0-9]{1,9}", bare):
        return f"{bare} has no unit", f"write {bare}s, {bare}m or {bare}h"
    if match := re.fullmatch(r"([0-9]{1,4}):([0-9]{1,2})", bare):
        return _two_fields(bare, int(match[1]), int(match[2]))
    if match := re.fullmatch(r"(?:([0-9]{1,4})-)?([0-9]{1,4}):([0-9]{1,2}):([0-9]{1,2})", bare):
        return f"{bare} is a clock time, not a duration", f"write {_from_fields(match)}"
    if match := re.fullmatch(r"P(?:([0-9]{1,4})D)?(?:T(?:([0-9]{1,6})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,6})S)?)?", bare):
        return f"{bare} is an ISO 8601 duration", f"write {_from_fields(match)}"
    if re.fullmatch(rf"(?:{_NUMBER_AND_WORD}\s*)+", bare):
        return _numbers_and_words(bare)
    return f"{_shown(text)} is not a duration", _DURATION_FORMS


def _from_fields(match: re.Match[str]) -> str:
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return format_duration(timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds))


def _two_fields(text: str, first: int, second: int) -> tuple[str, str]:
    short = timedelta(minutes=first, seconds=second)
    long = timedelta(hours=first, minutes=second)
    if short == long:
        return f"{text} is a clock time, not a duration", f"write {format_duration(short)}"
    return (
        f"{text} could mean {_in_words(short)} or {_in_words(long)}",
        f"write {format_duration(short)} or {format_duration(long)}",
    )


def _numbers_and_words(text: str) -> tuple[str, str]:
    """`1.5h`, `5 minutes`, `30s1h`: clear enough to say what to write instead."""
    total = Decimal(0)
    for number, word in re.findall(_NUMBER_AND_WORD, text):
        unit = _duration_unit(word)
        if unit is None:
            return f"{_shown(text)} has the unit {word!r}, which is no unit of time here", "use d, h, m, s or ms"
        total += Decimal(number) * _DURATION_UNITS[unit]
    if total != int(total) or total > LONGEST_DURATION // timedelta(milliseconds=1):
        return f"{_shown(text)} is not a duration", _DURATION_FORMS
    return f"{_shown(text)} is not how durations are spelled", f"write {format_duration(_milliseconds(int(total)))}"


def _duration_unit(word: str) -> str | None:
    lower = word.lower()
    if lower in _DURATION_UNITS:
        return lower
    return _DURATION_WORDS.get(lower.removesuffix("s"))


def _in_words(value: timedelta) -> str:
    hours, rest = divmod(value // timedelta(seconds=1), 3600)
    minutes, seconds = divmod(rest, 60)
    named = ((hours, "hour"), (minutes, "minute"), (seconds, "second"))
    return " ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in named if count) or "0 seconds"


def _size_advice(text: str) -> tuple[str, str]:
    bare = text.strip()
    match = re.fullmatch(r"([0-9]{1,15})(\.[0-9]{1,6})?\s*([A-Za-z]*)", bare)
    if not match:
        return f"{_shown(text)} is not a size", _SIZE_FORMS
    number, word = Decimal(match[1] + (match[2] or "")), match[3]
    if word == "m":
        return f"{bare} ends in m, which means thousandths", f"write {match[1]}M (decimal) or {match[1]}Mi (binary)"
    if match[2] is None and (letter := _size_letter(word)) and word != letter:
        return f"{bare} is not how sizes are spelled", f"write {match[1]}{letter} or {match[1]}{letter.upper()}i"
    size = number * _SIZE_UNITS.get("k" if word == "K" else word, 0)
    if size and size == int(size):
        return f"{bare} has a fraction", f"write {format_size(int(size))}"
    return f"{bare} is not a size", _SIZE_FORMS


def _size_letter(word: str) -> str | None:
    """The decimal unit that `GB`, `gib` or `g` stand for."""
    lower = word.lower().removesuffix("b").removesuffix("i")
    return next((unit for unit in "kMGTP" if unit.lower() == lower), None)


def _digits(text: str, shown: str) -> int:
    if len(text) > 19:
        raise QuantityError(f"{_shown(shown)} has too many digits", "write it with a larger unit")
    return int(text)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
