"""A stop that lets the job save first: asked through the job protocol, given up at its time."""

from __future__ import annotations

import os
import time

from .files import NANOSECONDS, read_json, rfc3339, write_json
from .spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTROL_FILE = "control.json"
SAVED_FILE = "saved.json"  # in the attempt's folder: the ranks on other machines have answered the request `id`


class CheckpointFirst:
    """One rank's view of the wait. Every supervisor asks, since each may be the only one left; they ask the same."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._acknowledged = 0  # so many of the ranks here have answered, or have ended

    def settled(self, wanted: dict[str, Any]) -> bool:
        """Whether every rank has saved or ended, or time is up. `wanted`: id, until (seconds since the epoch)."""
        if time.time() >= wanted["until"]:
            return True
        control = f"{self._spec.run_folder}/{CONTROL_FILE}"
        if (read_json(control) or {}).get("id") != wanted["id"]:
            try:
                write_json(control, control_request(wanted["id"], checkpoint=True, stop_by=wanted["until"]))
            except OSError:
                return False  # the disk is full, or the job is in the way: asked again at the next look
        here = self._spec.here
        while self._acknowledged < len(here) and self._answered(here[self._acknowledged], wanted["id"]):
            self._acknowledged += 1
        return self._acknowledged == len(here) and (self._spec.whole or self._others_have(wanted["id"]))

    def _answered(self, rank: int, request: str) -> bool:
        return has_answered(self._spec.run_folder, self._spec.rank_folder(rank), rank, request)

    def _others_have(self, request: str) -> bool:
        told = read_json(f"{self._spec.attempt_folder}/{SAVED_FILE}") or {}
        return told.get("id") == request


def has_answered(run_folder: str, rank_folder: str, rank: int, request: str) -> bool:
    """Whether a rank has saved for a request, or has ended and never will."""
    answer = read_json(f"{run_folder}/ack-{rank}.json") or {}
    return answer.get("id") == request or os.path.exists(f"{rank_folder}/receipt.json")


def control_request(
    request: str, *, checkpoint: bool, stop_by: float | None = None, deadline: float | None = None
) -> dict[str, Any]:
    """The job protocol's request; moments are seconds since the epoch."""
    return {
        "id": request,
        "checkpoint": checkpoint,
        "stop_by": _moment(stop_by),
        "deadline": _moment(deadline),
        "time": rfc3339(time.time_ns()),
    }


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else rfc3339(int(seconds * NANOSECONDS))
