"""What is free on each node over time, as compiled code: segments of exact seconds, and a grid that only filters.

A node's time is cut into segments in which nothing changes; the last one has no end. Layer 0 of a segment is what is
free if all goes as planned, layer 1 what is free even if no end comes that nobody declared: what fits into it is firm.
The grid tells per slot how many whole GPUs a node has free at best. It errs upwards only, so it rules out, never in.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

NEVER = 2**62
WHOLE = 1000
NOW, ORIGIN, STEP, FULLEST = 0, 1, 2, 3  # of `clock`

Ints = NDArray[np.int64]


class Table(NamedTuple):
    """N nodes of at most M segments, R amounts, G devices; S slots; D domains, of which 0 has all nodes.

    Level of a node in a slot: 0 no GPU, 1 part of one, 1 + g whole ones. `owner` of a segment: 0 everybody, else the
    reservation's number, -1 nobody. Row 0 of `domain` is all zero, row 1 + l is level l of the topology.
    """

    time: Ints  # [N, M] start of each segment
    size: Ints  # [N] segments in use
    amount: Ints  # [2, N, M, R] free by layer
    device: Ints  # [2, N, M, G] free parts by layer
    owner: Ints  # [N, M]
    most: NDArray[np.int8]  # [S, N] level
    count: NDArray[np.int32]  # [D, G + 2, S] nodes of that level or more
    domain: Ints  # [1 + L, N]
    offset: Ints  # [2 + L] first domain of each row
    first: Ints  # [D + 1] where its nodes begin in `member`
    member: Ints
    unit: Ints  # [R, R] one of each amount
    clock: Ints  # [4]


@njit(cache=True)
def until(start: int, length: int) -> int:
    return NEVER if length >= NEVER else start + length


@njit(cache=True)
def locate(table: Table, node: int, moment: int) -> int:
    """The segment that the moment is in."""
    low, high = 0, table.size[node]
    while high - low > 1:
        middle = (low + high) // 2
        if table.time[node, middle] <= moment:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True)
def change(
    table: Table, layer: int, node: int, start: int, end: int, asks: Ints, bits: int, share: int, sign: int
) -> None:
    """Add `sign` times a pod's amounts and device parts to what is free from `start` until `end`."""
    start = max(start, table.clock[NOW])
    if end <= start:
        return
    first = _cut(table, node, start)
    last = _cut(table, node, end) if end < NEVER else table.size[node]
    for segment in range(first, last):
        for column in range(asks.size):
            table.amount[layer, node, segment, column] += sign * asks[column]
        rest = bits
        while rest:
            device = _lowest(rest)
            table.device[layer, node, segment, device] += sign * share
            rest &= rest - 1


@njit(cache=True)
def own(table: Table, node: int, start: int, end: int, owner: int) -> None:
    """Give the node to one owner from `start` until `end`."""
    start = max(start, table.clock[NOW])
    if end <= start:
        return
    first = _cut(table, node, start)
    last = _cut(table, node, end) if end < NEVER else table.size[node]
    table.owner[node, first:last] = owner
    join(table, node, start)
    join(table, node, end)
    refresh(table, node, start, end)


@njit(cache=True)
def join(table: Table, node: int, moment: int) -> None:
    """Drop the cut at `moment` if nothing changes there."""
    size = table.size[node]
    here = locate(table, node, moment)
    if here == 0 or table.time[node, here] != moment or table.owner[node, here] != table.owner[node, here - 1]:
        return
    for layer in range(2):
        for column in range(table.amount.shape[3]):
            if table.amount[layer, node, here, column] != table.amount[layer, node, here - 1, column]:
                return
        for device in range(table.device.shape[3]):
            if table.device[layer, node, here, device] != table.device[layer, node, here - 1, device]:
                return
    for segment in range(here, size - 1):
        _copy(table, node, segment + 1, segment)
    table.size[node] = size - 1


