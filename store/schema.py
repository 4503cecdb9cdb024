"""Which schema a database has, and whether it is this version's. Read from the names of the migrations, which are not
loaded: every process asks this when it starts.
"""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from definitions.errors import PerdureError
from store.engine import open_engine

MIGRATIONS = Path(__file__).with_name("migrations")
NAMES = "r[0-9][0-9][0-9][0-9]_*.py"


def revisions() -> list[str]:
    """Of all migrations, the first one first."""
    return sorted(file.name[1:5] for file in (MIGRATIONS / "versions").glob(NAMES))


def head() -> str:
    """The revision that this version's tables are."""
    return revisions()[-1]


def current(connection: Connection) -> str | None:
    """The revision of a database; None: nothing was migrated yet. Raises PD-3700 when it is from a newer version, or
    was filled by something else."""
    there = inspect(connection)
    found: str | None = None
    if there.has_table("alembic_version"):
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if found is not None and found not in revisions():
        raise PerdureError("PD-3700", f"the database has schema {found}, which is newer than this version knows")
    if found is None and there.has_table("jobs"):
        raise PerdureError("PD-3700", "the database has a table `jobs` that no migration of ours made")
    return found


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
        found = current(connection)
    if found != head():
        has = "has no schema yet" if found is None else f"has schema {found}"
        raise PerdureError("PD-3700", f"the database {has}, this version needs {head()}")
    return found
