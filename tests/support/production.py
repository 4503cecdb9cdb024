"""The production pair for tests: a real engine server, built once, on a real PostgreSQL."""

import random
import secrets
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from deploy.temporal.config import PLUGIN, Certificates, Database, Server, render, render_dynamic
from deploy.testcluster.progress import to_stderr
from deploy.testcluster.tools import program
from tests.support.debian_postgres import Postgres
from tests.support.minio import Minio
from tests.support.polling import eventually
from tests.support.ports import free_port, is_listening
from tests.support.processes import Seen, seen
from tests.support.servers import start_server, stop_server
from tests.support.stack import Stack
from tests.support.temporal import temporal_binary

SHARDS = 4  # enough for one machine; more would only cost
START_TRIES = 3


@dataclass
class Engine:
    """A serving engine. `databases`: what it runs, and what it lists by."""

    address: str
    databases: tuple[str, str]
    certificates: Certificates | None
    command: tuple[str, ...]
    log: Path
    process: "subprocess.Popen[bytes]"


def make_engine_databases(postgres: Postgres, name: str) -> tuple[str, str]:
    """Two databases with the engine's tables."""
    databases = (name, f"{name}_visibility")
    for database, schema in zip(databases, ("temporal", "visibility"), strict=True):
        postgres.create(database)
        _sql_tool(postgres, database, "setup-schema", "-v", "0.0")
        _sql_tool(postgres, database, "update-schema", "--schema-name", f"postgresql/v12/{schema}")
    return databases


@contextmanager
def running_engine(
    folder: Path, postgres: Postgres, databases: tuple[str, str], certificates: Certificates | None = None
) -> Iterator[Engine]:
    """Start the server on databases that are there; stop it on leaving. The namespace is made by who needs it."""
    folder.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, START_TRIES + 1):
        engine = _start(folder, postgres, databases, certificates, attempt)
        try:
            eventually(lambda e=engine: e.process.poll() is not None or serves(e), 90, "the engine serving")  # type: ignore[misc]
            if engine.process.poll() is None:
                yield engine
                return
        finally:
            stop_server(engine.process)
    raise RuntimeError(f"the engine ended {START_TRIES} times while starting: {engine.log.read_text()[-3000:]}")


@contextmanager
def kept_running(engine: Engine) -> Iterator[None]:
    """Start the server again whenever it has ended, as a cluster does, for as long as the block runs."""
    over = threading.Event()

    def keep() -> None:
        while not over.wait(0.2):
            if engine.process.poll() is not None:
                engine.process = start_server(engine.command, engine.log, {})

    keeper = threading.Thread(target=keep, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join(10)


class ProductionStack(Stack):
    """A control plane on an engine, a database and a bucket that others look after."""

    def __init__(self, home: Path, engine: Engine, postgres: Postgres, minio: Minio, **environment: str) -> None:
        self.engine = engine
        self.postgres = postgres
        self.database = f"perdure_{secrets.token_hex(4)}"
        super().__init__(
            home,
            **{
                "PERDURE_TEMPORAL_ADDRESS": engine.address,
                "PERDURE_TEMPORAL_NAMESPACE": f"perdure-{secrets.token_hex(4)}",
                "PERDURE_DATABASE_URL": postgres.create(self.database),
                "PERDURE_OBJECT_STORE": f"s3://{minio.bucket()}",
                "PERDURE_S3_ENDPOINT": minio.endpoint,
                **minio.environment,
                **environment,
            },
        )

    def move(self, engine: Engine, postgres: Postgres, bucket: str) -> None:
        """From the next start on use another engine, database server and bucket; names of databases stay."""
        self.engine = engine
        self.postgres = postgres
        self.environment |= {
            "PERDURE_TEMPORAL_ADDRESS": engine.address,
            "PERDURE_DATABASE_URL": postgres.url(self.database),
            "PERDURE_OBJECT_STORE": f"s3://{bucket}",
        }

    @property
    def temporal_address(self) -> str:
        return self.engine.address

    @property
    def namespace(self) -> str:
        return self.environment["PERDURE_TEMPORAL_NAMESPACE"]

    def process(self, name: str) -> Seen:
        return seen(self.engine.process.pid) if name == "temporal" else super().process(name)

    def is_ready(self) -> bool:
        return super().is_ready() and self.engine.process.poll() is None and serves(self.engine)

    def phases(self) -> set[str]:
        with psycopg.connect(self.postgres.url(self.database).replace("+psycopg", "")) as connection:
            return {str(row[0]) for row in connection.execute("SELECT DISTINCT phase FROM jobs")}


def _start(
    folder: Path, postgres: Postgres, databases: tuple[str, str], certificates: Certificates | None, attempt: int
) -> Engine:
    dynamic = folder / "dynamic.yaml"
    dynamic.write_text(render_dynamic())
    database = Database("127.0.0.1", postgres.port, postgres.user, postgres.password, *databases)
    port, membership, services = free_port(), _row(4), _row(3)
    server = Server(
        database,
        port=port,
        membership=membership,
        services=services,
        shards=SHARDS,
        dynamic=str(dynamic),
        certificates=certificates,
        log_level="warn",
    )
    file = folder / f"server-{attempt}.yaml"
    file.write_text(render(server))
    log = folder / f"server-{attempt}.log"
    command = (str(program("temporal-server", to_stderr)), "--config-file", str(file), "start")
    return Engine(f"127.0.0.1:{port}", databases, certificates, command, log, start_server(command, log, {}))


def serves(engine: Engine) -> bool:
    """Whether the engine answers that it serves."""
    command = [str(temporal_binary()), "operator", "cluster", "health", "--address", engine.address]
    if files := engine.certificates:
        command += ["--tls-ca-path", files.authority, "--tls-cert-path", files.certificate]
        command += ["--tls-key-path", files.key, "--tls-server-name", files.server_name]
    health = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return "SERVING" in health.stdout


def _row(count: int) -> int:
    """The first of so many free ports in a row; the engine keeps ports of its services in 16 bits with a sign."""
    while True:
        first = random.randrange(12_000, 32_000)
        if not any(is_listening(port) for port in range(first, first + count)):
            return first


def _sql_tool(postgres: Postgres, database: str, *words: str) -> None:
    command = [str(program("temporal-sql-tool", to_stderr)), "--plugin", PLUGIN, "--endpoint", "127.0.0.1"]
    command += ["--port", str(postgres.port), "--user", postgres.user, "--password", postgres.password]
    done = subprocess.run([*command, "--database", database, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
