"""The loop that starts accepted jobs: it outlives what it needs, and no job waits for another one's fault."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from store import system
from store.engine import open_engine, reading, session
from store.migrate import upgrade
from store.tables_jobs import JobRow
from tests.store.builders import add_job, document
from tests.support.polling import eventually_async
from tests.support.ports import free_port
from workers import starter
from workers.starter import Starter

QUEUE = "nobody-works-here"


@pytest.fixture
def engine(sqlite_url: str) -> Any:
    upgrade(sqlite_url)
    opened = open_engine(sqlite_url)
    yield opened
    opened.dispose()


@contextlib.asynccontextmanager
async def going(loop: Starter) -> AsyncIterator[asyncio.Task[None]]:
    stop = asyncio.Event()
    task = asyncio.create_task(loop.run(stop))
    try:
        yield task
    finally:
        stop.set()
        await task


def waiting(engine: Engine) -> list[str]:
    with reading(engine) as active:
        return [row.id for row in system.unacknowledged_starts(active, 100)]


async def test_it_waits_while_the_engine_is_away(
    engine: Engine, temporal_client: Client, caplog: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(starter, "AWAY_PAUSE", 0.01)
    add_job(engine)
    nowhere = await Client.connect(f"127.0.0.1:{free_port()}", lazy=True, data_converter=pydantic_data_converter)
    async with going(Starter(engine, nowhere, task_queue=QUEUE)) as task:
        await eventually_async(lambda: "accepted jobs wait" in caplog.text or task.done(), 30)
        assert not task.done()
    assert len(waiting(engine)) == 1
    async with going(Starter(engine, temporal_client, task_queue=QUEUE)):
        await eventually_async(lambda: not waiting(engine))


async def test_it_waits_while_the_database_is_away(
    tmp_path: Path, temporal_client: Client, caplog: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(starter, "AWAY_PAUSE", 0.01)
    url = f"sqlite:///{tmp_path / 'later.db'}"
    late = open_engine(url)
    async with going(Starter(late, temporal_client, task_queue=QUEUE)) as task:
        await eventually_async(lambda: "accepted jobs wait" in caplog.text or task.done())
        assert not task.done()
        upgrade(url)
        row = add_job(late)
        await eventually_async(lambda: row.id not in waiting(late))
    late.dispose()


async def test_jobs_that_cannot_be_started_keep_no_other_from_starting(
    engine: Engine, temporal_client: Client, caplog: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(starter, "BATCH", 2)
    too_large = {"A": {"value": "x" * 3 * 1024**2}}
    stuck = [add_job(engine, f"large-{number}", spec=document(env=too_large)).id for number in range(2)]
    unreadable = add_job(engine, "odd").id
    with session(engine) as active:
        active.get_one(JobRow, unreadable).spec = {"kind": "Something"}
    well = [add_job(engine, f"well-{number}").id for number in range(3)]
    async with going(Starter(engine, temporal_client, task_queue=QUEUE)):
        await eventually_async(lambda: not set(well) & set(waiting(engine)), 20)
    assert set(waiting(engine)) == {*stuck, unreadable}
    for job in (*stuck, unreadable):
        assert [record.job for record in caplog.records if getattr(record, "job", "") == job] == [job]
