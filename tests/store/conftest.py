"""A migrated database for every test of the store, on SQLite and on PostgreSQL."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.support.database import migrated


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as opened:
        yield opened


@pytest.fixture
def postgres_engine(postgres_url: str) -> Iterator[Engine]:
    with migrated(postgres_url) as opened:
        yield opened
