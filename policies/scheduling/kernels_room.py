"""Which nodes hold a gang through a stretch of time, as compiled code: capacity, choice of nodes, and taking them."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from policies.scheduling.kernels_time import NEVER, ORIGIN, STEP, WHOLE, Ints, Table, change, join, lowest, refresh

REQUIRED, PREFERRED, SLICE = 0, 1, 2  # of `near`


class Kinds(NamedTuple):
    """What gangs ask, once per kind. Rows of the topology: 0 none, -1 a level that there is not.

    Roles of kind k, those with the largest pods first: `first[k]` until `first[k + 1]`. `plain`: the sum of what nodes
    hold decides whether it fits into a domain of row `outer`.
    """

    first: Ints
    owner: Ints  # its reservation, 0 none
    word: Ints  # amount of which it takes one per node, -1 none
    outer: Ints  # row of the domains that are tried one by one
    preferred: Ints
    plain: Ints
    pods: Ints  # by role from here on
    gpus: Ints
    share: Ints
    asks: Ints  # [roles, R]
    mask: Ints
    spread: Ints
    near: Ints  # [roles, 3] rows: required, preferred, of slices
    slice: Ints  # pods of one
    masks: NDArray[np.bool_]  # [masks, N]
    windows: Ints  # [W, 3] owner, start, end


class Work(NamedTuple):
    """Scratch, and the earliest starts found for gangs of each kind since something was last given back."""

    cap: Ints  # [N] pods of a role that fit
    room: Ints  # [N] whole GPUs free meanwhile
    nodes: Ints  # [N]
    soon: Ints  # [N]
    amount: Ints  # [R]
    device: Ints  # [G]
    used: Ints  # [kinds]
    lengths: Ints  # [kinds, F]
    starts: Ints  # [kinds, F]


@njit(cache=True)
def over(kinds: Kinds, kind: int, start: int, length: int) -> int:
    """When a gang that starts then is over: after its length, or with its reservation's window."""
    end = NEVER if length >= NEVER else start + length
    if kinds.owner[kind] > 0:
        close = start
        for row in range(kinds.windows.shape[0]):
            if kinds.windows[row, 0] == kinds.owner[kind] and kinds.windows[row, 1] <= start:
                close = max(close, kinds.windows[row, 2])
        end = min(end, close)
    return end


