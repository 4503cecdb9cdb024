"""The API over a real database, with stand-ins at its ports only, and keys for two tenants in every role."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from store.engine import open_engine
from store.migrate import upgrade
from tests.api.world import World, make_world


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Runs the test on SQLite and on PostgreSQL."""
    upgrade(database_url)
    opened = open_engine(database_url, durable=False)
    yield opened
    opened.dispose()


@pytest.fixture
def sqlite_engine(tmp_path: Path) -> Iterator[Engine]:
    """For what does not depend on the database."""
    url = f"sqlite:///{tmp_path / 'control.db'}"
    upgrade(url)
    opened = open_engine(url, durable=False)
    yield opened
    opened.dispose()


@pytest.fixture
def world(engine: Engine) -> World:
    return make_world(engine)


@pytest.fixture
def sqlite_world(sqlite_engine: Engine) -> World:
    return make_world(sqlite_engine)
