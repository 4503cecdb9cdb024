"""While the command runs: its log, its readiness, and the end that time, peers or people ask for."""

from __future__ import annotations

import os
import select
import signal
import time

from .files import NANOSECONDS
from .procs import descendants, living_descendants, send
from .rank import Rank
from .shared import COMMAND, ENDED, FAILED_STAGE, GRACE, RESTARTS, STATUS, STOPPED_AT, STOPPED_BY
from .stopping import CAUSES, Stop

TICK = 0.25  # seconds between two looks while nothing happens
SHORTEST_LOOK = 0.05  # and while much does
MOST_DOUBLINGS = 30
ASKED_FOR = (CAUSES.index("request"), CAUSES.index("shutdown"))


def watch(rank: Rank) -> None:
    """Return when the command has ended; in a stop, when nothing of the rank is left or its grace is over."""
    if rank.ended():
        return
    poller = select.poll()
    poller.register(rank.pipe, select.POLLIN)
    process = os.pidfd_open(rank.shared[COMMAND])
    poller.register(process, select.POLLIN)
    looked = 0.0
    try:
        while True:
            for descriptor, _ in poller.poll(int(TICK * 1000)):
                if descriptor == process:
                    poller.unregister(process)
                    looked = 0.0
            rank.log.pump(rank.pipe)
            if time.monotonic() - looked < SHORTEST_LOOK:
                continue
            looked = time.monotonic()
            if _look(rank):
                return
    finally:
        os.close(process)


def wait_to_restart(rank: Rank, run_seconds: float, row: int) -> int | None:
    """For a service: wait until the command is due again. The count of quick ends in a row, or None for no restart."""
    spec, shared = rank.spec, rank.shared
    limit = spec.restart["limit"]
    if not spec.service or shared[STOPPED_BY] or shared[FAILED_STAGE]:
        return None
    if limit is not None and shared[RESTARTS] >= limit:
        return None
    row = 0 if run_seconds >= spec.restart["longest"] else row
    delay = min(spec.restart["first"] * 2 ** min(row, MOST_DOUBLINGS), spec.restart["longest"])
    how = f"with {shared[STATUS]}" if shared[STATUS] >= 0 else f"by signal {-shared[STATUS]}"
    rank.log.note(f"the command ended {how}; restart {shared[RESTARTS] + 1} in {delay:g} s")
    if rank.probe is not None:
        rank.probe.begun()  # whatever answers now, it is not this process
    rank.tell_status("waiting")
    ends = time.monotonic() + delay
    while (left := ends - time.monotonic()) > 0:
        time.sleep(min(left, TICK))
        stop = rank.stops.find()
        if stop is not None:
            rank.why = stop.why
            shared[STOPPED_BY] = stop.cause
            return None
    shared[RESTARTS] += 1
    return row + 1


def _look(rank: Rank) -> bool:
    """One look at everything. True when the watch is over."""
    ended = rank.ended()
    if rank.probe is not None and not ended:
        rank.probe.step()
    rank.tell_status("running")
    if rank.shared[STOPPED_BY]:
        return _go_on_stopping(rank)
    if ended:
        return True
    stop = rank.stops.find()
    if stop is not None:
        _begin_stop(rank, stop)
    return False


def _begin_stop(rank: Rank, stop: Stop) -> None:
    """SIGTERM to every process of the rank; the grace counts from here."""
    rank.why = stop.why
    for pid in living_descendants(os.getpid()):
        send(pid, signal.SIGTERM)
        send(pid, signal.SIGCONT)  # a process that was halted could not heed it
    rank.shared[GRACE] = int(stop.grace * NANOSECONDS)
    rank.shared[STOPPED_AT] = time.monotonic_ns()
    rank.shared[STOPPED_BY] = stop.cause


def _go_on_stopping(rank: Rank) -> bool:
    if rank.shared[STOPPED_BY] in ASKED_FOR:
        rank.shared[GRACE] = min(rank.shared[GRACE], int(rank.stops.grace() * NANOSECONDS))
    if time.monotonic_ns() >= rank.shared[STOPPED_AT] + rank.shared[GRACE]:
        return True
    return rank.shared[ENDED] == 1 and not descendants(os.getpid())
