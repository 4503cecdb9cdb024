"""Ends with 0 when the database has this version's tables: what waits for a migration asks this again and again."""

from typing import NoReturn

from store.engine import open_engine
from store.schema import check_engine
from workers.process import run
from workers.settings import Settings


def main() -> NoReturn:
    run("check-tables", check)


def check(settings: Settings) -> None:
    """Raises PerdureError when the tables are missing, older or newer, and what the database raises when it is away."""
    engine = open_engine(settings.database)
    try:
        check_engine(engine)
    finally:
        engine.dispose()
