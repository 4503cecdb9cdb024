"""The loop that wakes schedulers, and what carries their word to jobs, against a real engine."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Worker

from activities.ports import PortError
from activities.scheduling import Decided
from activities.scheduling_facts import Message
from definitions.ids import job_workflow_id, pool_workflow_id
from definitions.places import Displaced
from definitions.states import Phase
from store import outbox, pools
from store.engine import session
from tests.store.builders import NOW
from tests.support.jobs import new_state, rank
from tests.support.polling import eventually_async
from tests.support.ports import free_port
from tests.support.scripted import Script, job_on_engine
from workers.job_teller import TemporalJobs
from workers.pool_waker import PoolWaker
from workers.workflow_runner import workflow_runner
from workflows.scheduler import SchedulerInput, SchedulerWorkflow

LATER = NOW + timedelta(seconds=30)


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def waker(engine: Engine, client: Client, clock: Clock) -> tuple[PoolWaker, str]:
    """With a queue on which nobody works: what was started can be looked at."""
    queue = f"wakes-{uuid.uuid4().hex[:8]}"
    return PoolWaker(engine, client, task_queue=queue, now=lambda: LATER, clock=clock), queue


def note(engine: Engine, pool: str) -> None:
    with session(engine) as active:
        pools.note(active, pool, "gang", "0" * 26)


def a_pool() -> str:
    return f"p-{uuid.uuid4().hex[:8]}"


async def signals(client: Client, pool: str) -> list[str]:
    history = await client.get_workflow_handle(pool_workflow_id(pool)).fetch_history()
    return [
        event.workflow_execution_signaled_event_attributes.signal_name
        for event in history.events
        if event.HasField("workflow_execution_signaled_event_attributes")
    ]


async def test_a_pool_with_news_is_woken_once_for_all_of_them(engine: Engine, temporal_client: Client) -> None:
    clock, pool = Clock(), a_pool()
    loop, _ = waker(engine, temporal_client, clock)
    assert await loop.sweep() == 0
    note(engine, pool)
    note(engine, pool)
    assert await loop.sweep() == 1
    assert await loop.sweep() == 0
    assert await signals(temporal_client, pool) == ["restarted"]
    await temporal_client.get_workflow_handle(pool_workflow_id(pool)).terminate()


async def test_further_news_wake_it_again_after_a_moment_and_old_ones_after_a_while(
    engine: Engine, temporal_client: Client
) -> None:
    clock, pool = Clock(), a_pool()
    loop, _ = waker(engine, temporal_client, clock)
    note(engine, pool)
    woken = []
    for seconds, further in ((0.0, False), (0.1, True), (0.4, False), (0.5, False), (6.0, False)):
        clock.seconds = seconds
        if further:
            note(engine, pool)
        woken.append(await loop.sweep())
    assert woken == [1, 0, 1, 0, 1]
    assert await signals(temporal_client, pool) == ["restarted", "changed", "changed"]
    await temporal_client.get_workflow_handle(pool_workflow_id(pool)).terminate()


async def test_a_pool_with_messages_that_were_left_behind_is_woken(engine: Engine, temporal_client: Client) -> None:
    pool = a_pool()
    loop, _ = waker(engine, temporal_client, Clock())
    with session(engine) as active:
        outbox.add(active, "placed/a/1/1", f"pool/{pool}", "job/acme/a", {}, NOW)
        outbox.add(active, "placed/b/1/1", "pool/of-now", "job/acme/b", {}, LATER)
    assert await loop.sweep() == 1
    assert await signals(temporal_client, pool) == ["restarted"]
    await temporal_client.get_workflow_handle(pool_workflow_id(pool)).terminate()


@asynccontextmanager
async def deciding(
    client: Client, decide: Callable[..., Any]
) -> AsyncIterator[WorkflowHandle[SchedulerWorkflow, None]]:
    """A pool that is decided for by that activity, and ended afterwards."""
    queue = f"pools-{uuid.uuid4().hex[:8]}"
    async with Worker(
        client, task_queue=queue, workflows=[SchedulerWorkflow], activities=[decide],
        workflow_runner=workflow_runner(),
    ):  # fmt: skip
        handle: WorkflowHandle[SchedulerWorkflow, None] = await client.start_workflow(
            SchedulerWorkflow.run, SchedulerInput(pool="north", queue=queue), id=queue, task_queue=queue
        )
        yield handle
        await handle.terminate()


async def test_news_that_come_during_a_decision_bring_one_further_decision(temporal_client: Client) -> None:
    going, goes_on, made = asyncio.Event(), asyncio.Event(), 0

    @activity.defn(name="decide")
    async def decide(pool: str) -> Decided:
        nonlocal made
        made += 1
        going.set()
        await goes_on.wait()
        return Decided(decision=made, waiting=3)

    async with deciding(temporal_client, decide) as handle:
        await going.wait()
        for _ in range(5):
            await handle.signal(SchedulerWorkflow.changed)
        goes_on.set()
        await eventually_async(lambda: made == 2, 20, "one further decision")
        last = await eventually_async(lambda: _last(handle, 2), 20, "its outcome is shown")
        assert (last.waiting, made) == (3, 2)


async def test_a_decision_that_ended_with_its_process_is_made_anew_as_soon_as_another_begins(
    temporal_client: Client,
) -> None:
    going, made = asyncio.Event(), 0

    @activity.defn(name="decide")
    async def decide(pool: str) -> Decided:
        nonlocal made
        made += 1
        if made == 1:
            going.set()
            await asyncio.Event().wait()  # nobody goes on with it, and its heartbeat is not missed yet
        return Decided(decision=made)

    async with deciding(temporal_client, decide) as handle:
        await going.wait()
        await handle.signal(SchedulerWorkflow.changed)
        await handle.signal(SchedulerWorkflow.restarted)
        await eventually_async(lambda: _last(handle, 2), 5, "the decision is made")


async def _last(handle: WorkflowHandle[SchedulerWorkflow, None], decision: int) -> Decided | None:
    found = await handle.query(SchedulerWorkflow.last)
    return found if found.decision == decision else None


async def test_jobs_hear_the_word_and_nobody_waits_for_one_that_is_over(temporal_client: Client) -> None:
    jobs = TemporalJobs(temporal_client, asyncio.get_running_loop())
    state = new_state(f"job-{uuid.uuid4().hex[:8]}")
    word = Displaced(attempt=7, at=NOW, reason="another needs it")  # of an attempt that there never was: no effect
    async with job_on_engine(temporal_client, state, Script((rank(0),))) as run:
        await run.until(lambda seen: seen.phase is Phase.RUNNING)
        ids = [run.handle.id, job_workflow_id("acme", "nobody")]
        messages = [Message(f"displaced/{number}", target, word) for number, target in enumerate(ids)]
        assert await asyncio.to_thread(jobs.tell, messages) == {"displaced/0", "displaced/1"}
        history = await run.handle.fetch_history()
        assert [
            event.workflow_execution_signaled_event_attributes.signal_name
            for event in history.events
            if event.HasField("workflow_execution_signaled_event_attributes")
        ] == ["place"]
        await run.handle.terminate()


async def test_an_engine_that_is_away_is_told_so() -> None:
    nowhere = await Client.connect(f"127.0.0.1:{free_port()}", lazy=True, data_converter=pydantic_data_converter)
    jobs = TemporalJobs(nowhere, asyncio.get_running_loop())
    message = Message("displaced/0", "job/acme/a", Displaced(attempt=1, at=NOW, reason=""))
    with pytest.raises(PortError, match="the engine is away"):
        await asyncio.to_thread(jobs.tell, [message])
