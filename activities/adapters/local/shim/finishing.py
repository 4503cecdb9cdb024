"""The end of a rank: its receipt, then everybody who waits for it."""

from __future__ import annotations

import errno
import os
import time

from . import cgroups, peers, receipt
from .files import remove_tree
from .rank import Rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECEIPT_WITHIN = 60.0  # seconds of trying while the disk takes nothing


def finish(rank: Rank) -> None:
    """Write the receipt of a rank of which no process is left. Safe to repeat until there is one."""
    if rank.refused is None:
        value = receipt.of_ended(rank.spec, rank.shared, rank.groups, rank.log.last_lines, rank.role, rank.why)
    else:
        value = receipt.of_never_run(rank.spec, rank.shared, rank.role, rank.refused, time.time_ns(), rank.why)
    _close(rank, value)


def finish_lost(rank: Rank, why: str) -> None:
    """Write the receipt of a rank that could not be supervised to its end."""
    _close(rank, receipt.of_lost(rank.spec, rank.role, time.time_ns(), why))


def _close(rank: Rank, value: dict[str, Any]) -> None:
    """What is removed goes before the receipt: once that is there, nothing of the rank is left but its files."""
    if rank.spec.secret_folder is not None:
        remove_tree(rank.spec.secret_folder)
    cgroups.remove(rank.groups)
    _write(rank.folder, value)
    if rank.spec.ranks > 1 and not rank.spec.service and receipt.ended_badly(value):
        peers.announce(rank.spec.attempt_folder, rank.spec.rank, f"rank {rank.spec.rank} ended badly")
    _poke(rank.spec.notify, rank.spec.key)


def _write(folder: str, value: dict[str, Any]) -> None:
    ends = time.monotonic() + RECEIPT_WITHIN
    pause = 0.1
    while True:
        try:
            receipt.write(folder, value)
            return
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or time.monotonic() > ends:
                raise
        time.sleep(pause)
        pause = min(pause * 2, 5.0)


def _poke(pipe: str, key: str) -> None:
    """Tell a watcher of the control plane, when there is one. It also looks by itself, so nothing depends on this."""
    try:
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.write(descriptor, f"{key}\n".encode())
    except OSError:
        pass
    finally:
        os.close(descriptor)
