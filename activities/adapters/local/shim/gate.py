"""The gang's gate: one file, made once, says whether the ranks of an attempt run or none of them does."""

from __future__ import annotations

import time

from .files import NANOSECONDS, create_once, read_json, rfc3339
from .identity import is_supervised
from .spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "go"
OPEN, CLOSED = "open", "closed"


def decide(attempt_folder: str, verdict: str, by: str, why: str = "") -> dict[str, Any]:
    """Decide once for all, durably; returns what was decided, perhaps by somebody else and otherwise."""
    now = time.time_ns()
    value = {"gate": verdict, "by": by, "why": why, "at": rfc3339(now), "time": now / NANOSECONDS}
    return create_once(f"{attempt_folder}/{FILE}", value, durable=True) or value


def decision(attempt_folder: str) -> dict[str, Any] | None:
    return read_json(f"{attempt_folder}/{FILE}")


def opened_at(attempt_folder: str) -> float | None:
    """When the gate opened, in seconds since the epoch; None when it has not."""
    made = decision(attempt_folder)
    return float(made["time"]) if made is not None and made["gate"] == OPEN else None


class Gate:
    """One rank's view. Whoever sees that every rank has a durable identity opens, so the launcher may be gone.

    Ranks that are not all here leave the opening to whoever sees all.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._identified = 0  # ranks below this one are known to have an identity
        self._closes = time.monotonic() + spec.gate_within

    def look(self) -> dict[str, Any] | None:
        """The decision, once there is one. Makes it when every rank is there, or when the time is up."""
        folder, by = self._spec.attempt_folder, f"rank {self._spec.rank}"
        made = decision(folder)
        if made is None and self._all_identified():
            made = decide(folder, OPEN, by)
        if made is None and time.monotonic() >= self._closes:
            who = f"rank {self._identified}" if self._spec.whole else "another machine's rank"
            why = f"{who} was not there within {self._spec.gate_within:g} s"
            made = decide(folder, CLOSED, by, why)
        return made

    def _all_identified(self) -> bool:
        if not self._spec.whole:
            return False  # it cannot be seen from here
        while self._identified < self._spec.ranks:
            if not is_supervised(self._spec.rank_folder(self._identified)):
                return False
            self._identified += 1
        return True
