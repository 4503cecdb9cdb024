"""Sets of whole numbers as ranges, so that a million of them that lie together are two numbers. Pure."""

from bisect import bisect_right
from collections.abc import Iterator

from definitions.array_state import Ranges


def span(start: int, count: int) -> Ranges:
    """`count` numbers from `start` on."""
    return ((start, start + count - 1),) if count > 0 else ()


def ranges_of(numbers: list[int]) -> Ranges:
    """Numbers in any order, each once or more often."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def appended(ranges: Ranges, start: int, count: int) -> Ranges:
    """With `count` numbers from `start` on, which is above all that are there."""
    if count <= 0:
        return ranges
    if ranges and ranges[-1][1] == start - 1:
        return (*ranges[:-1], (ranges[-1][0], start + count - 1))
    return (*ranges, (start, start + count - 1))


def size(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


def has(ranges: Ranges, number: int) -> bool:
    return _holding(ranges, number) is not None


def without(ranges: Ranges, number: int) -> Ranges:
    """The same when it is not in them."""
    at = _holding(ranges, number)
    if at is None:
        return ranges
    first, last = ranges[at]
    rest = [part for part in ((first, number - 1), (number + 1, last)) if part[0] <= part[1]]
    return (*ranges[:at], *rest, *ranges[at + 1 :])


def minus(ranges: Ranges, others: Ranges) -> Ranges:
    """What is in the first and not in the second."""
    left: list[tuple[int, int]] = []
    at = 0
    for first, last in ranges:
        while at < len(others) and others[at][1] < first:
            at += 1
        look = at
        while look < len(others) and others[look][0] <= last:
            low, high = others[look]
            if first < low:
                left.append((first, low - 1))
            first = max(first, high + 1)
            look += 1
        if first <= last:
            left.append((first, last))
    return tuple(left)


def both(ranges: Ranges, others: Ranges) -> Ranges:
    """What is in each of the two."""
    return minus(ranges, minus(ranges, others))


def head(ranges: Ranges, most: int) -> Ranges:
    """The lowest `most` numbers."""
    found: list[tuple[int, int]] = []
    for first, last in ranges:
        if most <= 0:
            break
        end = min(last, first + most - 1)
        found.append((first, end))
        most -= end - first + 1
    return tuple(found)


def numbers(ranges: Ranges) -> Iterator[int]:
    for first, last in ranges:
        yield from range(first, last + 1)


def _holding(ranges: Ranges, number: int) -> int | None:
    """Which range holds a number."""
    at = bisect_right(ranges, number, key=lambda part: part[0]) - 1
    return at if at >= 0 and number <= ranges[at][1] else None
