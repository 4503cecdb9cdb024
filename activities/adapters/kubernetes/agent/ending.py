"""The end of a pod: what its container leaves to be read, and the status it ends with."""

from __future__ import annotations

import os

from .beside import files, peers
from .message import build
from .places import RECEIPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .podspec import Pod

NEVER_RAN = 125  # or how it ended is not known
SIGNALLED = 128


def report(pod: Pod) -> str:
    """Put the receipts where they outlive the pod: the termination message, and the volume beside the logs.

    Returns what went wrong with that; the container's status is there all the same.
    """
    receipts = read_receipts(pod)
    problem = ""
    for one in pod.specs:
        try:
            if os.path.isdir(one.log_folder):
                files.write_json(f"{one.log_folder}/{RECEIPT}", receipts[one.rank])
        except OSError as error:
            problem = f"the receipt of rank {one.rank} is not on the volume: {error}"
    try:
        with open(pod.message_file, "w", encoding="ascii") as file:
            file.write(build(pod.token, list(receipts.values())))
    except OSError as error:
        problem = f"the termination message could not be written: {error}"
    return problem


def status(pod: Pod) -> int:
    """0 when every rank ended with 0, else the status of the first that did not.

    The first by time, but one that ended by itself goes before those that were ended because of it.
    """
    bad = [one for one in read_receipts(pod).values() if one.get("exit_code") != 0]
    if not bad:
        return 0
    first = min(bad, key=lambda one: (one.get("stopped_by") is not None, str(one.get("ended_at"))))
    if first.get("signal"):
        return SIGNALLED + int(first["signal"])
    return int(first.get("exit_code") or NEVER_RAN)


def read_receipts(pod: Pod) -> dict[int, dict[str, Any]]:
    """By rank; one that cannot be read counts as lost."""
    return {one.rank: _receipt(pod, one.rank, one.rank_folder()) for one in pod.specs}


def _receipt(pod: Pod, rank: int, folder: str) -> dict[str, Any]:
    path = f"{folder}/{peers.RECEIPT}"
    unknown = {"rank": rank, "token": pod.token, "state": "lost", "detail": f"{path} cannot be read"}
    return files.read_json(path) or unknown
