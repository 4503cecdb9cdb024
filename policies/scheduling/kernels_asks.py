"""What gangs ask, as the compiled search by time reads it."""

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.kernels_time import NEVER, WHOLE, Ints, inner

BEGIN, END, OWNED, WORD, OUTER, CLOSER, PLAIN = range(7)  # of a kind
PODS, GPUS, SHARE, MASK, SPREAD, REQUIRED, PREFERRED, SLICE, SLICED, ASKS = range(10)  # of a role
CAP, ROOM, LIST, SOON, SINCE, UNTIL, STALE = range(7)  # of `node`
LESS, NONE, MORE = cast(int, np.int64(-1)), cast(int, np.int64(0)), cast(int, np.int64(1))


class Kinds(NamedTuple):
    """What gangs ask, once per kind. Rows of the topology: 0 none, -1 a level that there is not.

    Of a kind: its roles BEGIN until END, those with the largest pods first; the reservation OWNED by; the amount WORD
    of which it takes one per node, -1 none; the row OUTER of domains that are tried one by one, CLOSER the preferred
    one; PLAIN: the sum of what nodes hold decides whether it fits into a domain.
    Of a role: PODS, each with GPUS of which it takes SHARE; its MASK; at most one per node if SPREAD; rows REQUIRED,
    PREFERRED and that of SLICES of so many pods (SLICED); from ASKS on the amounts that a pod takes.
    """

    kind: Ints
    role: Ints
    masks: NDArray[np.bool_]  # [masks, N]
    windows: Ints  # [W, 3] owner, start, end


class Work(NamedTuple):
    """Scratch, and the earliest starts found for gangs of each kind since something was last given back."""

    # [N, 7] pods of a role that fit, whole GPUs free meanwhile, a list of nodes, their next changes; since when and
    # until when (0: nowhere) the grid is behind, and a list of the nodes where it is
    node: Ints
    behind: Ints  # [1] how many those are
    low: Ints  # amounts, then devices
    twin: Ints  # [kinds, 1 + searches, 2] length and start; [kind, 0, 0]: how many


@inner
def over(kinds: Kinds, kind: int, start: int, length: int) -> int:
    """When a gang that starts then is over: after its length, or with its reservation's window."""
    end = NEVER if length >= NEVER else start + length
    if kinds.kind[kind, OWNED] > 0:
        close = start
        for row in range(kinds.windows.shape[0]):
            if kinds.windows[row, 0] == kinds.kind[kind, OWNED] and kinds.windows[row, 1] <= start:
                close = max(close, kinds.windows[row, 2])
        end = min(end, close)
    return end


@inner
def gate(kinds: Kinds, role: int) -> int:
    """The level that a node needs at least to hold a pod of the role."""
    if kinds.role[role, GPUS] == 0:
        return 0
    return 1 if kinds.role[role, SHARE] < WHOLE else 1 + kinds.role[role, GPUS]
