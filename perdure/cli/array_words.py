"""Arrays: as `--array` takes them, and as people read them."""

from __future__ import annotations

import re
from typing import Any

from perdure.codes import USAGE
from perdure.errors import PerdureError

RANGE = re.compile(r"(\d{1,7})-(\d{1,7})(?::(\d{1,7}))?(?:%(\d{1,7}))?")
SHOWN = (("Running", "running"), ("Queued", "waiting"), ("Succeeded", "done"), ("Failed", "failed"))


def array_of(given: str | None) -> dict[str, int] | None:
    """`0-99:2%10` as spec.array. Raises PerdureError PD-2901 for what does not read so."""
    if given is None:
        return None
    found = RANGE.fullmatch(given)
    if found is None:
        remedy = "Write --array 0-99 for a hundred jobs, 0-99:2 for every second one, 0-99%10 for ten at once."
        raise PerdureError(
            USAGE, f"{given!r} does not read as FIRST-LAST[:STEP][%LIMIT]", where="--array", remedy=remedy
        )
    names = ("first", "last", "step", "limit")
    return {name: int(text) for name, text in zip(names, found.groups(), strict=True) if text is not None}


def indexes(array: Any) -> str:
    """`0-99:2`."""
    return f"{array.first}-{array.last}" + (f":{array.step}" if array.step != 1 else "")


def array_brief(array: Any) -> str:
    """`array 0-99: 12 running, 30 done, 58 to come`; nothing for a job that is none."""
    if array is None:
        return ""
    counts = _counts(array)
    known = [(name, counts.pop(phase)) for phase, name in SHOWN if phase in counts]
    others = [(phase.lower(), count) for phase, count in counts.items()]
    parts = [f"{count} {name}" for name, count in [*known, *others]]
    parts += [f"{array.left} to come"] if array.left else []
    return f"array {indexes(array)}: {', '.join(parts)}"


def array_lines(array: Any) -> list[tuple[str, str]]:
    """The properties of an array; none for a job that is none."""
    if array is None:
        return []
    size = f"{indexes(array)}, {array.count} jobs, at most {array.limit} at once"
    counts = [f"{count} {phase}" for phase, count in _counts(array).items()]
    counts += [f"{array.left} not made yet"] if array.left else []
    return [("array", size), ("jobs", ", ".join(counts)), ("failed", ", ".join(map(str, array.failed or ())))]


def array_plan(array: Any) -> str:
    """What a submit would make."""
    return "" if array is None else f"{indexes(array)}: {array.count} such jobs, at most {array.limit} at once"


def _counts(array: Any) -> dict[str, int]:
    return {str(phase): count for phase, count in (array.jobs or {}).items()}
