"""The loop that draws the order in time: who is next whenever something ends. Names as in `kernels_order.py`.

What runs is a heap by end: rows of (end, leaf, first column of amounts ...), of which `size` are in use.
"""

from numba import njit

from policies.scheduling.kernels_order import STARTED, Line, open_band, step
from policies.scheduling.kernels_share import Ints, Tree, refresh, select, use

END, LEAF, AMOUNTS = 0, 1, 2


@njit(cache=True)
def drain_in_time(
    tree: Tree,
    line: Line,
    bands: Ints,
    levels: Ints,
    lengths: Ints,
    now: int,
    heap: Ints,
    size: int,
    places: Ints,
    most: int,
    looks: int,
) -> int:
    """As `drain`, but what has no room waits until enough of what runs has ended. `lengths`: of each gang, how long it
    runs; `most`: places that are given; `looks`: how often all queues are looked at. Returns how many places were."""
    count, turn, at_time, looks_left = 0, 0, now, looks
    open_band(tree, line, bands[turn], levels[turn])
    while count < most and looks_left > 0:
        leaf = select(tree)
        if leaf < 0:
            turn += 1
            if turn == len(bands):
                break
            looks_left -= 1
            open_band(tree, line, bands[turn], levels[turn])
            continue
        at = line.cursor[leaf]
        if levels[turn] > 0:  # siblings may have used up a guarantee since
            at = step(tree, line, bands[turn], leaf, levels[turn])
            if at < 0:
                refresh(tree, leaf)
                continue
        asks = line.asks[line.kind[at]]
        if size and not _has_room(tree, asks):
            at_time = max(at_time, heap[0, END])
            use(tree, heap[0, LEAF], -heap[0, AMOUNTS:])
            size = _pop(heap, size)
            looks_left -= 1
            turn = 0  # whoever is below a guarantee or its share now comes first
            open_band(tree, line, bands[turn], levels[turn])
            continue
        count += 1
        places[at] = count
        line.state[at] = STARTED
        line.left[bands[turn], leaf] -= 1
        use(tree, leaf, asks)
        size = _push(heap, size, at_time + lengths[at], leaf, asks)
        begin, end = line.begin[bands[turn], leaf], line.end[bands[turn], leaf]
        while begin < end and line.state[begin] == STARTED:
            begin += 1
        line.begin[bands[turn], leaf] = begin
        line.cursor[leaf] = at + 1
        step(tree, line, bands[turn], leaf, levels[turn])
        refresh(tree, leaf)
    return count


@njit(cache=True)
def _has_room(tree: Tree, asks: Ints) -> bool:
    for resource in range(len(asks)):
        if asks[resource] > 0 and tree.used[0, resource] + asks[resource] > tree.total[resource]:
            return False
    return True


@njit(cache=True)
def _push(heap: Ints, size: int, end: int, leaf: int, amounts: Ints) -> int:
    at = size
    heap[at, END], heap[at, LEAF] = end, leaf
    heap[at, AMOUNTS:] = amounts
    while at > 0 and heap[(at - 1) // 2, END] > heap[at, END]:
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    return size + 1


@njit(cache=True)
def _pop(heap: Ints, size: int) -> int:
    size -= 1
    heap[0] = heap[size]
    at = 0
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and heap[child, END] < heap[least, END]:
                least = child
        if least == at:
            return size
        _swap(heap, at, least)
        at = least


@njit(cache=True)
def _swap(heap: Ints, one: int, other: int) -> None:
    for column in range(heap.shape[1]):
        heap[one, column], heap[other, column] = heap[other, column], heap[one, column]


@njit(cache=True)
def pushed(heap: Ints, ends: Ints, leaves: Ints, amounts: Ints) -> int:
    """Put what runs into an empty heap. Returns its size."""
    size = 0
    for row in range(len(ends)):
        size = _push(heap, size, ends[row], leaves[row], amounts[row])
    return size
