"""What the supervisor tells others about itself: `state.json`, rewritten whole at every change."""

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from perdure.local.home import Home
from perdure.local.ports import Ports
from perdure.local.processes import Process

VERSION = 1


class Phase(StrEnum):
    """Where the control plane as a whole is."""

    STARTING = "starting"
    READY = "ready"
    DEGRADED = "degraded"  # it was ready, and a part is being started again
    STOPPING = "stopping"
    STOPPED = "stopped"


class Stage(StrEnum):
    """Where one process is."""

    STARTING = "starting"  # it runs, and does not serve yet
    READY = "ready"
    WAITING = "waiting"  # it ended; its next start waits for its time
    STOPPING = "stopping"
    STOPPED = "stopped"
    GONE = "gone"  # only in reports: recorded as running, and not there


@dataclass(frozen=True)
class ProcessState:
    """`since`: when it entered its stage, RFC 3339 in UTC. `exit`: how it last ended (negative: by that signal)."""

    name: str
    state: Stage
    restarts: int
    since: str
    process: Process | None = None
    exit: int | None = None


@dataclass(frozen=True)
class State:
    phase: Phase
    supervisor: Process
    ports: Ports
    since: str
    processes: tuple[ProcessState, ...]

    @property
    def ui_url(self) -> str | None:
        """Where the engine's Web UI is, when the engine is one of the processes."""
        return self.ports.ui_url if any(process.name == "temporal" for process in self.processes) else None


def write(home: Home, state: State) -> None:
    """Replace the record. Readers see the old one or the new one, never half of one."""
    replace(home.state, {"version": VERSION, **asdict(state)})


def read(home: Home) -> State | None:
    """The last record; None when there is none that can be read."""
    try:
        record = json.loads(home.state.read_text())
        return State(
            phase=Phase(record["phase"]),
            supervisor=Process(**record["supervisor"]),
            ports=Ports(**record["ports"]),
            since=record["since"],
            processes=tuple(_process(entry) for entry in record["processes"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def replace(path: Path, content: object) -> None:
    """Write JSON under another name, then rename it over `path`."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    temporary.replace(path)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _process(entry: dict[str, object]) -> ProcessState:
    process = entry["process"]
    return ProcessState(
        name=str(entry["name"]),
        state=Stage(str(entry["state"])),
        restarts=int(str(entry["restarts"])),
        since=str(entry["since"]),
        process=Process(**process) if isinstance(process, dict) else None,
        exit=None if entry["exit"] is None else int(str(entry["exit"])),
    )
