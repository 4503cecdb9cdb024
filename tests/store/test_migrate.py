"""Migrations arrive at exactly the tables of the code, whoever runs them and whatever happens meanwhile."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, insert, inspect, text
from sqlalchemy.exc import DBAPIError

from definitions.errors import PerdureError
from store import migrate, schema
from store.engine import open_engine
from store.tables import ScheduleRow, metadata
from tests.arch.source import ROOT
from tests.support.postgres import fresh_database

SCHEDULE = {"paused": False, "generation": 1, "created_at": datetime(2026, 1, 1, tzinfo=UTC)}


@pytest.fixture
def empty(database_url: str) -> Iterator[Engine]:
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


def test_alembic_finds_nothing_left_to_migrate(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_sqlite_has_word_for_word_what_the_tables_say(tmp_path: Path) -> None:
    migrated, created = (open_engine(f"sqlite:///{tmp_path / name}.db") for name in ("migrated", "created"))
    migrate.upgrade(f"sqlite:///{tmp_path / 'migrated.db'}")
    with created.begin() as connection:
        metadata.create_all(connection)
    assert _sqlite_schema(migrated) == _sqlite_schema(created)
    assert len(_sqlite_schema(created)) > 20
    migrated.dispose()
    created.dispose()


@pytest.mark.postgres
def test_postgresql_has_column_for_column_what_the_tables_say(postgres_server: str, postgres_url: str) -> None:
    migrate.upgrade(postgres_url)
    with fresh_database(postgres_server) as other:
        migrated, created = open_engine(postgres_url), open_engine(other)
        with created.begin() as connection:
            metadata.create_all(connection)
        assert _postgres_schema(migrated) == _postgres_schema(created)
        assert len(_postgres_schema(created)) > 100
        migrated.dispose()
        created.dispose()


def test_an_empty_database_is_refused_until_it_is_migrated(database_url: str, empty: Engine) -> None:
    with pytest.raises(PerdureError, match="has no schema yet") as refused:
        schema.check(database_url)
    assert refused.value.code.code == "PD-3700"
    assert migrate.upgrade(database_url) == schema.head()
    assert schema.check(database_url) == schema.check_engine(empty) == schema.head()


def test_migrating_again_changes_nothing(database_url: str, empty: Engine) -> None:
    migrate.upgrade(database_url)
    with empty.begin() as connection:
        connection.execute(insert(ScheduleRow).values(tenant="t", project="p", name="n", document={}, **SCHEDULE))
    assert migrate.upgrade(database_url) == schema.head()
    with empty.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM schedules")).scalar() == 1


def test_a_newer_database_is_left_alone(database_url: str, empty: Engine) -> None:
    migrate.upgrade(database_url)
    with empty.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for action in (migrate.upgrade, schema.check):
        with pytest.raises(PerdureError, match="9999, which is newer"):
            action(database_url)


def test_a_database_filled_by_others_is_left_alone(database_url: str, empty: Engine) -> None:
    with empty.begin() as connection:
        connection.execute(text("CREATE TABLE jobs (mine INTEGER)"))
    with pytest.raises(PerdureError, match="no migration of ours"):
        migrate.upgrade(database_url)
    with empty.connect() as connection:
        assert inspect(connection).get_table_names() == ["jobs"]


def test_many_processes_may_migrate_at_once(database_url: str) -> None:
    gate = threading.Barrier(6)

    def race(_number: int) -> str:
        gate.wait()
        return migrate.upgrade(database_url)

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(race, range(6))) == {schema.head()}


def test_a_migration_that_breaks_half_way_leaves_nothing(database_url: str, empty: Engine) -> None:
    with empty.begin() as connection:
        connection.execute(text("CREATE TABLE schedules (mine INTEGER)"))  # the last table of the first revision
    with pytest.raises(DBAPIError, match="already exists"):
        migrate.upgrade(database_url)
    with empty.begin() as connection:
        assert inspect(connection).get_table_names() == ["schedules"]
        connection.execute(text("DROP TABLE schedules"))
    assert migrate.upgrade(database_url) == schema.head()


def test_a_percent_sign_in_the_installation_path_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "MIGRATIONS", Path("/srv/100%s/migrations"))
    assert migrate._config().get_main_option("script_location") == "/srv/100%s/migrations"


def test_revisions_are_told_as_alembic_tells_them() -> None:
    scripts = ScriptDirectory.from_config(migrate._config())
    assert schema.revisions() == [script.revision for script in scripts.walk_revisions()][::-1]
    assert schema.head() == scripts.get_current_head()


def test_what_starts_on_current_tables_loads_no_migrations(tmp_path: Path) -> None:
    """Every process would wait for it, and most starts find nothing to do."""
    url = f"sqlite:///{tmp_path / 'control.db'}"
    migrate.upgrade(url)
    look = f"from store import migrate, schema; migrate.upgrade({url!r}); schema.check({url!r})"
    told = "import sys; print('alembic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"{look}; {told}"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "False"


def _sqlite_schema(engine: Engine) -> dict[str, list[str]]:
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT IN ('alembic_version')"
    with engine.connect() as connection:
        return {name: _parts(sql) for name, sql in _rows(connection, query)}


def _parts(sql: str) -> list[str]:
    """Constraints may stand in another order below the columns, and a column that was added has no line of its own."""
    return sorted(part.strip(" ,\t") for part in re.split(r"\n|, (?=\w+ [A-Z])", sql))


def _postgres_schema(engine: Engine) -> list[str]:
    columns = """SELECT table_name || '.' || column_name, ordinal_position::text, udt_name, is_nullable, column_default,
                 collation_name
                 FROM information_schema.columns WHERE table_schema = 'public'"""
    indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    constraints = """SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
                     WHERE connamespace = 'public'::regnamespace"""
    with engine.connect() as connection:
        found = [row for query in (columns, indexes, constraints) for row in _rows(connection, query)]
    return sorted(str(row) for row in found if "alembic_version" not in str(row))


def _rows(connection: Connection, query: str) -> list[tuple[str, ...]]:
    return [tuple(row) for row in connection.execute(text(query))]
