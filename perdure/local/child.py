"""One child of the supervisor: started, watched until it serves, started again when it ends."""

import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from perdure.local import backoff
from perdure.local.probes import Probe
from perdure.local.processes import Process, identify
from perdure.local.state import ProcessState, Stage, now

START_LIMIT = 120.0  # seconds in which a child must serve
FIRST_START_TRIES = 3
REFUSED = 78  # a child's way to say that starting it again cannot help


@dataclass(frozen=True)
class ChildSpec:
    """`once`: it does its work and ends with 0, before the others start. `grace`: seconds from SIGTERM to SIGKILL."""

    name: str
    module: str
    ready: Probe
    grace: float
    once: bool = False


class Child:
    """A small state machine, driven by `tick`. `clock` is monotonic seconds, `chance` random numbers in [0, 1)."""

    def __init__(
        self,
        spec: ChildSpec,
        spawn: Callable[[ChildSpec], "subprocess.Popen[bytes]"],
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self.spec = spec
        self.stage = Stage.STOPPED
        self.restarts = 0
        self.exit: int | None = None
        self.gave_up = ""
        self._spawn = spawn
        self._clock = clock
        self._chance = chance
        self._process: subprocess.Popen[bytes] | None = None
        self._identity: Process | None = None
        self._since = now()
        self._entered = clock()
        self._due = 0.0
        self._failures = 0
        self._was_ready = False

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def done(self) -> bool:
        """Whether a `once` child has done its work."""
        return self.spec.once and self.stage is Stage.STOPPED and self.exit == 0

    @property
    def left_cleanly(self) -> bool:
        """Whether it ended with 0; before it served, the signal that asked it to stop may end it outright."""
        return self.exit in (0, None) or (self.exit == -signal.SIGTERM and not self._was_ready)

    def start(self) -> None:
        """Start the process; when even that fails (no memory, no space for its log), that counts as an end."""
        try:
            self._process = self._spawn(self.spec)
        except OSError:
            self._process = None
            self._ended()
            return
        self._identity = identify(self._process.pid)
        self._enter(Stage.STARTING)

    def tick(self) -> None:
        """Take note of what happened since the last call, and do what is due."""
        if self.stage is Stage.WAITING and self._clock() >= self._due:
            self.restarts += 1
            self.start()
        elif self.stage in (Stage.STARTING, Stage.READY) and not self.running:
            self._ended()
        elif self.stage is Stage.STARTING and self._process and self.spec.ready(self._process.pid):
            self._was_ready = True
            self._enter(Stage.READY)
        elif self.stage is Stage.STARTING and self._clock() - self._entered > START_LIMIT:
            self._stuck()

    def pause(self) -> float | None:
        """Seconds until `tick` has something to do; None: only when the process ends."""
        if self.stage is Stage.STARTING:
            return 0.1
        return max(0.0, self._due - self._clock()) if self.stage is Stage.WAITING else None

    def ask_to_stop(self) -> None:
        if self.running and self._process:
            self._process.send_signal(signal.SIGTERM)
            self._enter(Stage.STOPPING)
        elif self.stage is not Stage.STOPPED:
            self.exit = self._process.returncode if self._process else self.exit
            self._enter(Stage.STOPPED)

    def stopped(self, *, hurry: bool) -> bool:
        """Whether it has ended after `ask_to_stop`; kills it when its grace is over, or at once in a hurry."""
        if self.stage is Stage.STOPPED or self._process is None:
            return True
        if self.running:
            if hurry or self._clock() - self._entered > self.spec.grace:
                self._process.kill()
            return False
        self.exit = self._process.returncode
        self._enter(Stage.STOPPED)
        return True

    def report(self) -> ProcessState:
        process = self._identity if self.running else None
        return ProcessState(self.spec.name, self.stage, self.restarts, self._since, process, self.exit)

    def _ended(self) -> None:
        self.exit = self._process.returncode if self._process else None
        if self.spec.once and self.exit == 0:
            self._enter(Stage.STOPPED)
            return
        ready_for = self._clock() - self._entered if self.stage is Stage.READY else None
        self._failures = backoff.failures_after(self._failures, ready_for)
        self._due = self._clock() + backoff.delay(self._failures, self._chance())
        self._enter(Stage.WAITING)
        if not self._was_ready and (self.exit == REFUSED or self._failures >= FIRST_START_TRIES):
            self.gave_up = f"{self.spec.name} ended with {self.exit} before it was ready (try {self._failures})"

    def _stuck(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._ended()
        if not self._was_ready:
            self.gave_up = f"{self.spec.name} was not ready after {START_LIMIT:.0f} seconds"

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        self._since = now()
        self._entered = self._clock()
