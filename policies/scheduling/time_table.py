"""The arrays of a profile: made for nodes on which nothing is held, and made larger when they are full."""

import numpy as np

from policies.scheduling.kernels_room import Work
from policies.scheduling.kernels_time import Ints, Table
from policies.scheduling.model import WHOLE
from policies.scheduling.nodes import Nodes

SEGMENTS = 32  # of each node at first
TWINS = 64  # searches that are remembered of each kind


def empty_table(nodes: Nodes, columns: int, now: int, step: int, horizon: int) -> Table:
    """Nodes on which everything is free from `now` on. Slots of `step` seconds cover `horizon` and begin on its
    multiples."""
    size, devices = len(nodes.names), max(1, nodes.free_gpu.shape[1])
    slots = horizon // step + 1
    there = np.arange(devices) < nodes.gpus[:, None]
    amount = np.ones((2, size, SEGMENTS, columns), np.int64)
    amount[:, :, 0, : 2 + len(nodes.profiles)] = np.column_stack([nodes.cpu, nodes.memory, nodes.slices])
    device = np.zeros((2, size, SEGMENTS, devices), np.int64)
    device[:, :, 0] = np.where(there, WHOLE, -1)
    time = np.zeros((size, SEGMENTS), np.int64)
    time[:, 0] = now
    level = np.where(nodes.gpus > 0, 1 + nodes.gpus, 0)
    domain, offset, first, member = _domains(nodes)
    passed = (level[member][:, None] >= np.arange(devices + 2)).astype(np.int32)
    count = np.add.reduceat(passed, first[:-1], axis=0) if size else np.zeros((1, devices + 2), np.int32)
    return Table(
        time=time,
        size=np.ones(size, np.int64),
        amount=amount,
        device=device,
        owner=np.zeros((size, SEGMENTS), np.int64),
        most=np.repeat(level.astype(np.int8)[None, :], slots, axis=0),
        count=np.repeat(count[:, :, None], slots, axis=2).astype(np.int32),
        domain=domain,
        offset=offset,
        first=first,
        member=member,
        unit=np.eye(columns, dtype=np.int64),
        clock=np.array([now, now // step * step, step, 1], np.int64),
    )


def more_segments(table: Table) -> Table:
    """The same with twice the segments for each node."""
    extra = table.time.shape[1]
    return table._replace(
        time=np.pad(table.time, ((0, 0), (0, extra))),
        amount=np.pad(table.amount, ((0, 0), (0, 0), (0, extra), (0, 0))),
        device=np.pad(table.device, ((0, 0), (0, 0), (0, extra), (0, 0))),
        owner=np.pad(table.owner, ((0, 0), (0, extra))),
    )


def more_amounts(table: Table, columns: int) -> Table:
    """The same with further amounts, of which every node has one."""
    extra = columns - table.amount.shape[3]
    amount = np.pad(table.amount, ((0, 0), (0, 0), (0, 0), (0, extra)), constant_values=1)
    return table._replace(amount=amount, unit=np.eye(columns, dtype=np.int64))


def work_for(table: Table, kinds: int) -> Work:
    """Scratch for a search among so many kinds; it remembers none yet."""
    size = table.size.size
    return Work(
        cap=np.zeros(size, np.int64),
        room=np.zeros(size, np.int64),
        nodes=np.zeros(size, np.int64),
        soon=np.zeros(size, np.int64),
        amount=np.zeros(table.amount.shape[3], np.int64),
        device=np.zeros(table.device.shape[3], np.int64),
        used=np.zeros(kinds, np.int64),
        lengths=np.zeros((kinds, TWINS), np.int64),
        starts=np.zeros((kinds, TWINS), np.int64),
    )


def _domains(nodes: Nodes) -> tuple[Ints, Ints, Ints, Ints]:
    """Domains of all levels numbered through, 0 being all nodes: each node's, each level's first, and their nodes."""
    size = len(nodes.names)
    rows, offset = [np.zeros(size, np.int64)], [0, 1]
    for level in nodes.domains:
        rows.append(np.where(level >= 0, level + offset[-1], -1).astype(np.int64))
        offset.append(offset[-1] + int(level.max(initial=-1)) + 1)
    domain = np.array(rows, np.int64)
    row, node = np.nonzero(domain >= 0)
    numbers = domain[row, node]
    order = np.argsort(numbers, kind="stable")
    first = np.searchsorted(numbers[order], np.arange(offset[-1] + 1))
    return domain, np.array(offset, np.int64), first.astype(np.int64), node[order].astype(np.int64)
