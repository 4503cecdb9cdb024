"""What the demo is played on: a control plane of its own, and ways to look at what runs."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from perdure.client import Client, Run
from perdure.errors import PerdureError

PERDURE = str(Path(sys.executable).parent / "perdure")
PORTS = ("api", "temporal", "ui", "metrics")
PATIENCE = 90.0  # seconds for any one thing to happen
PAUSE = 0.2
FINAL = ("Succeeded", "Failed", "Cancelled")


class DemoFailed(Exception):
    """Something did not turn out as the demo promises."""


class Plane:
    """A running control plane, and the jobs that the demo has submitted to it."""

    def __init__(self, console: Console, home: Path, environment: dict[str, str]) -> None:
        self.home = home
        self.client = Client.from_config(home)
        self.api: str = json.loads((home / "endpoint.json").read_text())["api"]
        self._console = console
        self._environment = environment
        self._runs: list[Run] = []

    def submit(self, document: dict[str, Any], folder: Path) -> Run:
        run = self.client.submit(document, folder=folder)
        self._runs.append(run)
        self._console.print(f"   submitted {run.view.name} ({run.id}), {run.view.ranks} ranks")
        return run

    def pid(self, name: str) -> int:
        return int(self._part(name)["pid"])

    def until_back(self, name: str, before: int) -> None:
        """Return once another process than `before` serves as that part."""

        def back() -> bool:
            part = self._part(name)
            return bool(part["state"] == "ready" and part["pid"] != before)

        self._wait(f"the {name} process", back, lambda: "")

    def until_step(self, run: Run, step: int) -> int:
        """Return once the job has reported the step, and which one it is then."""
        self.until(run, f"step {step}", lambda: (run.refresh().step or 0) >= step)
        return run.view.step or 0

    def latest_step(self, run: Run) -> int:
        """The last step in the run folder itself: up to a second newer than what the API says."""
        folder = self.home / "runs" / run.view.tenant / run.view.project / run.id / "run"
        lines = (folder / "progress.jsonl").read_text().splitlines()
        return max((int(json.loads(line)["step"]) for line in lines[-3:-1]), default=0)

    def until_end(self, run: Run) -> Any:
        return self.until(run, "the end", lambda: run.refresh().phase in FINAL)

    def until(self, run: Run, what: str, condition: Callable[[], bool]) -> Any:
        """Return what the API says of the job once the condition holds. An API that is away is waited for."""

        def reached() -> bool:
            holds = condition()
            if not holds and run.view.phase in FINAL:
                raise DemoFailed(f"{run.view.name} is {run.view.phase} before {what}: {run.view.reason}")
            return holds

        self._wait(what, reached, lambda: f"{run.view.phase}, attempt {run.view.attempt}, step {run.view.step or 0}")
        return run.view

    def end_jobs(self) -> None:
        """Cancel what still runs: jobs outlive the control plane."""
        for run in self._runs:
            if run.refresh().phase not in FINAL:
                run.cancel()
                run.wait(PATIENCE)

    def _part(self, name: str) -> dict[str, Any]:
        status = json.loads(perdure("status", "--json", environment=self._environment))
        part: dict[str, Any] = next(part for part in status["processes"] if part["name"] == name)
        return part

    def _wait(self, what: str, condition: Callable[[], bool], now: Callable[[], str]) -> None:
        deadline = time.monotonic() + PATIENCE
        with self._console.status(f"waiting for {what}") as line:
            while not condition():
                if time.monotonic() > deadline:
                    raise DemoFailed(f"{what} did not come within {PATIENCE:.0f} seconds ({now()})")
                line.update(f"waiting for {what}; {now()}" if now() else f"waiting for {what}")
                time.sleep(PAUSE)


@contextmanager
def control_plane(console: Console, home: Path | None) -> Iterator[Plane]:
    """Start a control plane in `home` on free ports, and stop it afterwards. None: the usual one, which stays."""
    environment = dict(os.environ)
    if home is not None:
        environment |= {"PERDURE_HOME": str(home), **_free_ports()}
    began = time.monotonic()
    with console.status("starting the control plane: workflow engine, worker, API"):
        perdure("up", "--detach", environment=environment)
    status = json.loads(perdure("status", "--json", environment=environment))
    plane = Plane(console, Path(status["home"]), environment)
    took = time.monotonic() - began
    console.print(f"The control plane is up after {took:.1f} s: API {status['api']}, Web UI {status['ui']}")
    try:
        yield plane
    finally:
        try:
            plane.end_jobs()
        except PerdureError as error:
            console.print(f"Jobs could not be ended: {error}", style="red")
        plane.client.close()
        if home is not None:
            perdure("down", environment=environment)


def perdure(*arguments: str, environment: dict[str, str]) -> str:
    """What the command line prints. Raises DemoFailed with its error otherwise."""
    done = subprocess.run(
        [PERDURE, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
    )
    if done.returncode != 0:
        raise DemoFailed(f"perdure {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def processes_of(below: Path | None = None, **variables: str) -> list[int]:
    """Processes that were started with these variables in their environment, or with a path below a folder in it."""
    wanted = {f"{name}={value}".encode() for name, value in variables.items()}
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        inside = below is None or f"={below}".encode() in environment
        if environment and inside and wanted <= set(environment.split(b"\0")):
            found.append(int(folder.name))
    return sorted(found)


def _free_ports() -> dict[str, str]:
    """Ports that nothing listens on now, all held open until all are chosen."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    try:
        return {f"PERDURE_{name.upper()}_PORT": str(s.getsockname()[1]) for name, s in zip(PORTS, sockets, strict=True)}
    finally:
        for each in sockets:
            each.close()
