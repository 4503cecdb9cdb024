"""How long to wait before a child that ended is started again. Pure: time and chance are arguments."""

FIRST = 0.2
LONGEST = 30.0
STABLE_AFTER = 10.0
MOST_ONCE_READY = 4


def delay(failures: int, chance: float) -> float:
    """Seconds before the next start after `failures` (1, 2, ...) ends in a row: doubling, capped, within ±25 %.

    `chance` is in [0, 1): without it, children that fell together would come back together.
    """
    doubled = min(LONGEST, FIRST * 2.0 ** min(failures - 1, 16))
    return doubled * (0.75 + 0.5 * chance)


def failures_after(failures: int, ready_for: float | None) -> int:
    """The count of ends in a row after one more end; `ready_for` is None for a child that never became ready.

    One that had been ready for a while starts afresh. One that had been ready at all was rather ended from outside than
    by a fault that is always there, so its wait stays short: others depend on it.
    """
    if ready_for is None:
        return failures + 1
    return 1 if ready_for >= STABLE_AFTER else min(failures + 1, MOST_ONCE_READY)
