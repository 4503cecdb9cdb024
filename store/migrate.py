"""Bringing a database to the schema of this version, inside the process: no configuration file is read."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

from store.engine import open_engine
from store.schema import MIGRATIONS, current, head

if TYPE_CHECKING:
    from alembic.config import Config

LOCK = 0x70647572  # a number of our own among PostgreSQL's advisory locks


def upgrade(url: str, revision: str = "head") -> str:
    """Migrate to `revision` in one transaction and return it. Safe to repeat, and from several processes at once.

    Raises PD-3700 when the database is from a newer version, or was filled by something else: it is left as it is.
    """
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            _lock(connection)
            found = current(connection)
            if found != head():
                _run(connection, revision)
                found = current(connection)
            return found or ""
    finally:
        engine.dispose()


def _run(connection: Connection, revision: str) -> None:
    from alembic import command  # takes long to load, and most starts find nothing to do

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _lock(connection: Connection) -> None:
    """One process migrates, the others wait and find it done. SQLite: BEGIN IMMEDIATE has locked already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK})
