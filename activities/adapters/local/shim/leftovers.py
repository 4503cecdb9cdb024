"""What is left of a rank of which both supervisors are gone: found by every lead there is, and killed."""

from __future__ import annotations

import os
import signal
import time

from . import cgroups, procs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

TOKEN, RANK = "PERDURE_ATTEMPT_TOKEN", "PERDURE_RANK"  # as definitions/protocol.py names them
KILL_WITHIN = 10.0  # seconds
PAUSE = 0.01


def end_rank(token: str, rank: int, known: dict[str, Any]) -> int:
    """Kill all that an identity leads to: groups, command, carriers of the token, writers of the log, their trees."""
    command = known.get("command") or {}

    def found() -> set[int]:
        pids = set(cgroups.members(known.get("cgroups", [])))
        if procs.is_alive(command.get("pid", 0), command.get("started")):
            pids.add(command["pid"])
        pids |= carriers(token, rank) | writers(known.get("pipe"))
        return pids | {below for pid in pids for below in procs.living_descendants(pid)}

    return end_all(found, lambda: cgroups.kill(known.get("cgroups", [])))


def end_all(found: Callable[[], set[int]], also: Callable[[], None] = lambda: None) -> int:
    """Kill whatever `found` returns until it returns nothing. Returns how many processes that were."""
    killed: set[int] = set()
    ends = time.monotonic() + KILL_WITHIN
    while (pids := {pid for pid in found() if procs.start_time(pid) is not None}) and time.monotonic() < ends:
        killed |= pids
        also()
        for pid in pids:
            procs.send(pid, signal.SIGKILL)
        time.sleep(PAUSE)
    return len(killed)


def carriers(token: str, rank: int | None = None) -> set[int]:
    """Processes that were started with an attempt's token in their environment, and with the rank when one is given."""
    wanted = {f"{TOKEN}={token}".encode()}
    if rank is not None:
        wanted.add(f"{RANK}={rank}".encode())
    own = os.getpid()
    return {pid for pid, variables in _environments() if pid != own and wanted <= variables}


def writers(pipe: str | None) -> set[int]:
    """Processes that have a log pipe open, which is read by nobody any more."""
    if not pipe:
        return set()
    found = set()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        folder = f"/proc/{name}/fd"
        try:
            numbers = os.listdir(folder)
        except OSError:
            continue  # it is gone, or another user's
        if any(_target(f"{folder}/{number}") == pipe for number in numbers):
            found.add(int(name))
    return found - {os.getpid()}


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _environments() -> Iterator[tuple[int, set[bytes]]]:
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = file.read()
        except OSError:
            continue
        yield int(name), set(variables.split(b"\0"))
