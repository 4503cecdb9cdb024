"""What counts against each holder of limits over time, as compiled code: pieces of exact seconds for every holder.

Layer 0 is what is used if all goes as planned, layer 1 if no end comes that nobody declared. A holder above counts what
those below it use, and feels of them what they use or keep, whichever is more (`Quotas`).
"""

from typing import NamedTuple

from policies.scheduling.kernels_asks import LESS, MORE, Kinds, over
from policies.scheduling.kernels_time import ENDLESS, NEVER, PLANNED, SURE, Ints, entry, inner

BEGIN, SIZE, ROOM, ABOVE, KEEPS, AT = range(6)  # of a holder; AT: the piece that a scan is at
LIMIT, MOST, KEPT = range(3)  # of `bound`
FLOOR, CERTAIN = range(2)  # of a line
CUTS = 8  # that one gang makes at most in a holder's time


class Limits(NamedTuple):
    """H holders that bound anything, R resources that are bounded anywhere, P pieces.

    A holder's pieces are in order from BEGIN on, SIZE of them and ROOM for more; ABOVE is the next holder up, -1 none;
    KEEPS: whether it, or one below, has a guarantee that it does not lend. MOST: that it may occupy above.
    A piece: its start, then for each layer what is used and what is felt, R amounts each, then R of scratch.
    Of a strict queue's line: FLOOR, when the last one before starts, and whether that is CERTAIN.
    """

    holder: Ints  # [H, 6]
    bound: Ints  # [H, 3, R]
    piece: Ints  # [P, 1 + 5 R]
    head: Ints  # [1] pieces in use, all holders together
    wants: Ints  # [kinds, R]
    part: Ints  # [roles, 2] whether it may get GPUs of several models; parts of GPUs of a pod
    model: Ints  # [N] the resource that a node's model is, -1 if it is not bounded
    mixed: Ints  # [kinds] 1: what it counts is known only once its nodes are
    amount: Ints  # [R] scratch
    line: Ints  # [lines, 2]


@inner
def makes_room(limits: Limits, row: int) -> bool:
    """See that a gang fits into the pieces of a holder and all above it. False: there is no space for that."""
    need = CUTS
    while row >= 0:
        size = limits.holder[row, SIZE]
        if size + need > limits.holder[row, ROOM]:
            room, begin, tail = 2 * (size + need), limits.holder[row, BEGIN], limits.head[0]
            if tail + room > limits.piece.shape[0]:
                return False
            for at in range(size):
                _copy(limits, begin + at, tail + at)
            limits.holder[row, BEGIN], limits.holder[row, ROOM] = tail, room
            limits.head[0] = tail + room
        if limits.holder[row, KEEPS]:
            need += size + need  # what it feels differs from piece to piece, and so it does above
        row = limits.holder[row, ABOVE]
    return True


@inner
def tally(limits: Limits, kind: int, role: Ints, node: Ints) -> None:
    """Write what a gang's pods count into `amount`."""
    for resource in range(limits.amount.size):
        limits.amount[resource] = limits.wants[kind, resource]
    if limits.mixed[kind]:
        for pod in range(role.size):
            column = limits.model[node[pod]]
            if column >= 0 and limits.part[role[pod], 0]:
                limits.amount[column] += limits.part[role[pod], 1]


@inner
def wanted(limits: Limits, kind: int) -> None:
    """Write what a gang counts wherever it is into `amount`."""
    for resource in range(limits.amount.size):
        limits.amount[resource] = limits.wants[kind, resource]


@inner
def count(limits: Limits, row: int, layer: int, start: int, end: int, sign: int) -> None:
    """Add `sign` times `amount` to a holder and all above, from `start` until `end`."""
    resources, below = limits.amount.size, -1
    base = 1 + 2 * layer * resources
    while row >= 0 and end > start:
        first = _cut(limits, row, start)
        last = _cut(limits, row, end) if end < NEVER else limits.holder[row, SIZE]
        if below >= 0:
            for at in range(limits.holder[below, SIZE]):
                moment = limits.piece[limits.holder[below, BEGIN] + at, 0]
                if start < moment < end:
                    _cut(limits, row, moment)
            last = _find(limits, row, end) if end < NEVER else limits.holder[row, SIZE]
        for at in range(limits.holder[row, BEGIN] + first, limits.holder[row, BEGIN] + last):
            felt_below = at
            if below >= 0:
                felt_below = limits.holder[below, BEGIN] + _find(limits, below, limits.piece[at, 0])
            for resource in range(resources):
                amount = sign * limits.amount[resource]
                limits.piece[at, base + resource] += amount
                if below >= 0:
                    amount = limits.piece[felt_below, 1 + 4 * resources + resource]
                kept, felt = limits.bound[row, KEPT, resource], limits.piece[at, base + resources + resource]
                limits.piece[at, base + resources + resource] = felt + amount
                limits.piece[at, 1 + 4 * resources + resource] = max(kept, felt + amount) - max(kept, felt)
        if limits.holder[row, KEEPS]:
            below = row
        row = limits.holder[row, ABOVE]


