"""The loops of the order: the next gang of each queue that may start.

N rows and R resources as in `kernels_share.py`, W waiting gangs in their order, K kinds of gangs, B bands (reserved or
not, then priority). Compiled by numba; the first call of a process loads the cache.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from policies.scheduling.kernels_share import Flags, Ints, Tree, refresh, select, set_inner, set_leaf, use

ENDLESS = 1 << 62
WAITING, STARTED, FAILED, PASSED = 0, 1, 2, 3  # passed: not offered, because one like it failed


class Line(NamedTuple):
    kind: Ints  # [W]
    beside: Ints  # [W], row of beside_room
    submitted: Ints  # [W]
    state: NDArray[np.int8]  # [W]
    asks: Ints  # [K, R]
    dead: Flags  # [K]: failed for the whole round
    bounded: bool  # whether limits count
    room: Ints  # [R], what limits leave to the leaf looked at; endless if they do not count
    beside_room: Ints  # [X, R], the most that holders beside the queues allow; never too little
    begin: Ints  # [B, N]: where the gangs of a band and queue begin and end
    end: Ints  # [B, N]
    left: Ints  # [B, N]: of them not started
    cursor: Ints  # [N]
    strict: Flags  # [N]


@njit(cache=True)
def open_band(tree: Tree, line: Line, band: int, levels: int) -> None:
    """Find the first gang of each queue in a band. `levels`: see `find`."""
    rows = len(tree.parent)
    for row in range(rows - 1, -1, -1):
        if tree.begin[row] == tree.begin[row + 1]:
            line.cursor[row] = line.begin[band, row]
            tree.blocked[row] = True
            if line.begin[band, row] < line.end[band, row] and not _waits(line, band, row):
                step(tree, line, band, row, levels)
            set_leaf(tree, row)
        else:
            set_inner(tree, row)


@njit(cache=True)
def step(tree: Tree, line: Line, band: int, leaf: int, levels: int) -> int:
    """Go to the first gang at or after the cursor that may start, -1 if none; shares are left as they were."""
    at = find(tree, line, band, leaf, levels)
    tree.blocked[leaf] = at < 0
    if at >= 0:
        line.cursor[leaf] = at
        tree.age[leaf] = line.submitted[at]
    return at


@njit(cache=True)
def find(tree: Tree, line: Line, band: int, leaf: int, levels: int) -> int:
    """The first gang of the leaf that is within limits and, with `levels`, within the guarantees of so many levels from
    the top. In a strict queue only the first that has not started is looked at."""
    strict = line.strict[leaf]
    if levels > 0 and not _may_be_within(tree, leaf, levels):
        return -1
    if line.bounded:
        _set_room(tree, tree.holder[leaf], line.room)
    for at in range(line.cursor[leaf], line.end[band, leaf]):
        if line.state[at] == STARTED:
            continue
        kind = line.kind[at]
        if line.state[at] == WAITING and not line.dead[kind]:
            asks = line.asks[kind]
            fits = _fits(asks, line.room) and _fits(asks, line.beside_room[line.beside[at]])
            if fits and (levels == 0 or _within(tree, asks, leaf, levels)):
                return at
        if strict:
            return -1
    return -1


@njit(cache=True)
def drain(tree: Tree, line: Line, bands: Ints, levels: Ints, places: Ints) -> int:
    """Start every gang in turn and note its place, from 1; tree and line are used up. Returns how many there were."""
    count = 0
    for turn in range(len(bands)):
        open_band(tree, line, bands[turn], levels[turn])
        leaf = select(tree)
        while leaf >= 0:
            at = line.cursor[leaf]
            if levels[turn] > 0:  # siblings may have used up a guarantee since
                at = step(tree, line, bands[turn], leaf, levels[turn])
            if at >= 0:
                count += 1
                places[at] = count
                line.state[at] = STARTED
                line.left[bands[turn], leaf] -= 1
                use(tree, leaf, line.asks[line.kind[at]])
                line.cursor[leaf] = at + 1
                step(tree, line, bands[turn], leaf, levels[turn])
            refresh(tree, leaf)
            leaf = select(tree)
    return count


@njit(cache=True)
def _waits(line: Line, band: int, leaf: int) -> bool:
    """A strict queue of which somebody before this band has not started."""
    if line.strict[leaf]:
        for before in range(band):
            if line.left[before, leaf] > 0:
                return True
    return False


@njit(cache=True)
def _set_room(tree: Tree, holder: int, room: Ints) -> None:
    """As `Quotas.room` does: from the top down what each may still occupy, and what it keeps and does not use."""
    for resource in range(len(room)):
        rise: int = ENDLESS
        most: int = ENDLESS
        for depth in range(tree.depth[holder] + 1):
            row = holder
            while tree.depth[row] > depth:
                row = tree.parent[row]
            limit, filled = int(tree.limit[row, resource]), int(tree.filled[row, resource])
            occupied = max(filled, int(tree.kept[row, resource]))
            may = min(limit, int(tree.borrowable[row, resource])) - occupied
            rise = max(0, min(rise, may)) + occupied - filled
            most = min(most, limit - int(tree.used[row, resource]))
        room[resource] = max(0, min(rise, most))


@njit(cache=True)
def _may_be_within(tree: Tree, leaf: int, levels: int) -> bool:
    """Whether any gang could be: at each of the levels some of a guarantee is not used."""
    row = leaf
    while row > 0:
        if tree.depth[row] <= levels:
            unused = False
            for resource in range(len(tree.total)):
                unused = unused or tree.used[row, resource] < tree.guarantee[row, resource]
            if not unused:
                return False
        row = tree.parent[row]
    return True


@njit(cache=True)
def _fits(asks: Ints, room: Ints) -> bool:
    for resource in range(len(asks)):  # noqa: SIM110 (a generator cannot be compiled)
        if asks[resource] > room[resource]:
            return False
    return True


@njit(cache=True)
def _within(tree: Tree, asks: Ints, leaf: int, levels: int) -> bool:
    """Each of the topmost `levels` rows guarantees something that is asked, and none would exceed a guarantee."""
    row = leaf
    while row > 0:
        if tree.depth[row] <= levels:
            named = False
            for resource in range(len(asks)):
                guarantee = tree.guarantee[row, resource]
                if asks[resource] > 0 and guarantee > 0:
                    named = True
                    if tree.used[row, resource] + asks[resource] > guarantee:
                        return False
            if not named:
                return False
        row = tree.parent[row]
    return True