@njit(cache=True)
def capacity(table: Table, kinds: Kinds, work: Work, kind: int, role: int, node: int, start: int, end: int) -> int:
    """How many pods of the role the node holds all that time, at most all of them; leaves in `work` what is free."""
    if end <= start or not lowest(table, 0, node, start, end, kinds.owner[kind], work.amount, work.device):
        return 0
    if kinds.word[kind] >= 0 and work.amount[kinds.word[kind]] < 1:
        return 0
    found = 1 if kinds.spread[role] else kinds.pods[role]
    for column in range(work.amount.size):
        if kinds.asks[role, column] > 0:
            found = min(found, work.amount[column] // kinds.asks[role, column])
    if kinds.gpus[role]:
        parts = 0
        for device in range(work.device.size):
            if work.device[device] > 0:
                parts += work.device[device] // kinds.share[role]
        found = min(found, parts // kinds.gpus[role])
    return max(found, 0)


@njit(cache=True)
def gate(kinds: Kinds, role: int) -> int:
    """The level that a node needs at least to hold a pod of the role."""
    if kinds.gpus[role] == 0:
        return 0
    return 1 if kinds.share[role] < WHOLE else 1 + kinds.gpus[role]


@njit(cache=True)
def inside(table: Table, inner: int, outer: int) -> bool:
    """Whether all nodes of one domain are in the other."""
    row = _row(table, outer)
    return bool(table.domain[row, table.member[table.first[inner]]] == outer and _row(table, inner) >= row)


@njit(cache=True)
def place(
    table: Table, kinds: Kinds, work: Work, kind: int, domain: int, start: int, end: int, nodes: Ints, bits: Ints
) -> int:
    """Take places for all roles in the domain. 0: there are none, and nothing is taken; 2: they are sure; 1: not."""
    at, answer = 0, 2
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        picked = _choose(table, kinds, work, kind, role, domain, start, end, nodes[at:])
        if not picked:
            undo(table, kinds, kind, at, start, end, nodes, bits)
            return 0
        for pod in range(at, at + kinds.pods[role]):
            lowest(table, 0, nodes[pod], start, end, kinds.owner[kind], work.amount, work.device)
            bits[pod] = _devices(kinds, work, role)
            if not take(table, kinds, work, role, nodes[pod], bits[pod], start, end, kinds.owner[kind]):
                answer = 1
        at += kinds.pods[role]
    return answer


@njit(cache=True)
def take(
    table: Table, kinds: Kinds, work: Work, role: int, node: int, bits: int, start: int, end: int, owner: int
) -> bool:
    """Hold one pod's place in both layers. Whether layer 1 had room for it."""
    lowest(table, 1, node, start, end, owner, work.amount, work.device)
    sure = has(kinds, work, role, bits)
    for layer in range(2):
        change(table, layer, node, start, end, kinds.asks[role], bits, kinds.share[role], -1)
    refresh(table, node, start, end)
    return sure


@njit(cache=True)
def give(table: Table, kinds: Kinds, role: int, node: int, bits: int, start: int, end: int, sure: int) -> None:
    """Give one pod's place back: until `end` in layer 0, until `sure` in layer 1."""
    change(table, 0, node, start, end, kinds.asks[role], bits, kinds.share[role], 1)
    change(table, 1, node, start, sure, kinds.asks[role], bits, kinds.share[role], 1)
    join(table, node, start)
    join(table, node, end)
    join(table, node, sure)
    refresh(table, node, start, end)


@njit(cache=True)
def has(kinds: Kinds, work: Work, role: int, bits: int) -> bool:
    """Whether what `lowest` left in `work` has the amounts and those devices for one pod."""
    for column in range(work.amount.size):
        if kinds.asks[role, column] > 0 and work.amount[column] < kinds.asks[role, column]:
            return False
    for device in range(work.device.size):
        if (bits >> device) & 1 and work.device[device] < kinds.share[role]:
            return False
    return True


@njit(cache=True)
def undo(table: Table, kinds: Kinds, kind: int, pods: int, start: int, end: int, nodes: Ints, bits: Ints) -> None:
    at = 0
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        for pod in range(at, min(at + kinds.pods[role], pods)):
            give(table, kinds, role, nodes[pod], bits[pod], start, end, end)
        at += kinds.pods[role]


@njit(cache=True)
def _choose(
    table: Table, kinds: Kinds, work: Work, kind: int, role: int, domain: int, start: int, end: int, nodes: Ints
) -> bool:
    """Nodes for the pods of one role, in order, as close together as is required and, if it can be, preferred."""
    slot = (start - table.clock[ORIGIN]) // table.clock[STEP]
    level = 0 if kinds.owner[kind] else gate(kinds, role)
    for row in range(table.first[domain], table.first[domain + 1]):
        node = table.member[row]
        work.cap[node] = 0
        if kinds.masks[kinds.mask[role], node] and (slot >= table.most.shape[0] or table.most[slot, node] >= level):
            work.cap[node] = capacity(table, kinds, work, kind, role, node, start, end)
            if work.cap[node]:
                work.room[node] = _whole(work)
    domain = _narrow(table, kinds, work, role, kinds.near[role, REQUIRED], domain)
    if domain < 0:
        return False
    closer = _narrow(table, kinds, work, role, kinds.near[role, PREFERRED], domain)
    _pick_all(table, kinds, work, role, closer if closer >= 0 else domain, nodes)
    return True


@njit(cache=True)
def _narrow(table: Table, kinds: Kinds, work: Work, role: int, row: int, domain: int) -> int:
    """The domain of that row inside `domain` that holds the role with least left over; -1 if none does."""
    if row == -1:
        return -1
    if row <= _row(table, domain):
        return domain if _holds(table, kinds, work, role, domain) >= 0 else -1
    best, least = -1, NEVER
    for inner in range(table.offset[row], table.offset[row + 1]):
        if inside(table, inner, domain):
            held = _holds(table, kinds, work, role, inner)
            if 0 <= held < least:
                best, least = inner, held
    return best


@njit(cache=True)
def _holds(table: Table, kinds: Kinds, work: Work, role: int, domain: int) -> int:
    """How many pods fit into the domain; -1 if not all of the role do, in its slices if it has any."""
    total, row, size = _sum(table, work, domain), kinds.near[role, SLICE], kinds.slice[role]
    if total < kinds.pods[role] or row == -1:
        return -1
    if row <= _row(table, domain):
        return total
    slices, rest = 0, 0
    for inner in range(table.offset[row], table.offset[row + 1]):
        if inside(table, inner, domain):
            held = _sum(table, work, inner)
            slices += held // size
            rest = max(rest, held % size)
    need, over = kinds.pods[role] // size, kinds.pods[role] % size
    return total if slices > need or (slices == need and rest >= over) else -1


@njit(cache=True)
def _pick_all(table: Table, kinds: Kinds, work: Work, role: int, domain: int, nodes: Ints) -> None:
    row, size, pods = kinds.near[role, SLICE], kinds.slice[role], kinds.pods[role]
    if row <= _row(table, domain):
        _pick(table, work, domain, pods, nodes)
        return
    at = 0
    for inner in range(table.offset[row], table.offset[row + 1]):
        if inside(table, inner, domain):
            whole = min(_sum(table, work, inner), pods - at) // size * size
            _pick(table, work, inner, whole, nodes[at:])
            at += whole
    for inner in range(table.offset[row], table.offset[row + 1]):
        if at < pods and inside(table, inner, domain) and _sum(table, work, inner) >= pods - at:
            _pick(table, work, inner, pods - at, nodes[at:])
            at = pods


@njit(cache=True)
def _pick(table: Table, work: Work, domain: int, pods: int, nodes: Ints) -> None:
    """Nodes of the domain for so many pods: those with the fewest whole GPUs first, which leaves whole nodes whole."""
    found = 0
    for row in range(table.first[domain], table.first[domain + 1]):
        if work.cap[table.member[row]] > 0:
            work.nodes[found] = table.member[row]
            found += 1
    at = 0
    for room in range(work.device.size + 1):
        for row in range(found):
            node = work.nodes[row]
            if work.room[node] == room and at < pods:
                count = min(work.cap[node], pods - at)
                nodes[at : at + count] = node
                work.cap[node] -= count
                at += count


@njit(cache=True)
def _devices(kinds: Kinds, work: Work, role: int) -> int:
    """Devices for one pod, as bits: the first whole ones, or the one with least left over."""
    bits, share = 0, kinds.share[role]
    for _ in range(kinds.gpus[role]):
        best = -1
        for device in range(work.device.size):
            free = work.device[device]
            if not (bits >> device) & 1 and free >= share and (best < 0 or free < work.device[best]):
                best = device
        bits |= 1 << best
    return bits


@njit(cache=True)
def _sum(table: Table, work: Work, domain: int) -> int:
    total = 0
    for row in range(table.first[domain], table.first[domain + 1]):
        total += work.cap[table.member[row]]
    return total


@njit(cache=True)
def _row(table: Table, domain: int) -> int:
    row = 0
    while domain >= table.offset[row + 1]:
        row += 1
    return row


@njit(cache=True)
def _whole(work: Work) -> int:
    count = 0
    for device in range(work.device.size):
        if work.device[device] >= WHOLE:
            count += 1
    return count
