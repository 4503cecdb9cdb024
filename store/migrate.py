"""Bringing a database to the schema of this version, inside the process: no configuration file is read."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from definitions.errors import PerdureError
from store.engine import open_engine

FOLDER = Path(__file__).with_name("migrations")
LOCK = 0x70647572  # a number of our own among PostgreSQL's advisory locks


def upgrade(url: str, revision: str = "head") -> str:
    """Migrate to `revision` in one transaction and return it. Safe to repeat, and from several processes at once.

    Raises PD-3700 when the database is from a newer version, or was filled by something else: it is left as it is.
    """
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            _lock(connection)
            _refuse_unknown(connection, _current(connection))
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
            return _current(connection) or ""
    finally:
        engine.dispose()


def check(url: str) -> str:
    """The revision of a database that is current. Raises PD-3700 saying what it has instead."""
    engine = open_engine(url)
    try:
        return check_engine(engine)
    finally:
        engine.dispose()


def check_engine(engine: Engine) -> str:
    """`check` for an engine that is open already."""
    with engine.connect() as connection:
        current = _current(connection)
        _refuse_unknown(connection, current)
    if current != head():
        has = "has no schema yet" if current is None else f"has schema {current}"
        raise PerdureError("PD-3700", f"the database {has}, this version needs {head()}")
    return current


def head() -> str:
    """The revision that this version's tables are."""
    revision = _scripts().get_current_head()
    assert revision is not None
    return revision


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _lock(connection: Connection) -> None:
    """One process migrates, the others wait and find it done. SQLite: BEGIN IMMEDIATE has locked already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK})


def _refuse_unknown(connection: Connection, current: str | None) -> None:
    known = {script.revision for script in _scripts().walk_revisions()}
    if current is not None and current not in known:
        raise PerdureError("PD-3700", f"the database has schema {current}, which is newer than this version knows")
    if current is None and connection.dialect.has_table(connection, "jobs"):
        raise PerdureError("PD-3700", "the database has a table `jobs` that no migration of ours made")
