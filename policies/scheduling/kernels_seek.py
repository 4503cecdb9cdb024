"""The earliest start of a gang in a table of time, as compiled code: the grid rules slots out, exact seconds decide."""

from numba import njit

from policies.scheduling.kernels_room import Kinds, Work, capacity, gate, over, place, undo
from policies.scheduling.kernels_time import NEVER, ORIGIN, STEP, Ints, Table, locate


@njit(cache=True)
def seek(
    table: Table, kinds: Kinds, work: Work, kind: int, length: int, start: int, last: int, pods: Ints, bits: Ints
) -> tuple[int, int]:
    """The earliest start from `start` until `last`, and the domain; NEVER without one. Takes nothing.

    `pods` and `bits` are scratch with a row for each pod.
    """
    row = kinds.outer[kind]
    best, where = NEVER, 0
    if row < 0:
        return best, where
    for domain in range(table.offset[row], table.offset[row + 1]):
        found = _in_domain(table, kinds, work, kind, length, domain, start, last, pods, bits)
        if found < best:
            best, where, last = found, domain, found - 1
    return best, where


@njit(cache=True)
def _in_domain(
    table: Table,
    kinds: Kinds,
    work: Work,
    kind: int,
    length: int,
    domain: int,
    start: int,
    last: int,
    pods: Ints,
    bits: Ints,
) -> int:
    origin, step, slots = table.clock[ORIGIN], table.clock[STEP], table.most.shape[0]
    level = NEVER
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        level = min(level, gate(kinds, role))
    blind = level == 0 or kinds.owner[kind] > 0  # the grid cannot tell
    while start <= last:
        if blind:
            return _in_slot(table, kinds, work, kind, length, domain, start, last, pods, bits)
        final = min(slots - 1, (last - origin) // step)
        slot = _slot(table, kinds, kind, domain, (start - origin) // step, final, length)
        if slot < 0:
            return NEVER
        start = max(start, origin + slot * step)
        edge = min(last, origin + (slot + 1) * step - 1)
        found = _in_slot(table, kinds, work, kind, length, domain, start, edge, pods, bits)
        if found < NEVER:
            return found
        start = edge + 1
    return NEVER


@njit(cache=True)
def _slot(table: Table, kinds: Kinds, kind: int, domain: int, first: int, last: int, length: int) -> int:
    """The first slot from which on enough nodes have enough GPUs in every slot of the gang's length; -1 if none."""
    step, slots = table.clock[STEP], table.most.shape[0]
    width = slots if length >= NEVER else (length + step - 1) // step
    begin, slot = first, first
    while begin <= last:
        if slot >= min(begin + width, slots):
            return begin
        if not _enough(table, kinds, kind, domain, slot):
            begin = slot + 1
        slot += 1
    return -1


@njit(cache=True)
def _enough(table: Table, kinds: Kinds, kind: int, domain: int, slot: int) -> bool:
    top = table.count.shape[1]
    for role in range(kinds.first[kind], kinds.first[kind + 1]):
        level, gpus, pods = gate(kinds, role), kinds.gpus[role], kinds.pods[role]
        if level == 1:
            if table.count[domain, 1, slot] < (pods if kinds.spread[role] else 1):
                return False
        elif level > 1:
            have = 0
            while level < top and have < pods:
                have += table.count[domain, level, slot]
                level = top if kinds.spread[role] else level + gpus
            if have < pods:
                return False
    return True


@njit(cache=True)
def _in_slot(
    table: Table,
    kinds: Kinds,
    work: Work,
    kind: int,
    length: int,
    domain: int,
    start: int,
    edge: int,
    pods: Ints,
    bits: Ints,
) -> int:
    """The exact search, over the moments from `start` until `edge` at which something begins on a node that counts."""
    role, plain = kinds.first[kind], kinds.plain[kind]
    found = _gather(table, kinds, work, kind, domain, start)
    now = start
    while now <= edge:
        end, total, following = over(kinds, kind, now, length), 0, NEVER
        for row in range(found):
            node = work.nodes[row]
            if work.cap[node] != 0 or work.soon[node] == now:
                # Between such moments room on a node only shrinks: where there was none, none has come.
                work.cap[node] = capacity(table, kinds, work, kind, role, node, now, end)
                total += work.cap[node]
            if work.soon[node] <= now:
                work.soon[node] = _next(table, node, now)
            following = min(following, work.soon[node])
        if total >= kinds.pods[role] and (plain or _try(table, kinds, work, kind, domain, now, end, pods, bits)):
            return now
        now = following
        if not plain and now <= edge:
            found = _gather(table, kinds, work, kind, domain, now)
    return NEVER


@njit(cache=True)
def _gather(table: Table, kinds: Kinds, work: Work, kind: int, domain: int, start: int) -> int:
    """List the nodes that may matter to a start in the slot of `start`; several roles may each need others."""
    role, found = kinds.first[kind], 0
    slot = (start - table.clock[ORIGIN]) // table.clock[STEP]
    level = 0 if kinds.owner[kind] else gate(kinds, role)
    for row in range(table.first[domain], table.first[domain + 1]):
        node = table.member[row]
        fit = kinds.masks[kinds.mask[role], node]
        if (fit and table.most[slot, node] >= level) or not kinds.plain[kind]:
            work.nodes[found] = node
            work.cap[node] = -1 if fit else 0
            work.soon[node] = _next(table, node, start)
            found += 1
    return found


@njit(cache=True)
def _next(table: Table, node: int, moment: int) -> int:
    """When the segment after that of `moment` starts."""
    segment = locate(table, node, moment) + 1
    return table.time[node, segment] if segment < table.size[node] else NEVER


@njit(cache=True)
def _try(
    table: Table, kinds: Kinds, work: Work, kind: int, domain: int, start: int, end: int, pods: Ints, bits: Ints
) -> bool:
    if place(table, kinds, work, kind, domain, start, end, pods, bits) == 0:
        return False
    undo(table, kinds, kind, NEVER, start, end, pods, bits)
    return True
