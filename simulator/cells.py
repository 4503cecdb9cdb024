"""How cells of trace and node files are read: each raises BadCell or QuantityError, which say what to write instead."""

from collections.abc import Callable
from datetime import datetime

from definitions.quantities import parse_cpus, parse_size
from policies.scheduling.model import WHOLE
from simulator.rows import BadCell

LONGEST_TEXT = 200


def text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise BadCell(f"{value!r} is no name", f"write a text of at most {LONGEST_TEXT} letters")
    return value


def whole(least: int, most: int = 10**9) -> Callable[[object], int]:
    """Reads a whole number between two."""

    def read(value: object) -> int:
        try:
            number = int(str(value)) if not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            raise BadCell(f"{value!r} is no whole number from {least} to {most}", f"write a number such as {least}")
        return number

    return read


def moment(value: object) -> int:
    """Whole seconds, or a time with its zone; fractions of a second are cut off."""
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):
        pass
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadCell(f"{value!r} is no time", "write seconds, or a time with its zone: 2026-01-31T18:00:00Z")
    return int(found.timestamp())


def gpus(value: object) -> tuple[int, int]:
    """Devices, and the share of each in 1/1000: `8` whole ones, `0.25` of one."""
    fix = "write a whole number of GPUs, or a part of one such as 0.25"
    try:
        number = float(str(value)) if not isinstance(value, bool) else -1.0
    except ValueError:
        number = -1.0
    share = round(number * WHOLE) if number >= 0 and number < 10**6 else -1
    if share < 0 or abs(share - number * WHOLE) > 1e-6:
        raise BadCell(f"{value!r} is no number of GPUs", fix)
    if share < WHOLE and share:
        return 1, share
    if share % WHOLE:
        raise BadCell(f"{value} GPUs are neither whole nor a part of one", fix)
    return share // WHOLE, WHOLE


def cpus(value: object) -> int:
    return parse_cpus(value)


def size(value: object) -> int:
    return parse_size(value)
