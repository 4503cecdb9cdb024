"""Ranks whose supervisors are both gone: what is left of them is ended, and what is not known stays unknown."""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from activities.adapters.local.logs import last_lines
from activities.adapters.local.shim import cgroups, files, identity, peers, procs, receipt
from definitions import protocol
from definitions.attempt import AttemptRef, RankState, StartError, StoppedBy
from definitions.states import Mode

KILL_WITHIN = 10.0  # seconds
PAUSE = 0.01


def lost(attempt: Path, folder: Path, ref: AttemptRef, rank: int, node: str, mode: Mode) -> bool:
    """End what is left of a rank that ran, and write that how it ended cannot be known.

    False when there is nothing to adopt: its lock is held, or it has a receipt. Safe to repeat and to do twice at once.
    """
    with _lock(folder) as held:
        if not held or receipt.exists(str(folder)):
            return False
        known = identity.read(str(folder)) or {}
        restarted = known.get("boot_id", procs.boot_id()) != procs.boot_id()
        killed = 0 if restarted else end_rank(ref.token, rank, known)
        why = "its machine was restarted" if restarted else "both supervisors are gone without a receipt"
        value = _receipt(ref, rank, node, folder, RankState.LOST, why)
        value["node_lost"] = restarted
        value["leftovers"] = killed
        value["ended_at"] = files.rfc3339(_last_sign(folder) if restarted else time.time_ns())
        _close(folder, known, value)
        if mode is Mode.BATCH:
            peers.announce(str(attempt), rank, f"rank {rank} was lost: {why}")
        return True


def never_ran(folder: Path, ref: AttemptRef, rank: int, node: str, why: str, *, stopped: bool) -> bool:
    """Write the receipt of a rank that nobody supervises and whose gate is closed. False as for `lost`."""
    with _lock(folder) as held:
        if not held or receipt.exists(str(folder)):
            return False
        known = identity.read(str(folder)) or {}
        value = _receipt(ref, rank, node, folder, RankState.EXITED, why)
        value["ended_at"] = files.rfc3339(time.time_ns())
        value["start_error"] = None if stopped else StartError.GATE
        value["stopped_by"] = StoppedBy.REQUEST if stopped else None
        _close(folder, known, value)
        return True


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
    wanted = {f"{protocol.ATTEMPT_TOKEN}={token}".encode()}
    if rank is not None:
        wanted.add(f"{protocol.RANK}={rank}".encode())
    own = os.getpid()
    return {pid for pid, variables in _environments() if pid != own and wanted <= variables}


def writers(pipe: str | None) -> set[int]:
    """Processes that have a log pipe open, which is read by nobody any more."""
    if not pipe:
        return set()
    found = set()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            folder = f"/proc/{name}/fd"
            if any(_target(f"{folder}/{number}") == pipe for number in os.listdir(folder)):
                found.add(int(name))
    return found - {os.getpid()}


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _environments() -> Iterator[tuple[int, set[bytes]]]:
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it is gone, or another user's
            yield int(name), set(Path("/proc", name, "environ").read_bytes().split(b"\0"))


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Whether the supervisors' lock could be taken: nobody supervises the rank, nor begins to meanwhile."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(folder / "lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _receipt(ref: AttemptRef, rank: int, node: str, folder: Path, state: RankState, why: str) -> dict[str, Any]:
    return {
        "rank": rank,
        "node": node,
        "token": ref.token,
        "written_by": "adapter",
        "state": state,
        "ready": False,
        "detail": why,
        "last_lines": last_lines(folder / "log"),
    }


def _close(folder: Path, known: dict[str, Any], value: dict[str, Any]) -> None:
    if known.get("secret_folder"):
        files.remove_tree(known["secret_folder"])
    cgroups.remove(known.get("cgroups", []))
    receipt.write(str(folder), value)


def _last_sign(folder: Path) -> int:
    """When something of the rank was last written: the last proof that it lived before the machine went down."""
    written = [file.stat().st_mtime_ns for file in (*folder.glob("log/*.log"), *folder.glob("identity.json"))]
    return max(written, default=time.time_ns())
