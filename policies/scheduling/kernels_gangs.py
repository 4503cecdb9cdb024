"""Gangs of a batch at their places in a table of time and within their limits, as compiled code."""

from typing import NamedTuple

from policies.scheduling.kernels_asks import LESS, MASK, MORE, OWNED, WORD, Kinds, Work, over
from policies.scheduling.kernels_hold import change, give, has, put, take
from policies.scheduling.kernels_limits import CERTAIN, FLOOR, Limits, count, hold, lets, release, tally
from policies.scheduling.kernels_time import (
    ANY,
    ENDLESS,
    FREE,
    NEVER,
    NOW,
    PLANNED,
    SURE,
    Ints,
    Table,
    inner,
    join,
    lowest,
    stretch,
)

SEEK, EARLIER, AGAIN, PASS, LOOK, LEAVE, FORCE, KNOWN = range(8)  # modes
KIND, MODE, LENGTH, DECLARED, START, STOP, HELD, FIRM, PODS_FROM, PODS_TO, TWIN, HOLDER, LINE = range(13)  # of a gang
ROWS_PER_GANG = 4  # segments that one gang may add to a node's


class Batch(NamedTuple):
    """Gangs in order, with their places where they have some.

    SEEK the earliest place; EARLIER: give the place up for an earlier one, or keep it; AGAIN: take the old place if it
    is free; PASS: it has its place, or none, and nobody behind it in its strict queue starts before it; LOOK: is FIRM
    if the place is free, takes nothing; LEAVE it; FORCE: it is there, whatever the table says; KNOWN: and is counted
    against its limits for ever. START is NEVER for a gang that gets no place. HELD: when layer 1 has its places back.
    TWIN: whose earlier searches bound its own. HOLDER: of limits, the first that bounds it, LINE: that of its strict
    queue; -1 for none.
    """

    gang: Ints
    role: Ints  # by pod, from PODS_FROM until PODS_TO of its gang
    node: Ints
    bits: Ints  # devices
    spare: Ints  # [4, pods of the largest gang] scratch


@inner
def vacant(table: Table, kinds: Kinds, limits: Limits, batch: Batch, work: Work, gang: int) -> bool:
    """Whether a gang's places are free, and its limits let it, all its time. Each pod is taken for a moment, so that
    the next one sees it."""
    kind, start, first = batch.gang[gang, KIND], batch.gang[gang, START], batch.gang[gang, PODS_FROM]
    length, row, owner = batch.gang[gang, LENGTH], batch.gang[gang, HOLDER], kinds.kind[kind, OWNED]
    end, word = over(kinds, kind, start, length), kinds.kind[kind, WORD]
    free, taken = start >= table.head[NOW] and end > start, first
    if free and row >= 0:
        count_up(limits, batch, gang)
        free = lets(limits, kinds, kind, row, PLANNED, length, start, start) == start
    for pod in range(first, batch.gang[gang, PODS_TO]):
        role, node, bits = batch.role[pod], batch.node[pod], batch.bits[pod]
        free = free and kinds.masks[kinds.role[role, MASK], node]
        free = free and lowest(table, PLANNED, node, start, end, owner, ANY, work.low)
        free = free and has(table, kinds, work, role, bits) and (word < 0 or work.low[word] >= 1)
        if free:
            change(table, kinds, PLANNED, role, node, bits, start, end, LESS)
            taken += 1
    for pod in range(first, taken):
        change(table, kinds, PLANNED, batch.role[pod], batch.node[pod], batch.bits[pod], start, end, MORE)
        join(table, batch.node[pod], start)
        join(table, batch.node[pod], end)
    return bool(free)


@inner
def again(table: Table, kinds: Kinds, limits: Limits, batch: Batch, work: Work, gang: int) -> None:
    """Take the places that the gang had. One that is forced has its end, and is certain to be there."""
    kind, start, mode = batch.gang[gang, KIND], batch.gang[gang, START], batch.gang[gang, MODE]
    forced = mode >= FORCE
    end = batch.gang[gang, STOP] if forced else over(kinds, kind, start, batch.gang[gang, LENGTH])
    firm = True
    for pod in range(batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]):
        role, node, bits = batch.role[pod], batch.node[pod], batch.bits[pod]
        if forced:
            put(table, kinds, work, role, node, bits, start, end)
        else:
            firm &= take(table, kinds, work, role, node, bits, start, end, kinds.kind[kind, OWNED])
    batch.gang[gang, STOP], batch.gang[gang, FIRM] = end, firm or forced
    seal(table, kinds, limits, batch, gang)


