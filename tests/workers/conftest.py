"""A database for the parts of the worker that need one."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.support.database import migrated


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    with migrated(sqlite_url) as opened:
        yield opened
