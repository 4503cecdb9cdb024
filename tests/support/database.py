"""A database of a test, as a deployment has one: with every table."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from store.engine import open_engine
from store.migrate import upgrade


@contextmanager
def migrated(url: str, *, durable: bool = True) -> Iterator[Engine]:
    """Make the tables of the database at `url`, and have it open while the block runs."""
    upgrade(url)
    engine = open_engine(url, durable=durable)
    try:
        yield engine
    finally:
        engine.dispose()
