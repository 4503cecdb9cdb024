"""Why and when a rank is to be ended: found by its own supervisor, so that no control plane is needed for it."""

from __future__ import annotations

import os
import time

from . import gate, peers
from .checkpointing import CheckpointFirst
from .files import read_json
from .spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The shared page keeps the cause as an index into this.
CAUSES = ("", "request", "timeout", "hang", "gang", "shutdown", "severed")
STOP_FILE, DEADLINE_FILE = "stop.json", "deadline.json"
PROGRESS_FILE = "progress.jsonl"
GANG_GRACE = 3.0  # seconds: with the look around before and the kill after it, a gang ends within 5
LOOK_AT_PEERS = 1.0
SETTLED_AFTER = 100_000_000  # nanoseconds


class Stop:
    """One cause to end, its grace in seconds, and words for the receipt."""

    def __init__(self, cause: str, grace: float, why: str = "") -> None:
        self.cause = CAUSES.index(cause)
        self.grace = grace
        self.why = why


def deadline_of(spec: Spec) -> float | None:
    """When a rank is to end that was launched so, once its gate is open. The gate's own time: for all here the same."""
    if spec.time_limit is None:
        return spec.deadline
    opened = gate.opened_at(spec.attempt_folder)
    return None if opened is None else opened + spec.time_limit


class Stops:
    """Looks at clocks, at the attempt's folder and at the peers; cheap enough for several times a second."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._deadline = spec.deadline
        self._request: dict[str, Any] | None = None
        self._checkpoint: CheckpointFirst | None = None
        self._failed: dict[str, Any] | None = None
        self._folder_seen = -1
        self._progress_seen = (0, 0)
        self._progress_at = time.monotonic()
        self._peers_at = 0.0
        self._peers = peers.Peers(spec)
        self._running = False
        self.shutdown = False  # set by a signal of the machine's service manager

    def find(self, *, save_first: bool = True) -> Stop | None:
        """The first cause that holds now. `save_first`: a request to end counts once the job has saved, if it may."""
        self._look_at_folder()
        if self.shutdown:
            return Stop("shutdown", self._spec.grace, "its supervisors were told to end")
        if self.leaving and (stop := self._requested(save_first)):
            return stop
        if self._failed is not None and self._failed.get("rank") != self._spec.rank:
            grace = min(self._spec.grace, float(self._failed.get("grace", GANG_GRACE)))
            cause = "shutdown" if self.leaving else "severed" if self._failed.get("severed") else "gang"
            return Stop(cause, grace, str(self._failed.get("why", "")))
        return self._requested(save_first) or self._timed_out() or (self._hanging() if self._running else None)

    def grace(self) -> float:
        """The grace that a request asks for now: a later request may shorten the one being given."""
        self._look_at_folder()
        return self._spec.grace if self._request is None else float(self._request["grace"])

    @property
    def leaving(self) -> bool:
        """Whether the machine is being left: however the command ends now, it was not by itself."""
        return self.shutdown or (self._request or {}).get("cause") == "shutdown"

    def begun(self) -> None:
        """The command has just started: what counts as progress counts from here."""
        self._running = True
        self._progress_at = time.monotonic()
        if self._deadline is None:
            self._deadline = deadline_of(self._spec)

    def _look_at_folder(self) -> None:
        """Read what others have put there, once after each change of the folder."""
        folder = self._spec.attempt_folder
        try:
            changed = os.stat(folder).st_mtime_ns
        except FileNotFoundError:
            self.shutdown = True  # somebody removed it: nobody could find this rank's processes any more
            return
        if changed != self._folder_seen:
            # The clock of file systems ticks slowly: a change just now may be followed by one with the same time.
            settled = time.time_ns() - changed > SETTLED_AFTER
            self._folder_seen = changed if settled else -1
            self._request = read_json(f"{folder}/{STOP_FILE}")
            later = read_json(f"{folder}/{DEADLINE_FILE}")
            if later is not None:
                self._deadline = later["deadline"]
        gang = self._spec.ranks > 1 and not self._spec.service
        if gang and self._running and self._failed is None:
            self._look_at_peers()

    def _look_at_peers(self) -> None:
        self._failed = peers.failed(self._spec.attempt_folder)
        if self._failed is None and time.monotonic() >= self._peers_at:
            self._peers_at = time.monotonic() + LOOK_AT_PEERS
            self._failed = self._peers.look()

    def _requested(self, save_first: bool) -> Stop | None:
        if self._request is None:
            return None
        if save_first and self._request["checkpoint"] is not None:
            if self._checkpoint is None:
                self._checkpoint = CheckpointFirst(self._spec)
            if not self._checkpoint.settled(self._request["checkpoint"]):
                return None
        cause = self._request.get("cause", "request")
        return Stop(cause, float(self._request["grace"]), self._request["reason"])

    def _timed_out(self) -> Stop | None:
        if self._deadline is None or time.time() < self._deadline:
            return None
        return Stop("timeout", self._spec.grace)

    def _hanging(self) -> Stop | None:
        if self._spec.hang_after is None:
            return None
        try:
            stat = os.stat(f"{self._spec.run_folder}/{PROGRESS_FILE}")
            seen = (stat.st_size, stat.st_mtime_ns)
        except OSError:
            seen = (0, 0)
        now = time.monotonic()
        if seen != self._progress_seen:
            self._progress_seen, self._progress_at = seen, now
        quiet = now - self._progress_at
        if quiet < self._spec.hang_after:
            return None
        return Stop("hang", self._spec.grace, f"nothing new in {PROGRESS_FILE} for {quiet:.0f} s")
