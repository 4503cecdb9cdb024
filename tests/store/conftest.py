"""A migrated database for every test of the store, on SQLite and on PostgreSQL."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from store.engine import open_engine
from store.migrate import upgrade


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    upgrade(database_url)
    opened = open_engine(database_url)
    yield opened
    opened.dispose()


@pytest.fixture
def postgres_engine(postgres_url: str) -> Iterator[Engine]:
    upgrade(postgres_url)
    opened = open_engine(postgres_url)
    yield opened
    opened.dispose()
