"""The agent's life: pairs forked, ranks held at the gate, the gang heard, the end told. One loop, woken by signals."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import time

from . import ending, pairs, podspec
from .beside import gate, procs
from .echo import Echo
from .folder import Folder
from .gang import Alone, Leader, Member, join
from .names import Names
from .places import TERMINATION_LOG
from .reports import Reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

FAILED = "PD-3207"
TICK, TICK_ALONE = 0.25, 1.0  # seconds between two looks; signals, ends of children and news of others end a wait
ADOPT_EVERY = 2.0  # seconds between two looks for lost pairs when no child has ended
DRAIN_WITHIN = 10.0  # seconds for the rest of the output


class Life:
    def __init__(self, pod: podspec.Pod) -> None:
        self._pod = pod
        self._folder = Folder(pod)
        self._echo = Echo(pod.specs, None if pod.shared else Reports(pod.places.run, pod.specs))
        self._names = Names(pod.names_to_know(), pod.names_within, self._wake_up)
        self._told_to_end = False
        self._leaving = False
        self._adopt_at = 0.0
        self._wakes, self._wake = os.pipe()
        for end in (self._wakes, self._wake):
            os.set_blocking(end, False)

    def live(self) -> int:
        """Returns the status to end with."""
        procs.become_subreaper("perdure-agent")
        signal.signal(signal.SIGTERM, self._heed)
        signal.signal(signal.SIGHUP, self._heed)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.makedirs(self._pod.places.home, mode=0o700, exist_ok=True)
        problems = pairs.start(self._pod.specs)  # before there are threads, and anything that a pair should not have
        gc.enable()
        if problems:
            why = "; ".join(f"rank {rank}: {problem}" for rank, problem in problems.items())
            gate.decide(self._pod.places.attempt, gate.CLOSED, "the agent", why)
        self._be_woken()
        self._echo.start()
        self._names.start()
        gang = self._join()
        while not self._tick(gang):
            self._wait()
        return self._end(gang)

    def _join(self) -> Alone | Leader | Member:
        try:
            return join(self._pod, self._folder, self._wake_up)
        except OSError as error:
            why = f"pod {self._pod.index} cannot listen on port {self._pod.gang_port}: {error}"
            gate.decide(self._pod.places.attempt, gate.CLOSED, "the agent", why)
            return Alone()

    def _tick(self, gang: Alone | Leader | Member) -> bool:
        """One look at everything; whether all is over."""
        now = time.monotonic()
        look = pairs.reap() or now >= self._adopt_at
        state = self._names_known(self._folder.state())
        with contextlib.suppress(OSError):  # the disk is full, say: what could not be written is at the next tick
            if look:
                self._adopt_at = now + ADOPT_EVERY
                pairs.adopt(self._pod.specs)
            if self._told_to_end and not self._leaving:
                self._folder.leave()
                self._leaving = True
                self._echo.say("the pod is told to end")
            if not self._pod.alone:
                self._folder.pass_on_ends()
            gang.tick(state)
        return bool(state["ended"]) and gang.may_end()

    def _names_known(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state, in which ranks only stand ready once those that they will look for can be found.

        Where they cannot, none starts: it would fail for the name, and that would pass for the job's own failing.
        """
        if state["gate"] is not None or not state["held"]:
            return state
        missing = self._names.missing
        if missing is not None:
            why = f"the cluster's name service did not know {missing} within {self._pod.names_within:g} s"
            self._echo.say(f"no rank starts: {why}")
            self._folder.decide_gate(gate.CLOSED, why)
            return self._folder.state()
        return {**state, "held": self._names.known()}

    def _end(self, gang: Alone | Leader | Member) -> int:
        gang.close()
        problem = ending.report(self._pod)
        if problem:
            self._echo.say(problem)
        self._echo.finish(DRAIN_WITHIN)
        return ending.status(self._pod)

    def _heed(self, _number: int, _frame: FrameType | None) -> None:
        self._told_to_end = True

    def _be_woken(self) -> None:
        """Have a child's end, or a signal to us, end a wait at once."""
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def _wake_up(self) -> None:
        with contextlib.suppress(BlockingIOError):  # enough wakes it already
            os.write(self._wake, b"!")

    def _wait(self) -> None:
        tick = TICK_ALONE if self._pod.alone else TICK
        if select.select([self._wakes], [], [], tick)[0]:
            os.read(self._wakes, 1 << 12)


def run(root: str) -> NoReturn:
    """Does not return: the process ends with the ranks' status, and leaves no thread to wait for."""
    try:
        code = Life(podspec.load(root)).live()
    except (OSError, ValueError, KeyError, TypeError) as error:
        code = ending.NEVER_RAN
        _tell_of_failure(f"the agent failed: {error!r}")
    os._exit(code)


def _tell_of_failure(what: str) -> None:
    print(f"perdure: {what}", flush=True)
    with contextlib.suppress(OSError), open(TERMINATION_LOG, "w", encoding="ascii") as file:
        file.write(json.dumps({"code": FAILED, "message": what[:1000]}))