@inner
def hold(limits: Limits, row: int, start: int, end: int, sure: int) -> None:
    """Count `amount` until `end` in layer 0, until `sure` in layer 1."""
    count(limits, row, PLANNED, start, end, MORE)
    count(limits, row, SURE, start, sure, MORE)


@inner
def release(limits: Limits, row: int, start: int, end: int, sure: int) -> None:
    """As `hold`, the other way round; cuts at which nothing changes any more are dropped."""
    count(limits, row, PLANNED, start, end, LESS)
    count(limits, row, SURE, start, sure, LESS)
    while row >= 0:
        _join(limits, row, start)
        _join(limits, row, end)
        _join(limits, row, sure)
        row = limits.holder[row, ABOVE]


@inner
def lets(limits: Limits, kinds: Kinds, kind: int, row: int, layer: int, length: int, start: int, last: int) -> int:
    """The earliest start from `start` until `last` from which `amount` is within all bounds for that long, or NEVER."""
    at = row
    while at >= 0:
        limits.holder[at, AT] = _find(limits, at, start)
        at = limits.holder[at, ABOVE]
    moment = start
    while start <= last:
        end = over(kinds, kind, start, length)
        while moment < end and _fits(limits, row, layer):
            moment = _advance(limits, row)
        if moment >= end:
            return start
        start = moment = _advance(limits, row)
    return NEVER


@entry
def drop_past(limits: Limits, now: int) -> None:
    """Forget pieces that are over."""
    for row in range(limits.holder.shape[0]):
        past = _find(limits, row, now)
        limits.holder[row, BEGIN] += past
        limits.holder[row, SIZE] -= past
        limits.holder[row, ROOM] -= past


@inner
def _fits(limits: Limits, row: int, layer: int) -> bool:
    """As `Quotas.fits` does, for the pieces that the scan is at."""
    resources = limits.amount.size
    for resource in range(resources):
        needed, at = limits.amount[resource], row
        grown = needed
        while at >= 0 and needed > 0:
            piece = limits.holder[at, BEGIN] + limits.holder[at, AT]
            column = 1 + 2 * layer * resources + resource
            used, felt = limits.piece[piece, column], limits.piece[piece, column + resources]
            occupied = max(felt, limits.bound[at, KEPT, resource])
            grown = max(0, grown - (occupied - felt))
            if used + needed > limits.bound[at, LIMIT, resource]:
                return False
            if grown > 0 and occupied + grown > limits.bound[at, MOST, resource]:
                return False
            at = limits.holder[at, ABOVE]
    return True


@inner
def _advance(limits: Limits, row: int) -> int:
    """Go on to the next moment at which a holder or one above it has another piece, and say when that is."""
    moment, at = ENDLESS, row
    while at >= 0:
        if limits.holder[at, AT] + 1 < limits.holder[at, SIZE]:
            moment = min(moment, limits.piece[limits.holder[at, BEGIN] + limits.holder[at, AT] + 1, 0])
        at = limits.holder[at, ABOVE]
    at = row
    while at >= 0:
        following = limits.holder[at, AT] + 1
        if following < limits.holder[at, SIZE] and limits.piece[limits.holder[at, BEGIN] + following, 0] == moment:
            limits.holder[at, AT] = following
        at = limits.holder[at, ABOVE]
    return moment


@inner
def _find(limits: Limits, row: int, moment: int) -> int:
    """Which piece of the holder the moment is in."""
    begin, low, high = limits.holder[row, BEGIN], 0, limits.holder[row, SIZE]
    while high - low > 1:
        middle = (low + high) // 2
        if limits.piece[begin + middle, 0] <= moment:
            low = middle
        else:
            high = middle
    return low


@inner
def _cut(limits: Limits, row: int, moment: int) -> int:
    """The piece that starts at `moment`, made if there is none; the first one for all that is before it."""
    begin, here = limits.holder[row, BEGIN], _find(limits, row, moment)
    if limits.piece[begin + here, 0] >= moment:
        return here
    size = limits.holder[row, SIZE]
    for at in range(begin + size - 1, begin + here - 1, -1):
        _copy(limits, at, at + 1)
    limits.piece[begin + here + 1, 0] = moment
    limits.holder[row, SIZE] = size + 1
    return here + 1


@inner
def _join(limits: Limits, row: int, moment: int) -> None:
    begin, here = limits.holder[row, BEGIN], _find(limits, row, moment)
    if here == 0 or limits.piece[begin + here, 0] != moment:
        return
    for column in range(1, 1 + 4 * limits.amount.size):
        if limits.piece[begin + here, column] != limits.piece[begin + here - 1, column]:
            return
    for at in range(begin + here, begin + limits.holder[row, SIZE] - 1):
        _copy(limits, at + 1, at)
    limits.holder[row, SIZE] -= 1


@inner
def _copy(limits: Limits, source: int, target: int) -> None:
    for column in range(limits.piece.shape[1]):
        limits.piece[target, column] = limits.piece[source, column]
