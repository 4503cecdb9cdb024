"""What earlier searches tell of later ones for gangs of the same kind and limits, as compiled code."""

from policies.scheduling.kernels_asks import Work
from policies.scheduling.kernels_time import inner


@inner
def bound_of(work: Work, twin: int, length: int) -> int:
    """A gang starts no sooner than an equal or shorter one of its kind could, on the same table or an emptier one."""
    bound = 0
    for row in range(1, 1 + work.twin[twin, 0, 0]):
        if work.twin[twin, row, 0] <= length:
            bound = max(bound, work.twin[twin, row, 1])
    return bound


@inner
def note(work: Work, twin: int, length: int, start: int) -> None:
    """Remember a search's result, in place of those that tell no more than it."""
    kept = 1
    for row in range(1, 1 + work.twin[twin, 0, 0]):
        other, its = work.twin[twin, row, 0], work.twin[twin, row, 1]
        if other <= length and its >= start:
            return
        if not (other >= length and its <= start):
            work.twin[twin, kept, 0], work.twin[twin, kept, 1] = other, its
            kept += 1
    if kept < work.twin.shape[1]:
        work.twin[twin, kept, 0], work.twin[twin, kept, 1] = length, start
        kept += 1
    work.twin[twin, 0, 0] = kept - 1
