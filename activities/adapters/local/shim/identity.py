"""Who supervises a rank, written durably before any code of the user runs: what adoption and peers go by."""

from __future__ import annotations

import time

from .files import read_json, rfc3339, write_json
from .procs import boot_id, is_alive, start_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "identity.json"


def write(rank_folder: str, token: str, pids: dict[str, int], leads: dict[str, Any]) -> None:
    """`pids` by role: watcher, supervisor, command. `leads`: what else of the rank has to be found when all are gone.

    Durable once this returns.
    """
    value: dict[str, Any] = {
        "token": token,
        "boot_id": boot_id(),
        "at": rfc3339(time.time_ns()),
        **leads,
    }
    for role, pid in pids.items():
        value[role] = {"pid": pid, "started": start_time(pid)}
    write_json(f"{rank_folder}/{FILE}", value, durable=True)


def read(rank_folder: str) -> dict[str, Any] | None:
    """None when there is none. Raises OSError when that cannot be told."""
    return read_json(f"{rank_folder}/{FILE}", strict=True)


def is_supervised(rank_folder: str) -> bool:
    """Whether watcher or supervisor of a rank lives."""
    return is_supervisor_alive(read(rank_folder))


def is_supervisor_alive(identity: dict[str, Any] | None) -> bool:
    if identity is None or identity["boot_id"] != boot_id():
        return False
    pairs = (identity.get(role) or {} for role in ("watcher", "supervisor"))
    return any(is_alive(pair.get("pid", 0), pair.get("started")) for pair in pairs)
