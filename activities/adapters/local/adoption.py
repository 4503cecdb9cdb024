"""Ranks whose supervisors are both gone: what is left of them is ended, and what is not known stays unknown."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from activities.adapters.local.logs import last_lines
from activities.adapters.local.shim import cgroups, files, identity, leftovers, peers, procs, receipt
from definitions.attempt import AttemptRef, RankState, StartError, StoppedBy
from definitions.states import Mode


def lost(attempt: Path, folder: Path, ref: AttemptRef, rank: int, node: str, mode: Mode) -> bool:
    """End what is left of a rank that ran, and write that how it ended cannot be known.

    False when there is nothing to adopt: its lock is held, or it has a receipt. Safe to repeat and to do twice at once.
    """
    with _lock(folder) as held:
        if not held or receipt.exists(str(folder)):
            return False
        known = identity.read(str(folder)) or {}
        restarted = known.get("boot_id", procs.boot_id()) != procs.boot_id()
        killed = 0 if restarted else leftovers.end_rank(ref.token, rank, known)
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
