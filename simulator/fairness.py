"""Finish-time fairness: how much longer a job took than it would have in a part of the cluster of its queue's own.

The part is `1/n` of the GPUs for `n` queues, rounded up to whole GPUs and at least as many as the queue's largest gang
asks. There, alone with its queue, a job starts in order of arrival as soon as enough GPUs are free, wherever they are.
A job's ratio is its time from arrival to end here by that time there: above 1 it was worse off for sharing.
"""

import heapq
from collections.abc import Iterable, Sequence

from policies.scheduling.model import WHOLE
from simulator.trace import Job, milli_gpus


def alone(jobs: Sequence[Job], capacity: int) -> dict[str, int]:
    """Seconds from arrival to end that each job takes in its queue's own part. `capacity` in 1/1000 of a GPU."""
    by_queue: dict[str, list[Job]] = {}
    for job in jobs:
        by_queue.setdefault(job.request.queue, []).append(job)
    part = -(-capacity // (len(by_queue) * WHOLE)) * WHOLE if by_queue else 0
    found: dict[str, int] = {}
    for mine in by_queue.values():
        found |= _in_order(mine, max([part, *(milli_gpus(job.request.roles) for job in mine)]))
    return found


def jain(values: Iterable[float]) -> float:
    """Jain's index of fairness: 1 when all are equal, 1/n when one has everything. 1 for no values, or all 0."""
    found = list(values)
    squares = sum(value * value for value in found)
    return 1.0 if not squares else sum(found) ** 2 / (len(found) * squares)


def _in_order(jobs: Sequence[Job], capacity: int) -> dict[str, int]:
    """First come, first served on a plain number of GPUs; jobs are in order of arrival."""
    found: dict[str, int] = {}
    ends: list[tuple[int, int]] = []  # when, GPUs
    free, now = capacity, 0
    for job in jobs:
        need = milli_gpus(job.request.roles)
        now = max(now, job.request.submitted)
        while ends and (ends[0][0] <= now or free < need):
            end, gpus = heapq.heappop(ends)
            now = max(now, end)
            free += gpus
        length = job.seconds if job.request.limit is None else min(job.seconds, job.request.limit)
        heapq.heappush(ends, (now + length, need))
        free -= need
        found[job.request.id] = now + length - job.request.submitted
    return found