@njit(cache=True)
def refresh(table: Table, node: int, start: int, end: int) -> None:
    """Bring the grid up to date for one node in the slots that [start, end) touches."""
    origin, step, slots = table.clock[ORIGIN], table.clock[STEP], table.most.shape[0]
    first = max(0, (start - origin) // step)
    last = slots - 1 if end >= NEVER else min(slots - 1, (end - 1 - origin) // step)
    if first > last:
        return
    segment = locate(table, node, origin + first * step)
    best = _level(table, node, segment)
    size = table.size[node]
    for slot in range(first, last + 1):
        begin = origin + slot * step
        while segment + 1 < size and table.time[node, segment + 1] <= begin:
            segment += 1
            best = _level(table, node, segment)
        level = best
        while segment + 1 < size and table.time[node, segment + 1] < begin + step:
            segment += 1
            best = _level(table, node, segment)
            level = max(level, best)
        if level != table.most[slot, node]:
            _show(table, node, slot, level)


@njit(cache=True)
def forget(table: Table, now: int) -> None:
    """Drop what was before `now`, and begin the grid with the slot that it is in."""
    step, slots = table.clock[STEP], table.most.shape[0]
    gone = (now - table.clock[ORIGIN]) // step
    table.clock[NOW] = now
    table.clock[ORIGIN] += gone * step
    table.clock[FULLEST] = 0
    kept = max(0, slots - gone)
    for slot in range(kept):
        table.most[slot] = table.most[slot + gone]
        table.count[:, :, slot] = table.count[:, :, slot + gone]
    table.most[kept:] = 0
    table.count[:, 1:, kept:] = 0
    for node in range(table.size.size):
        past = locate(table, node, now)
        for segment in range(past, table.size[node]):
            _copy(table, node, segment, segment - past)
        table.size[node] -= past
        table.clock[FULLEST] = max(table.clock[FULLEST], table.size[node])
        refresh(table, node, table.clock[ORIGIN] + kept * step, NEVER)


@njit(cache=True)
def lowest(table: Table, layer: int, node: int, start: int, end: int, owner: int, amount: Ints, device: Ints) -> bool:
    """Least free of each amount and device from `start` until `end`, written into the last two.

    False if the node is not the owner's all that time.
    """
    first = locate(table, node, start)
    if table.owner[node, first] != owner:
        return False
    segment, size = first, table.size[node]
    while True:
        for column in range(amount.size):
            here = table.amount[layer, node, segment, column]
            if segment == first or here < amount[column]:
                amount[column] = here
        for number in range(device.size):
            part = table.device[layer, node, segment, number]
            if segment == first or part < device[number]:
                device[number] = part
        segment += 1
        if segment == size or table.time[node, segment] >= end:
            return True
        if table.owner[node, segment] != owner:
            return False


@njit(cache=True)
def _cut(table: Table, node: int, moment: int) -> int:
    """The segment that starts at `moment`, made if there is none."""
    here = locate(table, node, moment)
    if table.time[node, here] == moment:
        return here
    size = table.size[node]
    for segment in range(size - 1, here - 1, -1):
        _copy(table, node, segment, segment + 1)
    table.time[node, here + 1] = moment
    table.size[node] = size + 1
    table.clock[FULLEST] = max(table.clock[FULLEST], size + 1)
    return here + 1


@njit(cache=True)
def _copy(table: Table, node: int, source: int, target: int) -> None:
    table.time[node, target] = table.time[node, source]
    table.owner[node, target] = table.owner[node, source]
    for layer in range(2):
        for column in range(table.amount.shape[3]):
            table.amount[layer, node, target, column] = table.amount[layer, node, source, column]
        for device in range(table.device.shape[3]):
            table.device[layer, node, target, device] = table.device[layer, node, source, device]


@njit(cache=True)
def _level(table: Table, node: int, segment: int) -> int:
    if table.owner[node, segment] != 0:
        return 0
    whole, part = 0, 0
    for device in range(table.device.shape[3]):
        free = table.device[0, node, segment, device]
        if free >= WHOLE:
            whole += 1
        elif free > 0:
            part = 1
    return 1 + whole if whole else part


@njit(cache=True)
def _show(table: Table, node: int, slot: int, level: int) -> None:
    before = table.most[slot, node]
    table.most[slot, node] = level
    step = 1 if level > before else -1
    for row in range(table.domain.shape[0]):
        domain = table.domain[row, node]
        if domain >= 0:
            for passed in range(min(before, level) + 1, max(before, level) + 1):
                table.count[domain, passed, slot] += step


@njit(cache=True)
def _lowest(bits: int) -> int:
    """The number of the lowest bit that is set."""
    number = 0
    while not (bits >> number) & 1:
        number += 1
    return number
