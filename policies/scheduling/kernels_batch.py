"""Gangs planned one after another on a table of time, as compiled code."""

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.kernels_asks import BEGIN, CLOSER, END, MASK, Kinds, Work, over
from policies.scheduling.kernels_gangs import (
    AGAIN,
    EARLIER,
    FIRM,
    FORCE,
    HOLDER,
    KIND,
    LEAVE,
    LENGTH,
    LINE,
    LOOK,
    MODE,
    PASS,
    PODS_FROM,
    PODS_TO,
    ROWS_PER_GANG,
    SEEK,
    START,
    STOP,
    TWIN,
    Batch,
    again,
    count_up,
    leave,
    pass_by,
    seal,
    vacant,
)
from policies.scheduling.kernels_hold import freshen, undo
from policies.scheduling.kernels_limits import FLOOR, Limits, lets, makes_room, wanted
from policies.scheduling.kernels_room import capacity, inside, place
from policies.scheduling.kernels_seek import seek
from policies.scheduling.kernels_time import (
    ENDLESS,
    FULLEST,
    NEVER,
    NOW,
    ORIGIN,
    PLANNED,
    ROWS,
    STEP,
    Table,
    entry,
    inner,
)
from policies.scheduling.kernels_twins import bound_of, note


@entry
def plan(table: Table, kinds: Kinds, limits: Limits, batch: Batch, work: Work, begin: int) -> int:
    """Treat gangs from the `begin`th on, each under those before it. Returns the first that was not looked at, because
    a node or a holder of limits has no room for more segments."""
    done = _treat(table, kinds, limits, batch, work, begin)
    freshen(table, work)
    return done


@inner
def _treat(table: Table, kinds: Kinds, limits: Limits, batch: Batch, work: Work, begin: int) -> int:
    for gang in range(begin, batch.gang.shape[0]):
        if table.head[FULLEST] + ROWS_PER_GANG > table.segment.shape[1]:
            return gang
        if not makes_room(limits, batch.gang[gang, HOLDER]):
            return gang
        mode = batch.gang[gang, MODE]
        if mode == SEEK:
            _anew(table, kinds, limits, batch, work, gang)
        elif mode == EARLIER:
            _earlier(table, kinds, limits, batch, work, gang)
        elif mode == LEAVE:
            leave(table, kinds, limits, batch, work, gang)
        elif mode >= FORCE or (mode != PASS and vacant(table, kinds, limits, batch, work, gang)):
            batch.gang[gang, FIRM] = 1
            if mode != LOOK:
                again(table, kinds, limits, batch, work, gang)
        elif mode == AGAIN:
            batch.gang[gang, START] = NEVER
        if mode <= PASS:
            pass_by(limits, batch, gang)
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
def _anew(table: Table, kinds: Kinds, limits: Limits, batch: Batch, work: Work, gang: int) -> None:
    twin, length, line = batch.gang[gang, TWIN], batch.gang[gang, LENGTH], batch.gang[gang, LINE]
    last = table.head[ORIGIN] + table.head[STEP] * table.most.shape[0] - 1
    if line >= 0:  # its start depends on who is before it, which tells nothing of others
        _search(table, kinds, limits, batch, work, gang, max(table.head[NOW], limits.line[line, FLOOR]), last)
        return
    bound = max(table.head[NOW], bound_of(work, twin, length))
    _search(table, kinds, limits, batch, work, gang, bound, last)
    note(work, twin, length, batch.gang[gang, START])


@inner
def _earlier(table: Table, kinds: Kinds, limits: Limits, batch: Batch, work: Work, gang: int) -> None:
    before, line, bound = batch.gang[gang, START], batch.gang[gang, LINE], table.head[NOW]
    if line >= 0:
        bound = max(bound, limits.line[line, FLOOR])
    first, last = batch.gang[gang, PODS_FROM], batch.gang[gang, PODS_TO]
    for pod in range(first, last):
        batch.spare[2, pod - first], batch.spare[3, pod - first] = batch.node[pod], batch.bits[pod]
    leave(table, kinds, limits, batch, work, gang)
    if not _search(table, kinds, limits, batch, work, gang, bound, before - 1):
        batch.gang[gang, START] = before
        for pod in range(first, last):
            batch.node[pod], batch.bits[pod] = batch.spare[2, pod - first], batch.spare[3, pod - first]
        again(table, kinds, limits, batch, work, gang)
        return
    for row in range(work.twin.shape[0]):
        work.twin[row, 0, 0] = 0  # what it leaves is free for others


@inner
def _search(
    table: Table, kinds: Kinds, limits: Limits, batch: Batch, work: Work, gang: int, start: int, last: int
) -> bool:
    """Take the earliest places from `start` until `last` that nodes have and limits let it have, if there are any.

    Of a gang that any model of GPU will do for, limits of single models are looked at once its nodes are chosen.
    """
    kind, length, row = batch.gang[gang, KIND], batch.gang[gang, LENGTH], batch.gang[gang, HOLDER]
    nodes, bits = batch.node[batch.gang[gang, PODS_FROM] :], batch.bits[batch.gang[gang, PODS_FROM] :]
    while start <= last:
        let, domain = start, 0
        if row >= 0:
            wanted(limits, kind)
            let = lets(limits, kinds, kind, row, PLANNED, length, start, last)
        if let < NEVER:
            freshen(table, work)
            start, domain = seek(table, kinds, work, kind, length, let, last, batch.spare[0], batch.spare[1])
        if let == NEVER or start == NEVER:
            break
        if row < 0 or start == let or lets(limits, kinds, kind, row, PLANNED, length, start, start) == start:
            _settle(table, kinds, batch, work, gang, start, domain)
            if row < 0 or not limits.mixed[kind]:
                seal(table, kinds, limits, batch, gang)
                return True
            count_up(limits, batch, gang)
            let = lets(limits, kinds, kind, row, PLANNED, length, start, last)
            if let == start:
                seal(table, kinds, limits, batch, gang)
                return True
            undo(table, kinds, work, kind, ENDLESS, start, batch.gang[gang, STOP], nodes, bits)
            start = let
    batch.gang[gang, START] = NEVER
    return False


@inner
def _settle(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int, start: int, domain: int) -> None:
    """Take the places that the search found, closer together if that is preferred and can be."""
    kind = batch.gang[gang, KIND]
    nodes, bits = batch.node[batch.gang[gang, PODS_FROM] :], batch.bits[batch.gang[gang, PODS_FROM] :]
    end = over(kinds, kind, start, batch.gang[gang, LENGTH])
    row, placed = kinds.kind[kind, CLOSER], 0
    if row > 0:
        for part in range(table.head[ROWS + row], table.head[ROWS + row + 1]):
            if placed == 0 and inside(table, part, domain):
                placed = place(table, kinds, work, kind, part, start, end, nodes, bits)
    if placed == 0:
        placed = place(table, kinds, work, kind, domain, start, end, nodes, bits)
    batch.gang[gang, START], batch.gang[gang, STOP], batch.gang[gang, FIRM] = start, end, placed == 2
