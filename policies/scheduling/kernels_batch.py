"""Gangs planned one after another on a table of time, as compiled code."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from policies.scheduling.kernels_room import Kinds, Work, capacity, give, has, inside, over, place, take
from policies.scheduling.kernels_seek import seek
from policies.scheduling.kernels_time import (
    FULLEST,
    NEVER,
    NOW,
    ORIGIN,
    STEP,
    Ints,
    Table,
    change,
    join,
    lowest,
)

SEEK, EARLIER, AGAIN, FORCE = 0, 1, 2, 3  # modes of a row in a batch
ROWS_PER_GANG = 4  # segments that one gang may add to a node's


class Batch(NamedTuple):
    """Gangs in order, with their places where they have some. Pods of gang i: `first[i]` until `first[i + 1]`.

    Modes: SEEK the earliest place; EARLIER: give the place up for an earlier one or keep it; AGAIN: take the old place
    if it is free; FORCE: it is there, whatever the table says.
    """

    kind: Ints
    mode: Ints
    length: Ints
    declared: Ints  # whether it ends when it says
    floor: Ints  # it starts no sooner
    start: Ints  # in and out; NEVER: nowhere before the horizon
    end: Ints
    sure: Ints  # when layer 1 has its places back
    firm: Ints
    first: Ints
    node: Ints
    bits: Ints  # devices


@njit(cache=True)
def plan(table: Table, kinds: Kinds, batch: Batch, work: Work, begin: int) -> int:
    """Place gangs from the `begin`th on, each under those before it. Returns the first that was not looked at, because
    a node has no room for more segments."""
    for gang in range(begin, batch.kind.size):
        if table.clock[FULLEST] + ROWS_PER_GANG > table.time.shape[1]:
            return gang
        mode = batch.mode[gang]
        if mode == EARLIER:
            _earlier(table, kinds, batch, work, gang)
        elif mode == FORCE or (mode == AGAIN and _vacant(table, kinds, batch, work, gang)):
            _again(table, kinds, batch, work, gang)
        elif mode == AGAIN:
            batch.start[gang] = NEVER
        else:
            _anew(table, kinds, batch, work, gang)
    return batch.kind.size


@njit(cache=True)
def remove(table: Table, kinds: Kinds, batch: Batch) -> None:
    """Give back all places of the gangs."""
    for gang in range(batch.kind.size):
        _out(table, kinds, batch, gang)


@njit(cache=True)
def free_now(table: Table, kinds: Kinds, work: Work, kind: int, length: int, found: NDArray[np.bool_]) -> None:
    """Nodes that can hold a pod of any role from now on for that long."""
    now = table.clock[NOW]
    end = over(kinds, kind, now, length)
    for node in range(found.size):
        for role in range(kinds.first[kind], kinds.first[kind + 1]):
            if not found[node] and kinds.masks[kinds.mask[role], node]:
                found[node] = capacity(table, kinds, work, kind, role, node, now, end) > 0


@njit(cache=True)
def vacant(table: Table, kinds: Kinds, batch: Batch, work: Work) -> bool:
    """Whether the first gang's places are free from its start until its end. Takes nothing."""
    return _vacant(table, kinds, batch, work, 0)


@njit(cache=True)
def _anew(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int) -> None:
    kind, length = batch.kind[gang], batch.length[gang]
    bound = max(batch.floor[gang], table.clock[NOW], _twin(work, kind, length))
    last = table.clock[ORIGIN] + table.clock[STEP] * table.most.shape[0] - 1
    nodes, bits = batch.node[batch.first[gang] :], batch.bits[batch.first[gang] :]
    start, domain = seek(table, kinds, work, kind, length, bound, last, nodes, bits)
    batch.start[gang] = start
    if start < NEVER:
        _settle(table, kinds, batch, work, gang, domain)
    if batch.floor[gang] <= table.clock[NOW]:
        _note(work, kind, length, start)


@njit(cache=True)
def _earlier(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int) -> None:
    bound = max(batch.floor[gang], table.clock[NOW])
    before = batch.start[gang]
    _out(table, kinds, batch, gang)
    nodes = batch.node[batch.first[gang] : batch.first[gang + 1]].copy()
    bits = batch.bits[batch.first[gang] : batch.first[gang + 1]].copy()
    start, domain = seek(table, kinds, work, batch.kind[gang], batch.length[gang], bound, before - 1, nodes, bits)
    if start < NEVER:
        work.used[:] = 0  # what it leaves is free for others
        batch.start[gang] = start
        _settle(table, kinds, batch, work, gang, domain)
        return
    _again(table, kinds, batch, work, gang)


@njit(cache=True)
def _settle(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int, domain: int) -> None:
    """Take the places that the search found, closer together if that is preferred and can be."""
    kind, start = batch.kind[gang], batch.start[gang]
    nodes, bits = batch.node[batch.first[gang] :], batch.bits[batch.first[gang] :]
    end = over(kinds, kind, start, batch.length[gang])
    row, placed = kinds.preferred[kind], 0
    if row > 0:
        for inner in range(table.offset[row], table.offset[row + 1]):
            if placed == 0 and inside(table, inner, domain):
                placed = place(table, kinds, work, kind, inner, start, end, nodes, bits)
    if placed == 0:
        placed = place(table, kinds, work, kind, domain, start, end, nodes, bits)
    _seal(table, kinds, batch, gang, end, placed == 2)


