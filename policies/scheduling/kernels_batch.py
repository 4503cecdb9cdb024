"""Gangs planned one after another on a table of time, as compiled code."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.kernels_asks import (
    BEGIN,
    CLOSER,
    END,
    LESS,
    MASK,
    MORE,
    OWNED,
    WORD,
    Kinds,
    Work,
    over,
)
from policies.scheduling.kernels_room import capacity, change, give, has, inside, place, take
from policies.scheduling.kernels_seek import seek
from policies.scheduling.kernels_time import (
    ANY,
    ENDLESS,
    FREE,
    FULLEST,
    NEVER,
    NOW,
    ORIGIN,
    PLANNED,
    ROWS,
    STEP,
    SURE,
    Ints,
    Table,
    entry,
    inner,
    join,
    lowest,
    stretch,
)

SEEK, EARLIER, AGAIN, FORCE, LOOK, LEAVE = range(6)  # modes
KIND, MODE, LENGTH, DECLARED, START, STOP, HELD, FIRM, PODS_FROM, PODS_TO = range(10)  # of a gang
ROWS_PER_GANG = 4  # segments that one gang may add to a node's


class Batch(NamedTuple):
    """Gangs in order, with their places where they have some.

    SEEK the earliest place; EARLIER: give the place up for an earlier one, or keep it; AGAIN: take the old place if it
    is free; FORCE: it is there, whatever the table says; LOOK: is FIRM if the place is free, takes nothing; LEAVE it.
    START is NEVER for a gang that gets no place. HELD: when layer 1 has its places back.
    """

    gang: Ints
    role: Ints  # by pod, from PODS_FROM until PODS_TO of its gang
    node: Ints
    bits: Ints  # devices
    spare: Ints  # [2, pods of the largest gang] scratch


@entry
def plan(table: Table, kinds: Kinds, batch: Batch, work: Work, begin: int) -> int:
    """Treat gangs from the `begin`th on, each under those before it. Returns the first that was not looked at, because
    a node has no room for more segments."""
    for gang in range(begin, batch.gang.shape[0]):
        if table.head[FULLEST] + ROWS_PER_GANG > table.segment.shape[1]:
            return gang
        mode = batch.gang[gang, MODE]
        if mode == SEEK:
            _anew(table, kinds, batch, work, gang)
        elif mode == EARLIER:
            _earlier(table, kinds, batch, work, gang)
        elif mode == LEAVE:
            _leave(table, kinds, batch, gang)
        elif mode == FORCE or _vacant(table, kinds, batch, work, gang):
            batch.gang[gang, FIRM] = 1
            if mode != LOOK:
                _again(table, kinds, batch, work, gang)
        elif mode == AGAIN:
            batch.gang[gang, START] = NEVER
    return int(batch.gang.shape[0])


@entry
def free_now(table: Table, kinds: Kinds, work: Work, kind: int, length: int, found: NDArray[np.bool_]) -> None:
    """Nodes that can hold a pod of any role from now on for that long."""
    now = table.head[NOW]
    end = over(kinds, kind, now, length)
    for node in range(found.size):
        for role in range(kinds.kind[kind, BEGIN], kinds.kind[kind, END]):
            if not found[node] and kinds.masks[kinds.role[role, MASK], node]:
                found[node] = capacity(table, kinds, work, kind, role, node, now, end) > 0


@inner
def _anew(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int) -> None:
    kind, length = batch.gang[gang, KIND], batch.gang[gang, LENGTH]
    bound = max(table.head[NOW], _twin(work, kind, length))
    last = table.head[ORIGIN] + table.head[STEP] * table.most.shape[0] - 1
    start, domain = seek(table, kinds, work, kind, length, bound, last, batch.spare[0], batch.spare[1])
    batch.gang[gang, START] = start
    _note(work, kind, length, start)
    if start < NEVER:
        _settle(table, kinds, batch, work, gang, domain)


@inner
def _earlier(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int) -> None:
    kind, length, now = batch.gang[gang, KIND], batch.gang[gang, LENGTH], table.head[NOW]
    last = batch.gang[gang, START] - 1
    _leave(table, kinds, batch, gang)
    start, domain = seek(table, kinds, work, kind, length, now, last, batch.spare[0], batch.spare[1])
    if start == NEVER:
        _again(table, kinds, batch, work, gang)
        return
    for row in range(work.twin.shape[0]):
        work.twin[row, 0, 0] = 0  # what it leaves is free for others
    batch.gang[gang, START] = start
    _settle(table, kinds, batch, work, gang, domain)


@inner
def _settle(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int, domain: int) -> None:
    """Take the places that the search found, closer together if that is preferred and can be."""
    kind, start = batch.gang[gang, KIND], batch.gang[gang, START]
    nodes, bits = batch.node[batch.gang[gang, PODS_FROM] :], batch.bits[batch.gang[gang, PODS_FROM] :]
    end = over(kinds, kind, start, batch.gang[gang, LENGTH])
    row, placed = kinds.kind[kind, CLOSER], 0
    if row > 0:
        for part in range(table.head[ROWS + row], table.head[ROWS + row + 1]):
            if placed == 0 and inside(table, part, domain):
                placed = place(table, kinds, work, kind, part, start, end, nodes, bits)
    if placed == 0:
        placed = place(table, kinds, work, kind, domain, start, end, nodes, bits)
    batch.gang[gang, STOP], batch.gang[gang, FIRM] = end, placed == 2
    _seal(table, kinds, batch, gang)


@inner
def _again(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int) -> None:
    """Take the places that the gang had. One that is forced has its end, and is certain to be there."""
    kind, start = batch.gang[gang, KIND], batch.gang[gang, START]
    forced = batch.gang[gang, MODE] == FORCE
    end = batch.gang[gang, STOP] if forced else over(kinds, kind, start, batch.gang[gang, LENGTH])
    firm = True
    for pod in range(batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]):
        role, node, bits = batch.role[pod], batch.node[pod], batch.bits[pod]
        firm &= take(table, kinds, work, role, node, bits, start, end, kinds.kind[kind, OWNED])
    batch.gang[gang, STOP], batch.gang[gang, FIRM] = end, firm or forced
    _seal(table, kinds, batch, gang)


@inner
def _seal(table: Table, kinds: Kinds, batch: Batch, gang: int) -> None:
    """Hold a gang's places in layer 1 for good if its end is not certain."""
    start, end = batch.gang[gang, START], batch.gang[gang, STOP]
    certain = batch.gang[gang, FIRM] and batch.gang[gang, DECLARED]
    batch.gang[gang, HELD] = end if certain else NEVER
    _words(table, kinds, batch, gang, LESS)
    for pod in range(batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]):
        role, node, bits = batch.role[pod], batch.node[pod], batch.bits[pod]
        if not certain:
            change(table, kinds, SURE, role, node, bits, end, ENDLESS, LESS)
        join(table, node, start)
        join(table, node, end)


