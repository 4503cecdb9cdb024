"""A whole embedded control plane for tests, started as a user starts it and asked over HTTP as a client asks."""

import json
import os
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil

from tests.support.polling import eventually
from tests.support.ports import free_port
from tests.support.processes import Seen, seen, wait_until_gone, with_environment

PERDURE = str(Path(sys.executable).parent / "perdure")
FINAL = ("Succeeded", "Failed", "Cancelled")
PORTS = ("API", "TEMPORAL", "UI", "METRICS")


class Stack:
    """One control plane in a home of its own. `crash` holds the hooks that a test arms (activities/effects.py)."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home = home
        self.crash = home.parent / f"{home.name}-crash"
        self.crash.mkdir(parents=True, exist_ok=True)
        self.ports = {name: free_port() for name in PORTS}
        given = {f"PERDURE_{name}_PORT": str(port) for name, port in self.ports.items()}
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")},
            **given,
            "PERDURE_HOME": str(home),
            "PERDURE_CRASH_DIR": str(self.crash),
            "NO_COLOR": "1",
            **environment,
        }

    @property
    def namespace(self) -> str:
        return "default"

    @property
    def temporal_address(self) -> str:
        return f"127.0.0.1:{self.ports['TEMPORAL']}"

    def run(
        self, *arguments: str, check: bool = True, timeout: float = 240, **given: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run `perdure` with these arguments; its whole output comes with a failure."""
        done = subprocess.run(
            [PERDURE, *arguments], env=self.environment, capture_output=True, text=True, timeout=timeout, **given
        )
        if check and done.returncode != 0:
            raise AssertionError(f"perdure {' '.join(arguments)} -> {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def up(self) -> None:
        self.run("up", "--detach")

    def down(self) -> None:
        self.run("down")

    def status(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.run("status", "--json", check=False).stdout)
        return answer

    def process(self, name: str) -> Seen:
        """The control plane's process of that name, once there is one."""

        def found() -> Seen | None:
            try:
                state = json.loads((self.home / "state.json").read_text())
                running = {entry["name"]: entry["process"] for entry in state["processes"] if entry["process"]}
                return seen(running[name]["pid"]) if name in running else None
            except (FileNotFoundError, psutil.NoSuchProcess):
                return None  # it has just ended: the supervisor is about to start another

        return eventually(found, 30, f"a process named {name}")

    def is_ready(self) -> bool:
        """Whether every part of the control plane serves, by its own account."""
        try:
            return bool(json.loads((self.home / "state.json").read_text())["phase"] == "ready")
        except FileNotFoundError:
            return False

    def phases(self) -> set[str]:
        """The phases in which jobs are, straight from the database."""
        connection = sqlite3.connect(f"file:{self.home / 'control.db'}?mode=ro", uri=True, timeout=10)
        try:
            return {str(row[0]) for row in connection.execute("SELECT DISTINCT phase FROM jobs")}
        finally:
            connection.close()

    def unfinished(self) -> int:
        """How many jobs are not over, straight from the database."""
        connection = sqlite3.connect(f"file:{self.home / 'control.db'}?mode=ro", uri=True, timeout=10)
        try:
            marks = ", ".join("?" * len(FINAL))
            query = f"SELECT count(*) FROM jobs WHERE phase NOT IN ({marks})"
            return int(connection.execute(query, FINAL).fetchone()[0])
        finally:
            connection.close()

    def client(self) -> httpx.Client:
        token = (self.home / "admin.token").read_text().strip()
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.ports['API']}/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
        )

    def ask(self, method: str, path: str, seconds: float = 60, **given: Any) -> httpx.Response:
        """One request, repeated while the API is away or the engine is: tests kill both on purpose."""
        headers = {"Idempotency-Key": uuid.uuid4().hex} if method == "POST" else {}

        def answered() -> httpx.Response | None:
            try:
                with self.client() as client:
                    response = client.request(method, path, headers=headers, **given)
            except (httpx.TransportError, FileNotFoundError):
                return None
            return None if response.status_code in (502, 503) else response

        return eventually(answered, seconds, f"{method} {path} answered")

    def submit(self, spec: dict[str, Any], name: str | None = None) -> str:
        """Submit a job and return its id."""
        document = {
            "apiVersion": "perdure/v1",
            "kind": "Job",
            "metadata": {"name": name or f"job-{uuid.uuid4().hex[:12]}"},
            "spec": {"workdir": {"mode": "none"}, **spec},
        }
        response = self.ask("POST", "/jobs", json={"document": document, "submission": base_environment()})
        assert response.status_code == 201, response.text
        identity: str = response.json()["id"]
        return identity

    def job(self, job: str) -> dict[str, Any]:
        response = self.ask("GET", f"/jobs/{job}")
        assert response.status_code == 200, response.text
        view: dict[str, Any] = response.json()
        return view

    def items(self, job: str, what: str) -> list[dict[str, Any]]:
        """Everything of a paged list below a job."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            parameters = {"limit": 200, **({"cursor": cursor} if cursor else {})}
            page = self.ask("GET", f"/jobs/{job}/{what}", params=parameters).json()
            found += page["items"]
            cursor = page["next"]
            if cursor is None:
                return found

    def until(self, job: str, phases: Sequence[str] = FINAL, seconds: float = 100) -> dict[str, Any]:
        """The job once it is in one of the phases."""

        def there() -> dict[str, Any] | None:
            view = self.job(job)
            return view if view["phase"] in phases else None

        return eventually(there, seconds, f"job {job} in {phases}")

    def arm(self, hook: str) -> Path:
        """Make the next process that comes to this hook die; returns the file that is there once it has."""
        (self.crash / hook).touch()
        return self.crash / f"{hook}.fired"

    def everything(self) -> list[Seen]:
        """Every process that was started with this home in its environment: control plane, supervisors; not jobs."""
        return with_environment("PERDURE_HOME", str(self.home))

    def gone(self, seconds: float = 20) -> None:
        wait_until_gone(self.everything(), seconds)


AnyStack = TypeVar("AnyStack", bound=Stack)


def base_environment() -> dict[str, Any]:
    return {"baseEnv": {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}}


@contextmanager
def running_stack(home: Path, **environment: str) -> Iterator[Stack]:
    """`perdure up --detach`, and `perdure down` on leaving; its logs are shown when a test fails."""
    with running(Stack(home, **environment)) as stack:
        yield stack


@contextmanager
def running(stack: AnyStack) -> Iterator[AnyStack]:
    """The same for a stack that was made before."""
    stack.up()
    try:
        yield stack
    except BaseException:
        print(stack_logs(stack), file=sys.stderr)
        raise
    finally:
        stack.down()


def stack_logs(stack: Stack, lines: int = 40) -> str:
    parts = []
    for path in sorted((stack.home / "logs").glob("*.log")):
        parts.append(f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-lines:]))
    return "\n".join(parts)


def wait_for(path: Path, seconds: float = 60) -> None:
    eventually(path.exists, seconds, f"{path.name} there")