@inner
def seal(table: Table, kinds: Kinds, limits: Limits, batch: Batch, gang: int) -> None:
    """Count a gang against its limits, and hold its places in layer 1 for good if its end is not certain."""
    start, end, mode, row = (
        batch.gang[gang, START],
        batch.gang[gang, STOP],
        batch.gang[gang, MODE],
        batch.gang[gang, HOLDER],
    )
    if mode < FORCE:
        batch.gang[gang, FIRM] &= _surely(kinds, limits, batch, gang)
    certain = batch.gang[gang, FIRM] and batch.gang[gang, DECLARED]
    batch.gang[gang, HELD] = end if certain else NEVER
    _words(table, kinds, batch, gang, LESS)
    for pod in range(batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]):
        role, node, bits = batch.role[pod], batch.node[pod], batch.bits[pod]
        if not certain:
            change(table, kinds, SURE, role, node, bits, end, ENDLESS, LESS)
        join(table, node, start)
        join(table, node, end)
    if row >= 0:
        count_up(limits, batch, gang)
        if mode == KNOWN:
            count(limits, row, PLANNED, end, ENDLESS, LESS)
            count(limits, row, SURE, batch.gang[gang, HELD], ENDLESS, LESS)
        else:
            hold(limits, row, start, end, batch.gang[gang, HELD])


@inner
def leave(table: Table, kinds: Kinds, limits: Limits, batch: Batch, work: Work, gang: int) -> None:
    start, end, held = batch.gang[gang, START], batch.gang[gang, STOP], batch.gang[gang, HELD]
    _words(table, kinds, batch, gang, MORE)
    for pod in range(batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]):
        give(table, kinds, work, batch.role[pod], batch.node[pod], batch.bits[pod], start, end, held)
    if batch.gang[gang, HOLDER] >= 0:
        count_up(limits, batch, gang)
        release(limits, batch.gang[gang, HOLDER], start, end, held)


@inner
def pass_by(limits: Limits, batch: Batch, gang: int) -> None:
    """Nobody behind it in its strict queue starts before it."""
    line = batch.gang[gang, LINE]
    if line >= 0:
        limits.line[line, FLOOR] = max(limits.line[line, FLOOR], batch.gang[gang, START])
        limits.line[line, CERTAIN] &= batch.gang[gang, FIRM]


@inner
def _surely(kinds: Kinds, limits: Limits, batch: Batch, gang: int) -> bool:
    """Whether its limits let it start even if no end comes that was not declared, and who is before it is certain."""
    kind, start, row, line = (
        batch.gang[gang, KIND],
        batch.gang[gang, START],
        batch.gang[gang, HOLDER],
        batch.gang[gang, LINE],
    )
    if line >= 0 and not limits.line[line, CERTAIN]:
        return False
    if row < 0:
        return True
    count_up(limits, batch, gang)
    return bool(lets(limits, kinds, kind, row, SURE, batch.gang[gang, LENGTH], start, start) == start)


@inner
def count_up(limits: Limits, batch: Batch, gang: int) -> None:
    first, last = batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]
    tally(limits, batch.gang[gang, KIND], batch.role[first:last], batch.node[first:last])


@inner
def _words(table: Table, kinds: Kinds, batch: Batch, gang: int, sign: int) -> None:
    """Mark each of its nodes as one that no other gang with its word may share, or unmark it."""
    word = kinds.kind[batch.gang[gang, KIND], WORD]
    if word < 0:
        return
    for pod in range(batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]):
        seen = False
        for other in range(batch.gang[gang, PODS_FROM], pod):
            seen |= batch.node[other] == batch.node[pod]
        if not seen:
            _mark(table, batch.node[pod], batch.gang[gang, START], batch.gang[gang, STOP], FREE + word, sign)
            column = FREE + (table.segment.shape[2] - FREE) // 2 + word
            _mark(table, batch.node[pod], batch.gang[gang, START], batch.gang[gang, HELD], column, sign)


@inner
def _mark(table: Table, node: int, start: int, end: int, column: int, sign: int) -> None:
    first, last = stretch(table, node, start, end)
    for segment in range(first, last):
        table.segment[node, segment, column] += sign
