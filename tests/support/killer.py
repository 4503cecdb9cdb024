"""A killer that spares nobody: SIGKILL to a random one of each kind of process, counted by victim and job phase."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from threading import Event, Thread

import psutil

from tests.support.audit import Auditor, boot_id, start_ticks
from tests.support.processes import seen
from tests.support.stack import Stack

CONTROL_PLANE = ("worker", "api", "temporal")
JOB_SIDE = ("watcher", "supervisor", "rank")
VICTIMS = (*CONTROL_PLANE, *JOB_SIDE)


class Killer(Thread):
    """Kills until `done` is set or `most` of each kind are dead: always a kind that was hit least, so none goes unhit.

    A part of the control plane is killed when all of it serves: one that never comes back to its work tests nothing.
    """

    def __init__(
        self,
        stack: Stack,
        auditor: Auditor,
        seed: int,
        pause: tuple[float, float],
        most: int,
        victims: Sequence[str] = VICTIMS,
    ) -> None:
        super().__init__(name="killer", daemon=True)
        self.kills: Counter[str] = Counter()
        self.phases: Counter[tuple[str, str]] = Counter()  # (victim, phase of a job at that moment)
        self.done = Event()
        self.error: BaseException | None = None
        self._stack = stack
        self._auditor = auditor
        self._random = random.Random(seed)
        self._pause = pause
        self._most = most
        self._victims = victims

    def by_phase(self) -> dict[str, dict[str, int]]:
        """How many kills of each kind met jobs in each phase."""
        found: dict[str, dict[str, int]] = {}
        for (victim, phase), count in sorted(self.phases.items()):
            found.setdefault(phase, {})[victim] = count
        return found

    def run(self) -> None:
        try:
            while not self.done.wait(self._random.uniform(*self._pause)):
                least = min(self.kills[victim] for victim in self._victims)
                if least >= self._most:
                    return
                candidates = [victim for victim in self._victims if self.kills[victim] <= least]
                self._kill(self._random.choice(candidates))
        except BaseException as error:  # a killer that died unseen would make the soak a walk in the park
            self.error = error

    def _kill(self, victim: str) -> None:
        phases = self._phases()
        if victim in CONTROL_PLANE:
            if not self._stack.is_ready():
                return
            self._stack.process(victim).kill()
        elif not self._kill_of_job(victim):
            return  # nothing of the kind lives just now: the next round asks again
        self.kills[victim] += 1
        for phase in phases:
            self.phases[victim, phase] += 1

    def _kill_of_job(self, victim: str) -> bool:
        pids = self._ranks() if victim == "rank" else self._supervisors(victim)
        if not pids:
            return False
        try:
            seen(self._random.choice(pids)).kill()
        except psutil.NoSuchProcess:
            return False
        return True

    def _ranks(self) -> list[int]:
        marks = [mark for name in self._auditor.names() for mark in self._auditor.marks(name)]
        return [mark.pid for mark in marks if mark.what == "start" and mark.alive()]

    def _supervisors(self, role: str) -> list[int]:
        """Living supervisors or watchers, by the identities that they wrote."""
        found = []
        for path in (self._stack.home / "runs").glob("*/*/*/attempts/*/rank-*/identity.json"):
            try:
                identity = json.loads(path.read_text())
            except (OSError, ValueError):
                continue
            process = identity.get(role)  # a watcher writes its own name first, and the supervisor's once there is one
            if process and identity["boot_id"] == boot_id() and start_ticks(process["pid"]) == process["started"]:
                found.append(process["pid"])
        return found

    def _phases(self) -> set[str]:
        """Phases in which jobs are at this moment, straight from the database: the API may be the one that is dead."""
        return self._stack.phases() - {"Succeeded"}
