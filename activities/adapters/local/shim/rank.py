"""What the steps of supervising a rank share."""

from __future__ import annotations

import os
import time

from . import cgroups
from .files import rfc3339, write_json
from .logfile import LogWriter
from .procs import kill_descendants
from .shared import COMMAND, ENDED, ENDED_AT, LEFTOVERS, RESTARTS, STATUS, Shared
from .spec import Spec
from .stopping import Stops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .probe import Probe

KILL_WITHIN = 10.0  # seconds
STATUS_FILE = "status.json"


class Rank:
    """One rank and all that belongs to it. `role`: who of the pair is at work; `pids`: of the pair, by role."""

    def __init__(
        self, spec: Spec, shared: Shared, log: LogWriter, pipe: tuple[int, int], groups: list[str], probe: Probe | None
    ) -> None:
        self.spec = spec
        self.folder = spec.rank_folder()
        self.shared = shared
        self.log = log
        self.pipe, self.pipe_end = pipe
        self.groups = groups
        self.probe = probe
        self.stops = Stops(spec)
        self.role = "supervisor"
        self.pids: dict[str, int] = {}
        self.why = ""  # for the receipt
        self.refused: str | None = None  # why the command never ran, when it did not: a start error, or "" for a stop
        self._told: tuple[object, ...] = ()

    def ended(self) -> bool:
        """Whether the command has ended, after taking in what has."""
        self.reap()
        return self.shared[ENDED] == 1

    def reap(self) -> None:
        """Take in ended children. The command's status is noted before the kernel forgets it."""
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            if found.si_pid == self.shared[COMMAND] and not self.shared[ENDED]:
                self.shared[STATUS] = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
                self.shared[ENDED_AT] = time.time_ns()
                self.shared[ENDED] = 1
            os.waitpid(found.si_pid, 0)

    def kill_rest(self) -> None:
        """Leave no process of the rank alive, however it hid; then write the rest of the log."""
        killed, stuck = kill_descendants(self.reap, lambda: cgroups.kill(self.groups), KILL_WITHIN)
        self.shared[LEFTOVERS] += len(killed - {self.shared[COMMAND]})
        if stuck:
            self.why = f"could not be killed, stuck in the kernel: {', '.join(map(str, stuck))}"
        self.log.finish(self.pipe)

    def tell_status(self, state: str) -> None:
        """Let observers see readiness and restarts of a service; written when something has changed."""
        if not self.spec.service:
            return
        ready = self.probe.ready if self.probe is not None else state == "running"
        told = (state, ready, self.shared[RESTARTS])
        if told == self._told:
            return
        value = {"state": state, "ready": ready, "restarts": self.shared[RESTARTS], "at": rfc3339(time.time_ns())}
        try:
            write_json(f"{self.folder}/{STATUS_FILE}", value)
            self._told = told
        except OSError:
            pass  # no space now: told at the next look
