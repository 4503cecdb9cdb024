"""The arrays of a profile: made for nodes on which nothing is held, and made larger when they are full."""

import numpy as np

from policies.scheduling.kernels_asks import Work
from policies.scheduling.kernels_time import AMOUNTS, DEVICES, FREE, Ints, Table
from policies.scheduling.model import WHOLE
from policies.scheduling.nodes import Nodes

SEGMENTS = 32  # of each node at first
TWINS = 512  # searches that are remembered of each kind


def empty_table(nodes: Nodes, columns: int, now: int, step: int, horizon: int) -> Table:
    """Nodes on which everything is free from `now` on. Slots of `step` seconds cover `horizon` and begin on its
    multiples. `columns`: amounts that are counted by node; those that nodes do not tell are one each."""
    size, devices = len(nodes.names), max(1, nodes.free_gpu.shape[1])
    slots = horizon // step + 1
    free = np.ones((size, columns + devices), np.int64)
    free[:, : 2 + len(nodes.profiles)] = np.column_stack([nodes.cpu, nodes.memory, nodes.slices])
    free[:, columns:] = np.where(np.arange(devices) < nodes.gpus[:, None], WHOLE, -1)
    segment = np.zeros((size, SEGMENTS, FREE + 2 * free.shape[1]), np.int64)
    level = np.where(nodes.gpus > 0, 1 + nodes.gpus, 0)
    segment[:, 0] = np.column_stack([np.full(size, now), np.zeros(size, np.int64), level, free, free])
    domain, rows, span, member = _domains(nodes)
    passed = (level[member][:, None] >= np.arange(devices + 2)).astype(np.int32)
    count = np.add.reduceat(passed, span[:, 0], axis=0) if size else np.zeros((1, devices + 2), np.int32)
    return Table(
        segment=segment,
        size=np.ones(size, np.int64),
        head=np.array([now, now // step * step, step, 1, columns, devices, *rows], np.int64),
        most=np.repeat(level.astype(np.int8)[None, :], slots, axis=0),
        counts=np.repeat(count[:, :, None], slots, axis=2).astype(np.int32),
        domain=domain,
        span=span,
        member=member,
    )


def more_segments(table: Table) -> Table:
    """The same with twice the segments for each node."""
    return table._replace(segment=np.pad(table.segment, ((0, 0), (0, table.segment.shape[1]), (0, 0))))


def more_amounts(table: Table, columns: int) -> Table:
    """The same with further amounts, of which every node has one."""
    before, devices = int(table.head[AMOUNTS]), int(table.head[DEVICES])
    ends = (FREE + before, FREE + 2 * before + devices)  # of the amounts of either layer
    segment = np.insert(table.segment, np.repeat(ends, columns - before), 1, axis=2)
    head = table.head.copy()
    head[AMOUNTS] = columns
    return table._replace(segment=segment, head=head)


def work_for(table: Table, kinds: int) -> Work:
    """Scratch for a search among so many kinds; it remembers none yet."""
    node = np.zeros((table.size.size, 7), np.int64)
    low = np.zeros(int(table.head[AMOUNTS] + table.head[DEVICES]), np.int64)
    return Work(node, np.zeros(1, np.int64), low, np.zeros((kinds, 1 + TWINS, 2), np.int64))


def _domains(nodes: Nodes) -> tuple[Ints, list[int], Ints, Ints]:
    """Domains of all levels numbered through, 0 being all nodes: each node's, each row's first, and their nodes."""
    size = len(nodes.names)
    rows, offset = [np.zeros(size, np.int64)], [0, 1]
    for level in nodes.domains:
        rows.append(np.where(level >= 0, level + offset[-1], -1).astype(np.int64))
        offset.append(offset[-1] + int(level.max(initial=-1)) + 1)
    domain = np.array(rows, np.int64)
    row, node = np.nonzero(domain >= 0)
    numbers = domain[row, node]
    order = np.argsort(numbers, kind="stable")
    edges = np.searchsorted(numbers[order], np.arange(offset[-1] + 1))
    inside = np.searchsorted(offset, np.arange(offset[-1]), "right") - 1
    span = np.column_stack([edges[:-1], edges[1:], inside]).astype(np.int64)
    return domain, offset, span, node[order].astype(np.int64)
