"""The loop that starts accepted jobs: it outlives what it needs, and no job waits for another one's fault."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.contrib.pydantic import pydantic_data_converter

from definitions.states import Phase
from store import events, system
from store.engine import open_engine, reading, session
from store.migrate import upgrade
from store.tables_jobs import JobRow
from tests.store.builders import HERE, add_job, document
from tests.support.polling import eventually_async
from tests.support.ports import free_port
from workers import starter
from workers.starter import Starter

QUEUE = "nobody-works-here"


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


async def test_it_waits_while_the_engine_has_not_heard_of_what_its_namespace_was_given(
    engine: Engine, temporal_client: Client, caplog: Any, monkeypatch: Any
) -> None:
    """A search attribute is added, and parts of the engine do not know it yet: no fault of the job."""
    monkeypatch.setattr(starter, "AWAY_PAUSE", 0.01)
    monkeypatch.setattr(starter, "TENANT", SearchAttributeKey.for_keyword("AddedInAMoment"))
    add_job(engine)
    async with going(Starter(engine, temporal_client, task_queue=QUEUE)):
        await eventually_async(lambda: "accepted jobs wait" in caplog.text, 30)
        assert len(waiting(engine)) == 1
        monkeypatch.undo()
        await eventually_async(lambda: not waiting(engine), 30)


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
    too_large = {f"A{number}": {"value": "x" * 30_000} for number in range(100)}
    stuck = [add_job(engine, f"large-{number}", spec=document(env=too_large)).id for number in range(2)]
    unreadable = add_job(engine, "odd").id
    with session(engine) as active:
        active.get_one(JobRow, unreadable).spec = {"kind": "do-not-repeat-me"}
    well = [add_job(engine, f"well-{number}").id for number in range(3)]
    async with going(Starter(engine, temporal_client, task_queue=QUEUE)):
        await eventually_async(lambda: waiting(engine) == [unreadable], 20)
    with reading(engine) as active:
        refused = [active.get_one(JobRow, job) for job in stuck]
        assert [(row.phase, row.live_name) for row in refused] == [(Phase.FAILED, None)] * 2
        assert all("the workflow engine refuses it" in row.reason for row in refused)
        told = [event.kind for event in events.tail(active, *HERE, stuck[0], 10)]
        assert told == ["refused"]
        assert {active.get_one(JobRow, job).phase for job in well} == {Phase.PENDING}
    assert "do-not-repeat-me" not in caplog.text
    for job in (*stuck, unreadable):
        assert [record.job for record in caplog.records if getattr(record, "job", "") == job] == [job]
