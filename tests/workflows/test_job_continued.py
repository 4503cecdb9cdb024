"""Continuing as new under load: nothing that people ask and watchers report is lost or carried out twice."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from definitions.attempt import AttemptObservation, RankState
from definitions.facts import Observed, Verb
from definitions.ids import job_workflow_id
from definitions.states import Phase
from tests.support.jobs import asked, new_state, rank
from tests.support.scripted import Running, Script, job_on_engine
from tests.support.temporal import running_temporal
from workers.operator import TemporalJobOperator
from workflows.job import JobWorkflow

SOON_LONG = ("--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=50")
PEOPLE, EACH = 4, 15
LONGEST = 400  # events: although somebody is always asking, no run goes on for ever


@pytest.fixture
async def hasty_engine(tmp_path: Path) -> AsyncIterator[Client]:
    """It finds a history long after 50 events."""
    with running_temporal(tmp_path, *SOON_LONG) as server:
        yield await Client.connect(server.address, namespace=server.namespace, data_converter=pydantic_data_converter)


async def person(operator: TemporalJobOperator, job: str, name: str) -> None:
    """Asks through the API's own port, and asks again each time as somebody does whose answer was lost."""
    for number in range(EACH):
        request = asked(Verb.CHECKPOINT, f"{name}-{number}")
        for _ in range(2):
            assert (await operator.request("default", job, request)).phase is Phase.RUNNING


async def watcher(run: Running, done: asyncio.Event) -> int:
    """Reports again and again that the attempt is alive."""
    state = await run.state()
    assert state.ref is not None
    alive = (rank(0, state=RankState.RUNNING, exit_code=None, ended_at=None),)
    told = 0
    while not done.is_set():
        seen = AttemptObservation(ref=state.ref, at=state.started_at, ranks=alive)
        await run.handle.signal(JobWorkflow.report, Observed(observation=seen))
        told += 1
        await asyncio.sleep(0.1)
    return told


@pytest.mark.parametrize("cached", [100, 0], ids=["cached", "replayed"])
async def test_requests_and_reports_survive_continuing_as_new(hasty_engine: Client, cached: int) -> None:
    state, script = new_state(f"job-{uuid.uuid4().hex[:8]}"), Script((rank(0),))
    async with job_on_engine(hasty_engine, state, script, cached=cached) as run:
        await run.until(lambda state: state.phase is Phase.RUNNING)
        first = (await run.handle.describe()).run_id
        done = asyncio.Event()
        reports = asyncio.create_task(watcher(run, done))
        operator = TemporalJobOperator(hasty_engine, timedelta(seconds=60))
        job = run.handle.id.removeprefix(job_workflow_id("default", ""))
        await asyncio.gather(*(person(operator, job, f"p{number}") for number in range(PEOPLE)))
        done.set()
        assert await reports > 0
        asked_for = [control.request_id for control in script.controls]
        assert sorted(asked_for) == sorted(f"p{p}-{n}" for p in range(PEOPLE) for n in range(EACH))
        last = (await run.handle.describe()).run_id
        assert last != first
        assert len((await run.handle.fetch_history()).events) < LONGEST
        state = await run.state()
        assert (state.phase, state.attempt) == (Phase.RUNNING, 1)
        await run.attempt_ends()
        over = await run.handle.result()
        assert over.phase is Phase.SUCCEEDED
        assert sorted(key[:6] for key in script.events) == [f"{n + 1:06d}" for n in range(over.event_count)]