@njit(cache=True)
def _again(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int) -> None:
    """Take the places that the gang had."""
    kind, start = batch.kind[gang], batch.start[gang]
    if batch.mode[gang] != FORCE:
        batch.end[gang] = over(kinds, kind, start, batch.length[gang])
    firm, at = True, batch.first[gang]
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        for pod in range(at, at + kinds.pods[role]):
            node, bits = batch.node[pod], batch.bits[pod]
            firm &= take(table, kinds, work, role, node, bits, start, batch.end[gang], kinds.owner[kind])
        at += kinds.pods[role]
    _seal(table, kinds, batch, gang, batch.end[gang], firm or batch.mode[gang] == FORCE)


@njit(cache=True)
def _seal(table: Table, kinds: Kinds, batch: Batch, gang: int, end: int, firm: bool) -> None:
    """Write down what a gang took, and hold it in layer 1 for good if its end is not certain."""
    batch.end[gang], batch.firm[gang] = end, firm
    batch.sure[gang] = end if firm and batch.declared[gang] else NEVER
    _words(table, kinds, batch, gang, -1)
    kind, at = batch.kind[gang], batch.first[gang]
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        for pod in range(at, at + kinds.pods[role]):
            node, bits = batch.node[pod], batch.bits[pod]
            if batch.sure[gang] > end:
                change(table, 1, node, end, NEVER, kinds.asks[role], bits, kinds.share[role], -1)
            join(table, node, batch.start[gang])
            join(table, node, end)
        at += kinds.pods[role]


@njit(cache=True)
def _out(table: Table, kinds: Kinds, batch: Batch, gang: int) -> None:
    kind, at = batch.kind[gang], batch.first[gang]
    _words(table, kinds, batch, gang, 1)
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        for pod in range(at, at + kinds.pods[role]):
            node, bits = batch.node[pod], batch.bits[pod]
            give(table, kinds, role, node, bits, batch.start[gang], batch.end[gang], batch.sure[gang])
        at += kinds.pods[role]


@njit(cache=True)
def _words(table: Table, kinds: Kinds, batch: Batch, gang: int, sign: int) -> None:
    """Mark each of its nodes as one that no other gang with its word may share, or unmark it."""
    word = kinds.word[batch.kind[gang]]
    if word < 0:
        return
    for pod in range(batch.first[gang], batch.first[gang + 1]):
        if batch.node[pod] not in batch.node[batch.first[gang] : pod]:
            unit, node, start = table.unit[word], batch.node[pod], batch.start[gang]
            change(table, 0, node, start, batch.end[gang], unit, 0, 0, sign)
            change(table, 1, node, start, batch.sure[gang], unit, 0, 0, sign)


@njit(cache=True)
def _vacant(table: Table, kinds: Kinds, batch: Batch, work: Work, gang: int) -> bool:
    kind, start, at = batch.kind[gang], batch.start[gang], batch.first[gang]
    end = over(kinds, kind, start, batch.length[gang])
    if start < max(table.clock[NOW], batch.floor[gang]) or end <= start:
        return False
    word, owner = kinds.word[kind], kinds.owner[kind]
    taken, free = 0, True
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        for pod in range(at, at + kinds.pods[role]):
            node, bits = batch.node[pod], batch.bits[pod]
            if free:
                free = kinds.masks[kinds.mask[role], node]
                free = free and lowest(table, 0, node, start, end, owner, work.amount, work.device)
                free = free and has(kinds, work, role, bits) and (word < 0 or work.amount[word] >= 1)
            if free:
                change(table, 0, node, start, end, kinds.asks[role], bits, kinds.share[role], -1)
                taken += 1
        at += kinds.pods[role]
    at = batch.first[gang]
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        for pod in range(at, min(at + kinds.pods[role], batch.first[gang] + taken)):
            change(table, 0, batch.node[pod], start, end, kinds.asks[role], batch.bits[pod], kinds.share[role], 1)
            join(table, batch.node[pod], start)
            join(table, batch.node[pod], end)
        at += kinds.pods[role]
    return free


@njit(cache=True)
def _twin(work: Work, kind: int, length: int) -> int:
    """A gang starts no sooner than an equal or shorter one of its kind could, on the same table or an emptier one."""
    bound = 0
    for row in range(work.used[kind]):
        if work.lengths[kind, row] <= length:
            bound = max(bound, work.starts[kind, row])
    return bound


@njit(cache=True)
def _note(work: Work, kind: int, length: int, start: int) -> None:
    """Remember a search's result, in place of those that tell no more than it."""
    kept = 0
    for row in range(work.used[kind]):
        other, its = work.lengths[kind, row], work.starts[kind, row]
        if other <= length and its >= start:
            return
        if not (other >= length and its <= start):
            work.lengths[kind, kept], work.starts[kind, kept] = other, its
            kept += 1
    if kept < work.lengths.shape[1]:
        work.lengths[kind, kept], work.starts[kind, kept] = length, start
        kept += 1
    work.used[kind] = kept
