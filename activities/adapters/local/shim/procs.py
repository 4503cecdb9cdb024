"""Processes as the kernel tells of them: named by pid and start time, with all their descendants."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
START_TIME = 19  # position in /proc/<pid>/stat counted from the state, which follows the name in brackets
FIRST_PAUSE = 0.001
LONGEST_PAUSE = 0.05


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def become_subreaper(name: str) -> None:
    """Orphans among this process's descendants become its children, so that none can hide by forking twice."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")
    libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def start_time(pid: int) -> int | None:
    """Clock ticks from boot to the start of a living process; None when it is gone or a zombie.

    With the boot id this tells a process from a later one that got the same pid. Raises OSError when it cannot be told.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[START_TIME])


def is_alive(pid: int, started: int | None) -> bool:
    """Whether the very process runs that had this pid and start time."""
    return pid > 0 and started is not None and start_time(pid) == started


def descendants(pid: int) -> list[int]:
    """Every process below this one, zombies included, parents first."""
    found: list[int] = []
    waiting = children(pid)
    while waiting:
        child = waiting.pop()
        found.append(child)
        waiting.extend(children(child))
    return found


def living_descendants(pid: int) -> list[int]:
    return [child for child in descendants(pid) if start_time(child) is not None]


def children(pid: int) -> list[int]:
    found: list[int] = []
    folder = f"/proc/{pid}/task"
    try:
        threads = os.listdir(folder)
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"{folder}/{thread}/children", "rb") as file:
                found.extend(int(child) for child in file.read().split())
        except OSError:
            continue  # the thread or its process has just ended
    return found


def send(pid: int, number: int) -> None:
    """Send a signal; a process that is gone, or became another user's, is left alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def kill_descendants(reap: Callable[[], None], also: Callable[[], None], within: float) -> tuple[set[int], list[int]]:
    """SIGKILL everything below this process again and again until nothing is left.

    `reap` takes in the ended, `also` is called before each round (a control group's kill). Returns the pids that were
    alive and were killed, and those that would not die in `within` seconds (stuck in the kernel).
    """
    killed: set[int] = set()
    ends = time.monotonic() + within
    pause = FIRST_PAUSE
    while True:
        reap()
        # One that had ended by the time it was looked at may have left us a child that was not ours a moment before,
        # and one whose first thread has ended may run on: only where nothing is seen, dead or alive, nothing is left.
        seen = descendants(os.getpid())
        living = [pid for pid in seen if start_time(pid) is not None]
        if not seen or time.monotonic() >= ends:
            return killed, living
        killed.update(living)
        also()
        for pid in seen:
            send(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
