"""What `perdure status` says."""

from typing import Any

from perdure.local import lock, state
from perdure.local.home import Home
from perdure.local.ports import Ports
from perdure.local.state import Phase, ProcessState, Stage, State


def describe(home: Home) -> dict[str, Any]:
    """The control plane of a home as it is now: what was recorded, checked against the processes that are there.

    `{home, running, phase, api, ui, processes: [{name, pid, state, restarts, since}]}`; jobs are not among them.
    """
    record = state.read(home)
    running = record is not None and record.phase is not Phase.STOPPED and record.supervisor.alive()
    ports = record.ports if record else Ports()
    return {
        "home": str(home.root),
        "running": running,
        "phase": str(record.phase) if record and running else str(Phase.STOPPED),
        "api": ports.api_url if running else None,
        "ui": record.ui_url if record and running else None,
        "processes": _processes(record, running) if record and (running or lock.is_held(home.lock)) else [],
    }


def _processes(record: State, running: bool) -> list[dict[str, Any]]:
    supervisor = {
        "name": "supervisor",
        "pid": record.supervisor.pid if running else None,
        "state": str(record.phase) if running else str(Stage.GONE),
        "restarts": 0,
        "since": record.since,
    }
    return [supervisor, *(_process(entry) for entry in record.processes)]


def _process(entry: ProcessState) -> dict[str, Any]:
    there = entry.process is not None and entry.process.alive()
    gone = entry.process is not None and not there
    return {
        "name": entry.name,
        "pid": entry.process.pid if entry.process and there else None,
        "state": str(Stage.GONE if gone else entry.state),
        "restarts": entry.restarts,
        "since": entry.since,
    }
