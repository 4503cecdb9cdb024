"""Jobs of an array as its workflow has them made, where no engine runs."""

from datetime import datetime, timedelta

from sqlalchemy import Engine

from activities.adapters.arrays import SqlArrays
from store.engine import reading
from store.tables_jobs import JobRow
from workers.starter import array_input


def make_jobs(engine: Engine, array: str, count: int, now: datetime) -> None:
    """The first so many jobs of an accepted array."""
    with reading(engine) as active:
        start = array_input(active.get_one(JobRow, array), timedelta(minutes=2))
    assert start is not None
    SqlArrays(engine, now=lambda: now).make(start.state, 0, count)
