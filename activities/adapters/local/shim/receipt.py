"""The exit receipt: what is known of a rank's end, in the words of the wire model `RankEvidence`."""

from __future__ import annotations

import json
import os
import signal

from . import cgroups
from .files import rfc3339, sync_folder
from .shared import (
    CHDIR,
    ENDED_AT,
    EXEC,
    FAILED_ERRNO,
    FAILED_STAGE,
    GROUP_OOM,
    JOINED,
    LEFTOVERS,
    MACHINE_OOM,
    RESTARTS,
    STARTED_AT,
    STATUS,
    STOPPED_BY,
    Shared,
)
from .spec import Spec
from .stopping import CAUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "receipt.json"
RESERVED = "receipt.reserved"
RESERVED_BYTES = 64 * 1024  # above what twenty lines of LINE_LENGTH characters can take
LINE_LENGTH = 500
FULL_BELOW = 64 * 1024  # bytes: with less left, nothing of use can be written
NO_SPACE = ("No space left on device", "ENOSPC", "Errno 28")


def reserve(rank_folder: str) -> None:
    """Claim the receipt's space now: a job that fills the disk must not keep its own receipt from being written."""
    descriptor = os.open(f"{rank_folder}/{RESERVED}", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, RESERVED_BYTES)
    finally:
        os.close(descriptor)


def write(rank_folder: str, value: dict[str, Any]) -> None:
    """Write the receipt into its reserved space and give it its name. Durable once this returns."""
    reserved, path = f"{rank_folder}/{RESERVED}", f"{rank_folder}/{FILE}"
    data = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    descriptor = os.open(reserved, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        if os.pwrite(descriptor, data, 0) != len(data):
            raise OSError("the receipt could not be written whole")
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(reserved, path)
    sync_folder(rank_folder)


def exists(rank_folder: str) -> bool:
    return os.path.exists(f"{rank_folder}/{FILE}")


def of_ended(spec: Spec, shared: Shared, groups: list[str], lines: list[bytes], by: str, why: str) -> dict[str, Any]:
    """The receipt of a command that ran, or that failed to be run."""
    last_lines = [line.decode("utf-8", "replace")[:LINE_LENGTH] for line in lines]
    status = shared[STATUS]
    full = _is_full(spec.run_folder)
    hint = "" if full or not _tells_of_full_disk(last_lines) else "its last lines tell of a full disk"
    return {
        **_who(spec, by),
        "state": "exited",
        "exit_code": status if status >= 0 else None,
        "signal": -status if status < 0 else None,
        "started_at": rfc3339(shared[STARTED_AT]),
        "ended_at": rfc3339(shared[ENDED_AT]),
        "stopped_by": CAUSES[shared[STOPPED_BY]] or None,
        "start_error": _start_error(shared),
        "oom": _oom(shared, groups, spec.memory_groups),
        "disk_full": full,
        "leftovers": shared[LEFTOVERS],
        "restarts": shared[RESTARTS],
        "ready": False,
        "detail": _start_problem(spec, shared) or why or hint,
        "last_lines": last_lines,
    }


def of_never_run(spec: Spec, shared: Shared, by: str, error: str, now: int, why: str) -> dict[str, Any]:
    """The receipt of a rank whose gate did not open. `error`: gate or workdir; empty when it was stopped before."""
    return {
        **_who(spec, by),
        "state": "exited",
        "ended_at": rfc3339(now),
        "stopped_by": CAUSES[shared[STOPPED_BY]] or None,
        "start_error": error or None,
        "ready": False,
        "detail": why,
    }


def of_lost(spec: Spec, by: str, now: int, why: str) -> dict[str, Any]:
    """The receipt of a rank whose supervision failed: how the command ended is not known, and is not guessed."""
    return {**_who(spec, by), "state": "lost", "ended_at": rfc3339(now), "ready": False, "detail": why}


def ended_badly(receipt: dict[str, Any]) -> bool:
    """Whether this end is to end the gang: not one that came from the gang, or that every rank gets by itself."""
    return receipt.get("exit_code") != 0 and receipt.get("stopped_by") in (None, "shutdown")


def _who(spec: Spec, by: str) -> dict[str, Any]:
    return {"rank": spec.rank, "node": spec.node, "token": spec.token, "written_by": by}


def _start_error(shared: Shared) -> str | None:
    if shared[FAILED_STAGE] == CHDIR:
        return "workdir"
    if shared[FAILED_STAGE] == EXEC:
        return "not-found" if shared[STATUS] == 127 else "not-executable"
    return None


def _start_problem(spec: Spec, shared: Shared) -> str:
    if not shared[FAILED_STAGE]:
        return ""
    what = spec.cwd if shared[FAILED_STAGE] == CHDIR else spec.argv[0]
    return f"{what!r}: {os.strerror(shared[FAILED_ERRNO])}"


def _oom(shared: Shared, groups: list[str], container: list[str]) -> str:
    """Its own group's count proves, and so does its container's for a rank that was killed. The machine's count, grown,
    makes a SIGKILL suspicious. A status proves nothing."""
    killed = shared[STATUS] in (-signal.SIGKILL, 128 + signal.SIGKILL)
    counted = cgroups.oom_kills(container or cgroups.joined(groups, shared[JOINED]))
    if counted is not None:
        grown = counted > shared[GROUP_OOM]
        return "confirmed" if grown and (killed or not container) else "none"
    machine = cgroups.machine_oom_kills()
    grew = machine is not None and 0 <= shared[MACHINE_OOM] < machine
    return "suspected" if killed and grew else "none"


def _is_full(folder: str) -> bool:
    try:
        return is_full(os.statvfs(folder))
    except OSError:
        return False


def is_full(seen: os.statvfs_result) -> bool:
    """Whether nothing of use can be written: no bytes or no inodes are left, where the file system counts them."""
    no_bytes = seen.f_blocks > 0 and seen.f_bavail * seen.f_frsize < FULL_BELOW
    no_inodes = seen.f_files > 0 and seen.f_favail == 0
    return no_bytes or no_inodes


def _tells_of_full_disk(lines: list[str]) -> bool:
    return any(word in line for line in lines for word in NO_SPACE)
