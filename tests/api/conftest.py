"""The API over a real database, with stand-ins at its ports only, and keys for two tenants in every role."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.api.world import World, make_world
from tests.support.database import migrated


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Runs the test on SQLite and on PostgreSQL."""
    with migrated(database_url, durable=False) as opened:
        yield opened


@pytest.fixture
def sqlite_engine(sqlite_url: str) -> Iterator[Engine]:
    """For what does not depend on the database."""
    with migrated(sqlite_url, durable=False) as opened:
        yield opened


@pytest.fixture
def world(engine: Engine) -> World:
    return make_world(engine)


@pytest.fixture
def sqlite_world(sqlite_engine: Engine) -> World:
    return make_world(sqlite_engine)
