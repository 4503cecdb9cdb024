"""Which nodes hold a gang through a stretch of time, as compiled code: capacity, and choice of nodes."""

from policies.scheduling.kernels_asks import (
    ASKS,
    BEGIN,
    CAP,
    END,
    GPUS,
    LIST,
    MASK,
    NONE,
    OWNED,
    PODS,
    PREFERRED,
    REQUIRED,
    ROOM,
    SHARE,
    SLICE,
    SLICED,
    SPREAD,
    WORD,
    Kinds,
    Work,
    gate,
)
from policies.scheduling.kernels_hold import take, undo
from policies.scheduling.kernels_time import (
    AMOUNTS,
    ANY,
    DEVICES,
    FIRST,
    LAST,
    NEVER,
    ORIGIN,
    PLANNED,
    ROW,
    ROWS,
    STEP,
    WHOLE,
    Ints,
    Table,
    inner,
    lowest,
)


@inner
def capacity(table: Table, kinds: Kinds, work: Work, kind: int, role: int, node: int, start: int, end: int) -> int:
    """How many pods of the role the node holds all that time, at most all of them; leaves in `work` what is free."""
    level = ANY if kinds.kind[kind, OWNED] else gate(kinds, role)
    if end <= start or not lowest(table, PLANNED, node, start, end, kinds.kind[kind, OWNED], level, work.low):
        return 0
    if kinds.kind[kind, WORD] >= 0 and work.low[kinds.kind[kind, WORD]] < 1:
        return 0
    found = 1 if kinds.role[role, SPREAD] else kinds.role[role, PODS]
    for column in range(table.head[AMOUNTS]):
        if kinds.role[role, ASKS + column] > 0:
            found = min(found, work.low[column] // kinds.role[role, ASKS + column])
    if kinds.role[role, GPUS]:
        parts = _whole(table, work)
        if kinds.role[role, SHARE] < WHOLE:
            parts = 0
            for device in range(table.head[AMOUNTS], work.low.size):
                parts += max(0, work.low[device]) // kinds.role[role, SHARE]
        found = min(found, parts // kinds.role[role, GPUS])
    return max(found, 0)


@inner
def inside(table: Table, small: int, large: int) -> bool:
    """Whether all nodes of the one domain are in the other."""
    row = table.span[large, ROW]
    return bool(table.domain[row, table.member[table.span[small, FIRST]]] == large and table.span[small, ROW] >= row)


@inner
def place(
    table: Table, kinds: Kinds, work: Work, kind: int, domain: int, start: int, end: int, nodes: Ints, bits: Ints
) -> int:
    """Take places for all roles in the domain. 0: there are none, and nothing is taken; 2: they are sure; 1: not."""
    at, answer = NONE, 2
    for role in range(kinds.kind[kind, BEGIN], kinds.kind[kind, END]):
        picked = _choose(table, kinds, work, kind, role, domain, start, end, nodes[at:])
        if not picked:
            undo(table, kinds, work, kind, at, start, end, nodes, bits)
            return 0
        for pod in range(at, at + kinds.role[role, PODS]):
            lowest(table, PLANNED, nodes[pod], start, end, kinds.kind[kind, OWNED], ANY, work.low)
            bits[pod] = _devices(table, kinds, work, role)
            if not take(table, kinds, work, role, nodes[pod], bits[pod], start, end, kinds.kind[kind, OWNED]):
                answer = 1
        at += kinds.role[role, PODS]
    return answer


@inner
def _choose(
    table: Table, kinds: Kinds, work: Work, kind: int, role: int, domain: int, start: int, end: int, nodes: Ints
) -> bool:
    """Nodes for the pods of one role, in order, as close together as is required and, if it can be, preferred."""
    slot = (start - table.head[ORIGIN]) // table.head[STEP]
    level = 0 if kinds.kind[kind, OWNED] else gate(kinds, role)
    for row in range(table.span[domain, FIRST], table.span[domain, LAST]):
        node = table.member[row]
        work.node[node, CAP] = 0
        if kinds.masks[kinds.role[role, MASK], node] and (
            slot >= table.most.shape[0] or table.most[slot, node] >= level
        ):
            work.node[node, CAP] = capacity(table, kinds, work, kind, role, node, start, end)
            if work.node[node, CAP]:
                work.node[node, ROOM] = _whole(table, work)
    domain = _narrow(table, kinds, work, role, kinds.role[role, REQUIRED], domain)
    if domain < 0:
        return False
    closer = _narrow(table, kinds, work, role, kinds.role[role, PREFERRED], domain)
    _pick_all(table, kinds, work, role, closer if closer >= 0 else domain, nodes)
    return True


@inner
def _narrow(table: Table, kinds: Kinds, work: Work, role: int, row: int, domain: int) -> int:
    """The domain of that row inside `domain` that holds the role with least left over; -1 if none does."""
    if row == -1:
        return -1
    if row <= table.span[domain, ROW]:
        return domain if _holds(table, kinds, work, role, domain) >= 0 else -1
    best, least = -1, NEVER
    for part in range(table.head[ROWS + row], table.head[ROWS + row + 1]):
        if inside(table, part, domain):
            held = _holds(table, kinds, work, role, part)
            if 0 <= held < least:
                best, least = part, held
    return best


@inner
def _holds(table: Table, kinds: Kinds, work: Work, role: int, domain: int) -> int:
    """How many pods fit into the domain; -1 if not all of the role do, in its slices if it has any."""
    total, row, size = _sum(table, work, domain), kinds.role[role, SLICE], kinds.role[role, SLICED]
    if total < kinds.role[role, PODS] or row == -1:
        return -1
    if row <= table.span[domain, ROW]:
        return total
    slices, rest = 0, 0
    for part in range(table.head[ROWS + row], table.head[ROWS + row + 1]):
        if inside(table, part, domain):
            held = _sum(table, work, part)
            slices += held // size
            rest = max(rest, held % size)
    need, over = kinds.role[role, PODS] // size, kinds.role[role, PODS] % size
    return total if slices > need or (slices == need and rest >= over) else -1


@inner
def _pick_all(table: Table, kinds: Kinds, work: Work, role: int, domain: int, nodes: Ints) -> None:
    row, size, pods = kinds.role[role, SLICE], kinds.role[role, SLICED], kinds.role[role, PODS]
    if row <= table.span[domain, ROW]:
        _pick(table, work, domain, pods, nodes)
        return
    at = 0
    for part in range(table.head[ROWS + row], table.head[ROWS + row + 1]):
        if inside(table, part, domain):
            whole = min(_sum(table, work, part), pods - at) // size * size
            _pick(table, work, part, whole, nodes[at:])
            at += whole
    for part in range(table.head[ROWS + row], table.head[ROWS + row + 1]):
        if at < pods and inside(table, part, domain) and _sum(table, work, part) >= pods - at:
            _pick(table, work, part, pods - at, nodes[at:])
            at = pods


@inner
def _pick(table: Table, work: Work, domain: int, pods: int, nodes: Ints) -> None:
    """Nodes of the domain for so many pods: those with the fewest whole GPUs first, which leaves whole nodes whole."""
    found = 0
    for row in range(table.span[domain, FIRST], table.span[domain, LAST]):
        if work.node[table.member[row], CAP] > 0:
            work.node[found, LIST] = table.member[row]
            found += 1
    at = 0
    for room in range(table.head[DEVICES] + 1):
        for row in range(found):
            node = work.node[row, LIST]
            if work.node[node, ROOM] == room and at < pods:
                count = min(work.node[node, CAP], pods - at)
                nodes[at : at + count] = node
                work.node[node, CAP] -= count
                at += count


@inner
def _devices(table: Table, kinds: Kinds, work: Work, role: int) -> int:
    """Devices for one pod, as bits: the first whole ones, or the one with least left over."""
    bits, share, amounts = 0, kinds.role[role, SHARE], table.head[AMOUNTS]
    for _ in range(kinds.role[role, GPUS]):
        best = -1
        for device in range(table.head[DEVICES]):
            free = work.low[amounts + device]
            if not (bits >> device) & 1 and free >= share and (best < 0 or free < work.low[amounts + best]):
                best = device
        bits |= 1 << best
    return bits


@inner
def _sum(table: Table, work: Work, domain: int) -> int:
    total = 0
    for row in range(table.span[domain, FIRST], table.span[domain, LAST]):
        total += work.node[table.member[row], CAP]
    return total


@inner
def _whole(table: Table, work: Work) -> int:
    count = 0
    for device in range(table.head[AMOUNTS], work.low.size):
        if work.low[device] >= WHOLE:
            count += 1
    return count
