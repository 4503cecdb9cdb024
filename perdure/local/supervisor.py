"""Keeps the control plane's processes running until somebody asks to stop."""

import contextlib
import random
import subprocess
import time
from collections.abc import Callable

from perdure.local import logs, state
from perdure.local.child import Child, ChildSpec
from perdure.local.errors import LocalError
from perdure.local.home import Home
from perdure.local.ports import Ports
from perdure.local.processes import Process
from perdure.local.signals import Signals
from perdure.local.stack import children
from perdure.local.state import Phase, Stage, State

LONGEST_PAUSE = 30.0
STOP_PAUSE = 0.1


class Supervisor:
    """Runs in the main thread of a process that holds the home's lock. `on_change` sees every new state."""

    def __init__(
        self,
        home: Home,
        ports: Ports,
        me: Process,
        spawn: "Callable[[ChildSpec], subprocess.Popen[bytes]]",
        on_change: Callable[[State], None],
        *,
        own_engine: bool = True,
    ) -> None:
        self._home = home
        self._ports = ports
        self._me = me
        self._on_change = on_change
        specs = children(home, ports, own_engine=own_engine)
        self._children = [Child(spec, spawn, time.monotonic, random.random) for spec in specs]
        self._phase = Phase.STARTING
        self._since = state.now()
        self._written: State | None = None

    def run(self) -> bool:
        """Start everything, keep it running, and stop it in order when a signal asks.

        Returns whether every process then left cleanly. Raises LocalError (PD-4005), after stopping what
        runs, when a part cannot be brought up in the first place.
        """
        with Signals() as signals:
            try:
                while not signals.stop:
                    self._tick()
                    signals.wait(self._pause())
            finally:
                self._shut_down(signals)
        return all(child.left_cleanly for child in self._children)

    def _tick(self) -> None:
        for child in self._children:
            child.tick()
            if child.gave_up:
                raise self._cannot_start(child)
        self._start_what_may()
        ready = all(child.done or child.stage is Stage.READY for child in self._children)
        if ready:
            self._enter(Phase.READY)
        elif self._phase is Phase.READY:
            self._enter(Phase.DEGRADED)
        self._publish()
        with contextlib.suppress(OSError):
            logs.rotate(self._home.logs)

    def _start_what_may(self) -> None:
        """The engine and the migrations at once; what uses the tables when those are there."""
        migrated = all(child.done for child in self._children if child.spec.once)
        for child in self._children:
            fresh = child.stage is Stage.STOPPED and not child.done
            if fresh and (child.spec.once or child.spec.name == "temporal" or migrated):
                child.start()

    def _pause(self) -> float:
        return min([LONGEST_PAUSE, *(pause for child in self._children if (pause := child.pause()) is not None)])

    def _shut_down(self, signals: Signals) -> None:
        """First what uses the engine, then the engine. Jobs are nobody's children here and go on."""
        self._enter(Phase.STOPPING)
        users = [child for child in self._children if child.spec.name != "temporal"]
        engine = [child for child in self._children if child.spec.name == "temporal"]
        for group in (users, engine):
            for child in group:
                child.ask_to_stop()
            self._publish()
            while not all([child.stopped(hurry=signals.hurry) for child in group]):
                self._publish()
                signals.wait(STOP_PAUSE)
        self._enter(Phase.STOPPED)
        self._publish()

    def _enter(self, phase: Phase) -> None:
        if phase is not self._phase:
            self._phase, self._since = phase, state.now()

    def _publish(self) -> None:
        reports = tuple(child.report() for child in self._children if not child.spec.once)
        current = State(self._phase, self._me, self._ports, self._since, reports)
        if current == self._written:
            return
        # A full disk must not end the control plane: the record is written again at the next turn.
        with contextlib.suppress(OSError):
            if current.phase is Phase.READY:
                state.replace(self._home.endpoint, {"api": self._ports.api_url, "ui": current.ui_url})
            state.write(self._home, current)
            self._written = current
        self._on_change(current)

    def _cannot_start(self, child: Child) -> LocalError:
        log = self._home.log(child.spec.name)
        return LocalError("PD-4005", f"{child.gave_up}; the end of {log} says:\n{logs.tail(log)}\n")
