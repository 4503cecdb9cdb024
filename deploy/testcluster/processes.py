"""Servers that outlive the command that started them, named by pid *and* start time: pids are used again."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.testcluster.errors import ClusterError

POLL_SECONDS = 0.02
LOG_TAIL_BYTES = 1500
# Servers that this very process started: asking them is what reaps them once they have ended.
_children: list["subprocess.Popen[bytes]"] = []


@dataclass(frozen=True)
class Server:
    """`started` is in clock ticks since the machine came up, as the kernel tells it."""

    name: str
    pid: int
    started: int
    command: tuple[str, ...]

    def alive(self) -> bool:
        _reap()
        return start_of(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this very process; one that is gone is no error."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Servers:
    """The servers of one state folder. What is started is written down there, so that any process can end it."""

    def __init__(self, folder: Path) -> None:
        self._records = folder / "processes"
        self._logs = folder / "logs"

    def start(
        self, name: str, command: Sequence[str], *, environment: Mapping[str, str] | None = None, umask: int = 0o077
    ) -> Server:
        """Start a server in a session of its own, with its output in a log file. One of that name must not run."""
        running = self.find(name)
        if running and running.alive():
            raise ClusterError(f"{name} runs already as process {running.pid}; stop it first")
        self._records.mkdir(parents=True, exist_ok=True)
        self._logs.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("ab") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
                umask=umask,
            )
        _children.append(child)
        started = start_of(child.pid)
        if started is None:
            raise ClusterError(f"{name} has ended; its last words:\n{self.last_words(name)}")
        server = Server(name, child.pid, started, tuple(command))
        partial = self._records / f".{name}"
        partial.write_text(json.dumps(asdict(server)))
        partial.rename(self._records / f"{name}.json")
        return server

    def find(self, name: str) -> Server | None:
        """What was started under that name, whether it still runs or not."""
        try:
            record = json.loads((self._records / f"{name}.json").read_text())
        except FileNotFoundError:
            return None
        return Server(record["name"], record["pid"], record["started"], tuple(record["command"]))

    def all(self) -> list[Server]:
        found = (self.find(path.stem) for path in sorted(self._records.glob("*.json")))
        return [server for server in found if server]

    def must_live(self) -> None:
        """Raise with the end of its log when a server of this folder has ended."""
        for server in self.all():
            if not server.alive():
                raise ClusterError(f"{server.name} has ended; its last words:\n{self.last_words(server.name)}")

    def stop(self, name: str, grace: float = 10.0) -> None:
        """SIGTERM, and SIGKILL to what is left after `grace` seconds. Stopping what does not run is no error."""
        server = self.find(name)
        if server is None:
            return
        server.signal(signal.SIGTERM)
        server.signal(signal.SIGCONT)
        if not _gone_within(server, grace):
            server.signal(signal.SIGKILL)
            if not _gone_within(server, grace):
                raise ClusterError(f"{name} (process {server.pid}) cannot be ended; is it in an uninterruptible wait?")
        (self._records / f"{name}.json").unlink(missing_ok=True)

    def log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def last_words(self, name: str) -> str:
        try:
            return self.log(name).read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace").strip()
        except FileNotFoundError:
            return "(no log)"


def start_of(pid: int) -> int | None:
    """The start time of a living process; None for a zombie and for none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _gone_within(server: Server, seconds: float) -> bool:
    ends = time.monotonic() + seconds
    while server.alive():
        if time.monotonic() >= ends:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _reap() -> None:
    _children[:] = [child for child in _children if child.poll() is None]
