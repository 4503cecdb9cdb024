"""The loop that tells jobs of others' ends, against a real engine: each hears, whenever it began, and none is lost."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event, update
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Worker

from activities.adapters.job_ends import SqlJobEnds
from activities.adapters.journal import SqlJournal
from activities.job import JournalActivities, entry
from activities.job_ends import EndsActivities
from activities.ports import PortError
from definitions.ids import job_workflow_id, new_id
from definitions.job import Job
from definitions.places import Ticket
from definitions.states import FailureClass, Phase
from definitions.submission import JobSubmission
from store import events, followers, jobs, outbox, system
from store.engine import reading, session, transaction
from store.intake import Origin, accept
from store.tables_jobs import EventRow, JobRow
from store.tables_scheduling import OutboxRow
from tests.store.builders import HERE, NOW, add_job, document, state_of
from tests.store.builders import event as event_of
from tests.support.polling import eventually_async
from tests.support.ports import free_port
from workers.end_teller import EndTeller
from workers.starter import Starter
from workers.workflow_runner import workflow_runner
from workflows.job import JobWorkflow


def add_after(engine: Engine, name: str, *others: str, outcome: str = "succeeded") -> JobRow:
    """Accept a job that waits for others, and then in a queue: it is never launched."""
    after = [{"job": other, "outcome": outcome} for other in others]
    job = Job.model_validate(document(name, after=after, workdir={"mode": "none"}, resources={"cpus": 1}))
    submission = JobSubmission(ticket=Ticket(queue="research"))
    origin = Origin(id=new_id(), tenant=HERE[0], owner="ada", seed="5" * 32)
    return transaction(engine, lambda active: accept(active, job, submission, origin, NOW))


def write_end(engine: Engine, row: JobRow, phase: Phase = Phase.SUCCEEDED) -> None:
    failure = FailureClass.USER_ERROR if phase is Phase.FAILED else None
    SqlJournal(engine).write(entry(state_of(row, phase, 9, failure=failure)))


def row(engine: Engine, job: JobRow) -> JobRow:
    with reading(engine) as active:
        return active.get_one(JobRow, job.id)


def history(engine: Engine, job: JobRow) -> Sequence[EventRow]:
    with reading(engine) as active:
        return events.tail(active, *HERE, job.id, 50)


def untold(engine: Engine) -> int:
    with reading(engine) as active:
        return len(outbox.waiting(active, followers.TOPIC, 10_000))


@asynccontextmanager
async def working(engine: Engine, client: Client) -> AsyncIterator[Starter]:
    """A worker that records, and who starts jobs there."""
    queue = f"ends-{uuid.uuid4().hex[:8]}"
    with ThreadPoolExecutor(4) as threads:
        async with Worker(
            client,
            task_queue=queue,
            workflows=[JobWorkflow],
            activities=[JournalActivities(SqlJournal(engine)).record, EndsActivities(SqlJobEnds(engine)).look],
            activity_executor=threads,
            workflow_runner=workflow_runner(),
        ):
            yield Starter(engine, client, task_queue=queue)


async def until(engine: Engine, job: JobRow, met: Callable[[JobRow], bool]) -> JobRow:
    def found() -> JobRow | None:
        now = row(engine, job)
        return now if met(now) else None

    return await eventually_async(found, 20)


async def waits(engine: Engine, job: JobRow) -> JobRow:
    return await until(engine, job, lambda now: now.reason.startswith("waits for job"))


async def test_a_failure_at_the_head_ends_the_whole_chain_without_an_attempt(
    engine: Engine, temporal_client: Client
) -> None:
    first = add_job(engine, "first")
    second, third = add_after(engine, "second", "first"), add_after(engine, "third", "second")
    last = add_after(engine, "last", "third", outcome="failed")
    teller = EndTeller(engine, temporal_client)
    async with working(engine, temporal_client) as starter:
        await starter.sweep()
        for job in (second, third, last):
            await waits(engine, job)
        write_end(engine, first, Phase.FAILED)
        for job in (second, third):
            assert await teller.sweep() == 1
            over = await until(engine, job, lambda now: now.phase.is_final)
            assert (over.phase, over.failure, over.attempt) == (Phase.FAILED, FailureClass.DEPENDENCY, 0)
        assert over.reason == "job second failed (dependency); this job was to begin when it had succeeded"
        assert await teller.sweep() == 1
        assert (await until(engine, last, lambda now: now.phase is not Phase.PENDING)).phase is Phase.QUEUED
    assert (await teller.sweep(), untold(engine)) == (0, 0)


async def test_word_for_a_job_that_has_not_begun_stays_until_it_has(engine: Engine, temporal_client: Client) -> None:
    first = add_job(engine, "first")
    second = add_after(engine, "second", "first")
    teller = EndTeller(engine, temporal_client)
    write_end(engine, first)
    assert (await teller.sweep(), untold(engine)) == (0, 1)
    async with working(engine, temporal_client) as starter:
        await starter.sweep()
        assert await teller.sweep() == 1
        assert (await until(engine, second, lambda now: now.phase is Phase.QUEUED)).attempt == 0


async def test_word_for_a_job_that_is_over_or_deleted_is_taken_off_the_list(
    engine: Engine, temporal_client: Client
) -> None:
    first = add_job(engine, "first")
    over, gone = add_after(engine, "over", "first"), add_after(engine, "gone", "first")
    for job in (over, gone):
        write_end(engine, job, Phase.CANCELLED)
    with session(engine) as active:
        assert jobs.delete(active, *HERE, gone.id, NOW, event_of())
        system.mark_purged(active, gone, NOW)
    write_end(engine, first)
    assert untold(engine) == 1
    assert (await EndTeller(engine, temporal_client).sweep(), untold(engine)) == (1, 0)


async def test_a_job_whose_other_ended_between_its_acceptance_and_its_start_begins_all_the_same(
    engine: Engine, temporal_client: Client
) -> None:
    add_job(engine, "first")
    second = add_after(engine, "second", "first")
    third = add_after(engine, "third", "second", outcome="finished")
    write_end(engine, second, Phase.CANCELLED)
    async with working(engine, temporal_client) as starter:
        await starter.sweep()
        assert await EndTeller(engine, temporal_client).sweep() == 1
        await until(engine, third, lambda now: now.phase is Phase.QUEUED)


async def test_two_tellers_at_once_and_a_word_that_is_told_again_have_one_effect(
    engine: Engine, temporal_client: Client
) -> None:
    first = add_job(engine, "first")
    waiting = [add_after(engine, f"w{number}", "first") for number in range(8)]
    async with working(engine, temporal_client) as starter:
        await starter.sweep()
        for job in waiting:
            await waits(engine, job)
        write_end(engine, first)
        await asyncio.gather(*(EndTeller(engine, temporal_client).sweep() for _ in range(2)))
        assert untold(engine) == 0
        with session(engine) as active:
            active.execute(update(OutboxRow).values(delivered_at=None))
        assert await EndTeller(engine, temporal_client).sweep() == 8
        for job in waiting:
            await until(engine, job, lambda now: now.phase is Phase.QUEUED)
        handle = temporal_client.get_workflow_handle_for(JobWorkflow.run, job_workflow_id(HERE[0], waiting[0].id))
        assert [one.kind for one in (await handle.query(JobWorkflow.state)).events] == []
        kinds = [one.kind for one in history(engine, waiting[0])]
        assert kinds == ["accepted", "waits", "queued"]


async def test_while_the_engine_is_away_the_word_waits(engine: Engine, temporal_client: Client) -> None:
    nowhere = await Client.connect(f"127.0.0.1:{free_port()}", lazy=True, data_converter=pydantic_data_converter)
    first = add_job(engine, "first")
    second = add_after(engine, "second", "first")
    async with working(engine, temporal_client) as starter:
        await starter.sweep()
        write_end(engine, first)
        with pytest.raises(PortError, match="the engine is away"):
            await EndTeller(engine, nowhere).sweep()
        assert untold(engine) == 1
        assert await EndTeller(engine, temporal_client).sweep() == 1
        await until(engine, second, lambda now: now.phase is Phase.QUEUED)


async def test_a_round_with_nothing_to_tell_asks_the_database_one_question(
    engine: Engine, temporal_client: Client
) -> None:
    write_end(engine, add_job(engine, "first"))
    asked: list[str] = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        asked.append(statement)

    assert await EndTeller(engine, temporal_client).sweep() == 0
    assert [statement.split()[0] for statement in asked if "PRAGMA" not in statement and "BEGIN" not in statement] == [
        "SELECT"
    ]
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked[-1]}", ("jobs", 256, 0)).fetchall()
    assert "ix_outbox_waiting" in str(plan)
