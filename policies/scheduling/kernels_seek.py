"""The earliest start of a gang in a table of time, as compiled code: the grid rules slots out, exact seconds decide."""

from policies.scheduling.kernels_asks import (
    BEGIN,
    CAP,
    END,
    GPUS,
    LIST,
    MASK,
    OUTER,
    OWNED,
    PLAIN,
    PODS,
    SHARE,
    SOON,
    SPREAD,
    Kinds,
    Work,
    gate,
    over,
)
from policies.scheduling.kernels_hold import undo
from policies.scheduling.kernels_room import capacity, place
from policies.scheduling.kernels_time import (
    DEVICES,
    ENDLESS,
    FIRST,
    LAST,
    LEVEL,
    NEVER,
    ORIGIN,
    ROWS,
    STEP,
    TIME,
    WHOLE,
    Ints,
    Table,
    inner,
    locate,
)

PATIENCE = 3  # slots that turn out to be too full before a look at all nodes, which costs as much as some of them


@inner
def seek(
    table: Table, kinds: Kinds, work: Work, kind: int, length: int, start: int, last: int, pods: Ints, bits: Ints
) -> tuple[int, int]:
    """The earliest start from `start` until `last`, and the domain; NEVER without one. Takes nothing.

    `pods` and `bits` are scratch with a row for each pod.
    """
    row, best, where = kinds.kind[kind, OUTER], NEVER, 0
    if row < 0:  # a level that there is not
        return best, where
    origin, step, slots = table.head[ORIGIN], table.head[STEP], table.most.shape[0]
    blind = kinds.kind[kind, OWNED] > 0 or gate(kinds, kinds.kind[kind, BEGIN]) == 0  # the grid tells nothing
    for domain in range(table.head[ROWS + row], table.head[ROWS + row + 1]):
        now, edge, failed = start, last, 0
        while now <= last:
            if not blind:
                final = min(slots - 1, (last - origin) // step)
                slot = _slot(table, kinds, kind, domain, (now - origin) // step, final, length)
                if slot < 0:
                    break
                now = max(now, origin + slot * step)
                edge = min(last, origin + (slot + 1) * step - 1)
            found = _in_slot(table, kinds, work, kind, length, domain, now, edge, pods, bits)
            if found < NEVER:
                best, where, last = found, domain, found - 1
                break
            now, failed = edge + 1, failed + 1
            if not blind and failed % PATIENCE == 0:
                now = _bound(table, kinds, work, kind, length, domain, now, last)
    return best, where


@inner
def _bound(table: Table, kinds: Kinds, work: Work, kind: int, length: int, domain: int, start: int, last: int) -> int:
    """No start before this one has as many nodes with enough GPUs as the first role needs, each node for itself."""
    role, found = kinds.kind[kind, BEGIN], 0
    level, gpus = gate(kinds, role), kinds.role[role, GPUS]
    most = table.head[DEVICES] * (WHOLE // kinds.role[role, SHARE]) // gpus
    each = 1 if kinds.role[role, SPREAD] else max(1, most)
    need = min((kinds.role[role, PODS] + each - 1) // each, work.node.shape[0])
    for row in range(table.span[domain, FIRST], table.span[domain, LAST]):
        node = table.member[row]
        if kinds.masks[kinds.role[role, MASK], node]:
            moment = _at_level(table, node, level, start, length, last)
            if moment <= last:
                # An insertion into the `need` smallest so far.
                place = found if found < need else need - 1
                if found < need or moment < work.node[place, SOON]:
                    while place > 0 and work.node[place - 1, SOON] > moment:
                        work.node[place, SOON] = work.node[place - 1, SOON]
                        place -= 1
                    work.node[place, SOON] = moment
                    found += found < need
    return work.node[need - 1, SOON] if found == need else NEVER


@inner
def _at_level(table: Table, node: int, level: int, start: int, length: int, last: int) -> int:
    """The earliest start from which on the node has that level for the whole length; after `last` it is all one."""
    segment, size = locate(table, node, start), table.size[node]
    while segment < size and start <= last:
        if table.segment[node, segment, LEVEL] >= level:
            if segment + 1 == size or table.segment[node, segment + 1, TIME] - start >= length:
                return start
        elif segment + 1 < size:
            start = table.segment[node, segment + 1, TIME]
        else:
            break
        segment += 1
    return NEVER


@inner
def _slot(table: Table, kinds: Kinds, kind: int, domain: int, first: int, last: int, length: int) -> int:
    """The first slot from which on enough nodes have enough GPUs in every slot of the gang's length; -1 if none."""
    step, slots = table.head[STEP], table.most.shape[0]
    width = slots if length >= NEVER else (length + step - 1) // step
    begin, slot = first, first
    while begin <= last:
        if slot >= min(begin + width, slots):
            return begin
        if not _enough(table, kinds, kind, domain, slot):
            begin = slot + 1
        slot += 1
    return -1


@inner
def _enough(table: Table, kinds: Kinds, kind: int, domain: int, slot: int) -> bool:
    top = table.counts.shape[1]
    for role in range(kinds.kind[kind, BEGIN], kinds.kind[kind, END]):
        level, gpus, pods = gate(kinds, role), kinds.role[role, GPUS], kinds.role[role, PODS]
        if level == 1:
            if table.counts[domain, 1, slot] < (pods if kinds.role[role, SPREAD] else 1):
                return False
        elif level > 1:
            have = 0
            while level < top and have < pods:
                have += table.counts[domain, level, slot]
                level = top if kinds.role[role, SPREAD] else level + gpus
            if have < pods:
                return False
    return True


@inner
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
    role, plain = kinds.kind[kind, BEGIN], kinds.kind[kind, PLAIN]
    found = _gather(table, kinds, work, kind, length, domain, start)
    now = start
    while now <= edge:
        end, total, following = over(kinds, kind, now, length), 0, ENDLESS
        for row in range(found):
            node = work.node[row, LIST]
            if work.node[node, CAP] != 0 or work.node[node, SOON] == now:
                # Between such moments room on a node only shrinks: where there was none, none has come.
                work.node[node, CAP] = capacity(table, kinds, work, kind, role, node, now, end)
                total += work.node[node, CAP]
            if work.node[node, SOON] <= now:
                work.node[node, SOON] = _next(table, node, now)
            following = min(following, work.node[node, SOON])
        if total >= kinds.role[role, PODS]:
            if plain:
                return now
            if place(table, kinds, work, kind, domain, now, end, pods, bits):
                undo(table, kinds, work, kind, ENDLESS, now, end, pods, bits)
                return now
        now = following
        if not plain and now <= edge:
            found = _gather(table, kinds, work, kind, length, domain, now)
    return NEVER


@inner
def _gather(table: Table, kinds: Kinds, work: Work, kind: int, length: int, domain: int, start: int) -> int:
    """List the nodes that may matter to a start in the slot of `start`; several roles may each need others."""
    role, found = kinds.kind[kind, BEGIN], 0
    slot = (start - table.head[ORIGIN]) // table.head[STEP]
    level = 0 if kinds.kind[kind, OWNED] else gate(kinds, role)
    # A start in this slot reaches into these, so a node that is full in one of them need not be looked at closely.
    width, slots = min(length, ENDLESS - table.head[STEP]), table.most.shape[0]
    width = min((width + table.head[STEP] - 1) // table.head[STEP], slots)
    middle, far = min(slot + width // 2, slots - 1), min(slot + width - 1, slots - 1)
    for row in range(table.span[domain, FIRST], table.span[domain, LAST]):
        node = table.member[row]
        fit = kinds.masks[kinds.role[role, MASK], node]
        free = table.most[slot, node] >= level and table.most[middle, node] >= level and table.most[far, node] >= level
        if (fit and free) or not kinds.kind[kind, PLAIN]:
            work.node[found, LIST] = node
            work.node[node, CAP] = -1 if fit else 0
            work.node[node, SOON] = _next(table, node, start)
            found += 1
    return found


@inner
def _next(table: Table, node: int, moment: int) -> int:
    """When the segment after that of `moment` starts."""
    segment = locate(table, node, moment) + 1
    return table.segment[node, segment, TIME] if segment < table.size[node] else NEVER
