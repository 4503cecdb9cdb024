"""Taking places of pods and giving them back on a table of time, as compiled code. The grid learns of it later: once
per node, before a search looks at it."""

from policies.scheduling.kernels_asks import ASKS, BEGIN, END, LESS, MORE, PODS, SHARE, SINCE, STALE, UNTIL, Kinds, Work
from policies.scheduling.kernels_time import (
    AMOUNTS,
    ANY,
    DEVICES,
    FREE,
    PLANNED,
    SURE,
    Ints,
    Table,
    grade,
    inner,
    join,
    lowest,
    refresh,
    stretch,
)


@inner
def take(
    table: Table, kinds: Kinds, work: Work, role: int, node: int, bits: int, start: int, end: int, owner: int
) -> bool:
    """Hold one pod's place in both layers. Whether layer 1 had room for it."""
    lowest(table, SURE, node, start, end, owner, ANY, work.low)
    sure = has(table, kinds, work, role, bits)
    put(table, kinds, work, role, node, bits, start, end)
    return sure


@inner
def put(table: Table, kinds: Kinds, work: Work, role: int, node: int, bits: int, start: int, end: int) -> None:
    """Hold one pod's place in both layers, whatever they say."""
    change(table, kinds, PLANNED, role, node, bits, start, end, LESS)
    change(table, kinds, SURE, role, node, bits, start, end, LESS)
    _behind(work, node, start, end)


@inner
def give(
    table: Table, kinds: Kinds, work: Work, role: int, node: int, bits: int, start: int, end: int, sure: int
) -> None:
    """Give one pod's place back: until `end` in layer 0, until `sure` in layer 1."""
    change(table, kinds, PLANNED, role, node, bits, start, end, MORE)
    change(table, kinds, SURE, role, node, bits, start, sure, MORE)
    join(table, node, start)
    join(table, node, end)
    join(table, node, sure)
    _behind(work, node, start, end)


@inner
def freshen(table: Table, work: Work) -> None:
    """Bring the grid up to date, before a search looks at it: once per node, however many pods came and went there."""
    for row in range(work.behind[0]):
        node = work.node[row, STALE]
        refresh(table, node, work.node[node, SINCE], work.node[node, UNTIL])
        work.node[node, UNTIL] = 0
    work.behind[0] = 0


@inner
def _behind(work: Work, node: int, start: int, end: int) -> None:
    """Note that the grid does not know yet what changed on a node from `start` until `end`."""
    if end <= start:
        return
    if work.node[node, UNTIL] == 0:
        work.node[work.behind[0], STALE] = node
        work.behind[0] += 1
        work.node[node, SINCE], work.node[node, UNTIL] = start, end
        return
    work.node[node, SINCE] = min(work.node[node, SINCE], start)
    work.node[node, UNTIL] = max(work.node[node, UNTIL], end)


@inner
def change(
    table: Table, kinds: Kinds, layer: int, role: int, node: int, bits: int, start: int, end: int, sign: int
) -> None:
    """Add `sign` times what a pod takes to what is free from `start` until `end`."""
    first, last = stretch(table, node, start, end)
    amounts, devices = table.head[AMOUNTS], table.head[DEVICES]
    base = FREE + layer * (amounts + devices)
    for segment in range(first, last):
        for column in range(amounts):
            table.segment[node, segment, base + column] += sign * kinds.role[role, ASKS + column]
        for device in range(devices):
            if (bits >> device) & 1:
                table.segment[node, segment, base + amounts + device] += sign * kinds.role[role, SHARE]
        if layer == PLANNED:
            grade(table, node, segment)


@inner
def has(table: Table, kinds: Kinds, work: Work, role: int, bits: int) -> bool:
    """Whether what `lowest` left in `work` has the amounts and those devices for one pod."""
    amounts = table.head[AMOUNTS]
    for column in range(amounts):
        if kinds.role[role, ASKS + column] > 0 and work.low[column] < kinds.role[role, ASKS + column]:
            return False
    for device in range(table.head[DEVICES]):
        if (bits >> device) & 1 and work.low[amounts + device] < kinds.role[role, SHARE]:
            return False
    return True


@inner
def undo(
    table: Table, kinds: Kinds, work: Work, kind: int, pods: int, start: int, end: int, nodes: Ints, bits: Ints
) -> None:
    at = 0
    for role in range(kinds.kind[kind, BEGIN], kinds.kind[kind, END]):
        for pod in range(at, min(at + kinds.role[role, PODS], pods)):
            give(table, kinds, work, role, nodes[pod], bits[pod], start, end, end)
        at += kinds.role[role, PODS]
