"""The system's own PostgreSQL with its extensions: the engine needs btree_gin, which no wheel brings."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.support.lacking import step_aside
from tests.support.polling import eventually
from tests.support.ports import free_port
from tests.support.servers import start_server, stop_server

INSTALLED = Path("/usr/lib/postgresql")
ACCOUNT = "postgres"  # the server refuses to run as root
START_TRIES = 3
# Nothing here must survive a power cut. The engine alone keeps some forty connections.
SETTINGS = (
    "\nfsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_connections = 300\nshared_buffers = 64MB\n"
)


@dataclass(frozen=True)
class Postgres:
    """A serving database server, reached over TCP with a password."""

    port: int
    user: str
    password: str

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://{self.user}:{self.password}@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> str:
        """Make an empty database; returns its SQLAlchemy URL."""
        self.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
        return self.url(database)

    def execute(self, statement: sql.Composed) -> None:
        address = self.url("postgres").replace("+psycopg", "")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(statement)

    def dump(self, database: str, file: Path) -> None:
        self.tool("pg_dump", "--format", "custom", "--file", str(file), database)

    def restore(self, database: str, file: Path) -> None:
        """Fill an empty database from a dump."""
        self.tool("pg_restore", "--exit-on-error", "--dbname", database, str(file))

    def text(self, database: str) -> str:
        """All that a database holds, as one text; bytes are in hexadecimal."""
        return self.tool("pg_dump", "--data-only", database)

    def tool(self, name: str, *arguments: str) -> str:
        environment = {
            **os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": self.user,
            "PGPASSWORD": self.password,
        }  # fmt: skip
        done = subprocess.run(
            [str(programs() / name), *arguments], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"
        return done.stdout


def programs() -> Path:
    """The folder of PostgreSQL's programs, installed when it is missing and we may; else the test steps aside."""
    if not _found() and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
    if not (found := _found()):
        step_aside("PostgreSQL is missing, with initdb: install Debian's package postgresql")
    return found[-1]


@contextmanager
def running_debian_postgres() -> Iterator[Postgres]:
    """Start a server in a temporary folder; stop it and remove all on leaving."""
    with tempfile.TemporaryDirectory(prefix="perdure-pg-") as parent:
        _give(Path(parent))
        password = secrets.token_hex(12)
        _init(Path(parent), password)
        for _ in range(START_TRIES):
            server = Postgres(free_port(), ACCOUNT, password)
            process = _start(Path(parent), server.port)
            try:
                eventually(lambda s=server, p=process: _answers(s) or p.poll() is not None, 30, "PostgreSQL serving")  # type: ignore[misc]
                if process.poll() is None:
                    yield server
                    return
            finally:
                stop_server(process, signal.SIGINT)  # ends at once what is still connected
        log = Path(parent, "server.log").read_text(errors="replace")
        raise RuntimeError(f"PostgreSQL ended {START_TRIES} times while starting: {log[-2000:]}")


def _found() -> list[Path]:
    folders = [path.parent for path in INSTALLED.glob("*/bin/initdb")]
    return sorted(folders, key=lambda path: int(path.parent.name))


def _install() -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "postgresql"]):
        done = subprocess.run(["apt-get", *words], env=environment, capture_output=True, text=True, timeout=300)
        if done.returncode:
            step_aside(f"PostgreSQL is missing and could not be installed: {done.stderr.strip()[-500:]}")


def _account() -> dict[str, Any]:
    """How the server is started: as its own account when we are root, else as ourselves."""
    return {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []} if os.geteuid() == 0 else {}


def _give(folder: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(folder, ACCOUNT, ACCOUNT)


def _init(folder: Path, password: str) -> None:
    secret = folder / "password"
    secret.write_text(password)
    _give(secret)
    command = [str(programs() / "initdb"), "-D", str(folder / "data"), "--username", ACCOUNT, "--pwfile", str(secret)]
    command += ["--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/", **_account())
    assert done.returncode == 0, done.stderr
    with (folder / "data" / "postgresql.conf").open("a") as config:
        config.write(SETTINGS)


def _start(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    command = [str(programs() / "postgres"), "-D", str(folder / "data"), "-p", str(port)]
    command += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"]
    return start_server(command, folder / "server.log", os.environ, cwd="/", **_account())


def _answers(server: Postgres) -> bool:
    try:
        with psycopg.connect(server.url("postgres").replace("+psycopg", ""), connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False
