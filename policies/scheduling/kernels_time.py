"""What is free on each node over time, as compiled code: segments of exact seconds, and a grid that only filters.

A node's time is cut into segments in which nothing changes; the last one has no end. Layer 0 of a segment is what is
free if all goes as planned, layer 1 what is free even if no end comes that nobody declared: what fits into it is firm.
The grid tells per slot how many whole GPUs a node has free at best. It errs upwards only, so it rules out, never in.

Few arrays with many columns, and no wrappers where only compiled code calls: both keep compiling short.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NEVER = 2**62
# Constants that are passed on are numpy's: for each plain one everything that it is passed to would be compiled again.
ENDLESS = cast(int, np.int64(NEVER))
PLANNED, SURE = cast(int, np.int64(0)), cast(int, np.int64(1))  # layers
ANY = cast(int, np.int64(0))  # level
WHOLE = 1000
NOW, ORIGIN, STEP, FULLEST, AMOUNTS, DEVICES, ROWS = range(7)  # of `head`; from ROWS on the first domain of each row
# Of a segment; from FREE on amounts and devices of layer 0, then those of layer 1.
TIME, OWNER, LEVEL, FREE = range(4)
FIRST, LAST, ROW = range(3)  # of `span`

Function = TypeVar("Function", bound=Callable[..., Any])


def entry(function: Function) -> Function:
    """Compile what Python calls."""
    return _compiled(function, {})


def inner(function: Function) -> Function:
    """Compile what only compiled code calls."""
    return _compiled(function, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    """Compiled code here makes no arrays, so that none need be counted. What is kept of it on disk is taken again as
    long as the text of its own file is the same, whatever became of the functions in other files that it calls."""
    options = {"cache": True, "_nrt": False, "error_model": "numpy", **options}
    return cast(Function, njit(**options)(function))


class Table(NamedTuple):
    """N nodes of at most M segments, S slots, D domains, of which 0 has all nodes.

    Level: 0 no GPU, 1 part of one, 1 + g whole ones; in a slot, the highest. Owner of a segment: 0 everybody, else the
    reservation's number, -1 nobody. Row 0 of `domain` is all zero, row 1 + l is level l of the topology.
    """

    segment: Ints  # [N, M, columns]
    size: Ints  # [N] segments in use
    head: Ints
    most: NDArray[np.int8]  # [S, N] level
    counts: NDArray[np.int32]  # [D, levels, S] nodes of that level or more
    domain: Ints  # [1 + L, N]
    span: Ints  # [D, 3] where its nodes are in `member`, and its row
    member: Ints


@inner
def locate(table: Table, node: int, moment: int) -> int:
    """The segment that the moment is in."""
    low, high = 0, table.size[node]
    while high - low > 1:
        middle = (low + high) // 2
        if table.segment[node, middle, TIME] <= moment:
            low = middle
        else:
            high = middle
    return low


@inner
def stretch(table: Table, node: int, start: int, end: int) -> tuple[int, int]:
    """The segments from `start`, not before now, until `end`; they are cut there."""
    start = max(start, table.head[NOW])
    if end <= start:
        return 0, 0
    first = _cut(table, node, start)
    return first, _cut(table, node, end) if end < NEVER else table.size[node]


@entry
def own(table: Table, node: int, start: int, end: int, owner: int) -> None:
    """Give the node to one owner from `start` until `end`."""
    first, last = stretch(table, node, start, end)
    if first == last:
        return
    for segment in range(first, last):
        table.segment[node, segment, OWNER] = owner
        grade(table, node, segment)
    join(table, node, start)
    join(table, node, end)
    refresh(table, node, start, end)


@inner
def grade(table: Table, node: int, segment: int) -> None:
    """Set the segment's level anew. Of what is somebody's, others have nothing."""
    whole, part, base = 0, 0, FREE + table.head[AMOUNTS]
    for device in range(table.head[DEVICES]):
        free = table.segment[node, segment, base + device]
        if free >= WHOLE:
            whole += 1
        elif free > 0:
            part = 1
    level = 1 + whole if whole else part
    table.segment[node, segment, LEVEL] = level if table.segment[node, segment, OWNER] == 0 else 0


@inner
def join(table: Table, node: int, moment: int) -> None:
    """Drop the cut at `moment` if nothing changes there."""
    size = table.size[node]
    here = locate(table, node, moment)
    if here == 0 or table.segment[node, here, TIME] != moment:
        return
    for column in range(OWNER, table.segment.shape[2]):
        if table.segment[node, here, column] != table.segment[node, here - 1, column]:
            return
    for segment in range(here, size - 1):
        _copy(table, node, segment + 1, segment)
    table.size[node] = size - 1


@inner
def refresh(table: Table, node: int, start: int, end: int) -> None:
    """Bring the grid up to date for one node in the slots that [start, end) touches."""
    origin, step, slots = table.head[ORIGIN], table.head[STEP], table.most.shape[0]
    first = max(0, (start - origin) // step)
    last = slots - 1 if end >= NEVER else min(slots - 1, (end - 1 - origin) // step)
    if first > last:
        return
    segment = locate(table, node, origin + first * step)
    size = table.size[node]
    for slot in range(first, last + 1):
        begin = origin + slot * step
        while segment + 1 < size and table.segment[node, segment + 1, TIME] <= begin:
            segment += 1
        level = table.segment[node, segment, LEVEL]
        while segment + 1 < size and table.segment[node, segment + 1, TIME] < begin + step:
            segment += 1
            level = max(level, table.segment[node, segment, LEVEL])
        if level != table.most[slot, node]:
            _show(table, node, slot, level)


@entry
def forget(table: Table, now: int) -> None:
    """Drop what was before `now`, and begin the grid with the slot that it is in."""
    step, slots = table.head[STEP], table.most.shape[0]
    gone = (now - table.head[ORIGIN]) // step
    table.head[NOW] = now
    table.head[ORIGIN] += gone * step
    table.head[FULLEST] = 0
    kept = max(0, slots - gone)
    for slot in range(slots):
        for node in range(table.size.size):
            table.most[slot, node] = table.most[slot + gone, node] if slot < kept else 0
    for domain in range(table.counts.shape[0]):
        for level in range(1, table.counts.shape[1]):
            for slot in range(slots):
                table.counts[domain, level, slot] = table.counts[domain, level, slot + gone] if slot < kept else 0
    for node in range(table.size.size):
        past = locate(table, node, now)
        for segment in range(past, table.size[node]):
            _copy(table, node, segment, segment - past)
        table.size[node] -= past
        table.head[FULLEST] = max(table.head[FULLEST], table.size[node])
        refresh(table, node, table.head[ORIGIN] + kept * step, ENDLESS)


@inner
def lowest(table: Table, layer: int, node: int, start: int, end: int, owner: int, level: int, low: Ints) -> bool:
    """Least free of each amount and device from `start` until `end`, written into `low`.

    False if the node is not the owner's all that time, or not at that level at least.
    """
    segment, size = locate(table, node, start), table.size[node]
    if table.segment[node, segment, OWNER] != owner or table.segment[node, segment, LEVEL] < level:
        return False
    base = FREE + layer * low.size
    for column in range(low.size):
        low[column] = table.segment[node, segment, base + column]
    segment += 1
    while segment < size and table.segment[node, segment, TIME] < end:
        if table.segment[node, segment, OWNER] != owner or table.segment[node, segment, LEVEL] < level:
            return False
        for column in range(low.size):
            low[column] = min(low[column], table.segment[node, segment, base + column])
        segment += 1
    return True


@inner
def _cut(table: Table, node: int, moment: int) -> int:
    """The segment that starts at `moment`, made if there is none."""
    here = locate(table, node, moment)
    if table.segment[node, here, TIME] == moment:
        return here
    size = table.size[node]
    for segment in range(size - 1, here - 1, -1):
        _copy(table, node, segment, segment + 1)
    table.segment[node, here + 1, TIME] = moment
    table.size[node] = size + 1
    table.head[FULLEST] = max(table.head[FULLEST], size + 1)
    return here + 1


@inner
def _copy(table: Table, node: int, source: int, target: int) -> None:
    for column in range(table.segment.shape[2]):
        table.segment[node, target, column] = table.segment[node, source, column]


@inner
def _show(table: Table, node: int, slot: int, level: int) -> None:
    before = table.most[slot, node]
    table.most[slot, node] = level
    step = 1 if level > before else -1
    for row in range(table.domain.shape[0]):
        domain = table.domain[row, node]
        if domain >= 0:
            for passed in range(min(before, level) + 1, max(before, level) + 1):
                table.counts[domain, passed, slot] += step