@inner
def _leave(table: Table, kinds: Kinds, batch: Batch, gang: int) -> None:
    start, end, held = batch.gang[gang, START], batch.gang[gang, STOP], batch.gang[gang, HELD]
    _words(table, kinds, batch, gang, MORE)
    for pod in range(batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]):
        give(table, kinds, batch.role[pod], batch.node[pod], batch.bits[pod], start, end, held)


@inner
def _words(table: Table, kinds: Kinds, batch: Batch, gang: int, sign: int) -> None:
    """Mark each of its nodes as one that no other gang with its word may share, or unmark it."""
    word = kinds.kind[batch.gang[gang, KIND], WORD]
    if word < 0:
        return
    for pod in range(batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]):
        again = False
        for other in range(batch.gang[gang, PODS_FROM], pod):
            again |= batch.node[other] == batch.node[pod]
        if not again:
            _mark(table, batch.node[pod], batch.gang[gang, START], batch.gang[gang, STOP], FREE + word, sign)
            column = FREE + (table.segment.shape[2] - FREE) // 2 + word
            _mark(table, batch.node[pod], batch.gang[gang, START], batch.gang[gang, HELD], column, sign)


@inner
def _mark(table: Table, node: int, start: int, end: int, column: int, sign: int) -> None:
    first, last = stretch(table, node, start, end)
    for segment in range(first, last):
        table.segment[node, segment, column] += sign


@inner
def _vacant(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int) -> bool:
    """Whether a gang's places are free all its time. Each pod is taken for a moment, so that the next one sees it."""
    kind, start, first = batch.gang[gang, KIND], batch.gang[gang, START], batch.gang[gang, PODS_FROM]
    end, word, owner = (
        over(kinds, kind, start, batch.gang[gang, LENGTH]),
        kinds.kind[kind, WORD],
        kinds.kind[kind, OWNED],
    )
    free, taken = start >= table.head[NOW] and end > start, first
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
def _twin(work: Work, kind: int, length: int) -> int:
    """A gang starts no sooner than an equal or shorter one of its kind could, on the same table or an emptier one."""
    bound = 0
    for row in range(1, 1 + work.twin[kind, 0, 0]):
        if work.twin[kind, row, 0] <= length:
            bound = max(bound, work.twin[kind, row, 1])
    return bound


@inner
def _note(work: Work, kind: int, length: int, start: int) -> None:
    """Remember a search's result, in place of those that tell no more than it."""
    kept = 1
    for row in range(1, 1 + work.twin[kind, 0, 0]):
        other, its = work.twin[kind, row, 0], work.twin[kind, row, 1]
        if other <= length and its >= start:
            return
        if not (other >= length and its <= start):
            work.twin[kind, kept, 0], work.twin[kind, kept, 1] = other, its
            kept += 1
    if kept < work.twin.shape[1]:
        work.twin[kind, kept, 0], work.twin[kind, kept, 1] = length, start
        kept += 1
    work.twin[kind, 0, 0] = kept - 1
