"""Ending a job at the moments at which that is hard: while it is launched, and by the engine instead of a request."""

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client

from activities.job import LaunchResult, StateWork
from definitions.attempt import StoppedBy
from definitions.facts import Verb
from definitions.job_state import RetryRules
from definitions.states import Phase
from tests.support.jobs import asked, new_state, rank
from tests.support.polling import eventually_async
from tests.support.scripted import NeverLaunches, Script, job_on_engine
from workflows.job import JobWorkflow

KILLED = (rank(0, exit_code=None, signal=9),)
STOPPED = (rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST),)


class LaunchesSlowly(Script):
    """The launch goes on until it is told that it is to stop, or for good."""

    @activity.defn(name="launch")
    async def launch(self, work: StateWork) -> LaunchResult:
        self.launched.append(work.state.attempt)
        while True:
            activity.heartbeat()
            await asyncio.sleep(0.05)


@pytest.fixture(params=[100, 0], ids=["cached", "replayed"])
def cached(request: Any) -> Any:
    return request.param


def job(**changes: Any) -> Any:
    return new_state(f"job-{uuid.uuid4().hex[:8]}", **changes)


def of(verb: Verb) -> Any:
    return asked(verb, uuid.uuid4().hex)


@pytest.mark.parametrize("script", [NeverLaunches, LaunchesSlowly])
async def test_a_job_that_cannot_be_launched_is_cancelled_at_once(
    temporal_client: Client, cached: int, script: type[Script]
) -> None:
    """Although it has no retries left: whoever cancels is not told that it failed."""
    state = job(retry=RetryRules(limit=0))
    async with job_on_engine(
        temporal_client, state, script(STOPPED), cached=cached, heartbeat=timedelta(seconds=2)
    ) as run:
        await eventually_async(lambda: run.script.launched)
        outcome = await run.handle.execute_update(JobWorkflow.request, of(Verb.CANCEL))
        assert outcome.phase in (Phase.CANCELLING, Phase.COLLECTING)
        over = await asyncio.wait_for(run.handle.result(), 20)
        assert (over.phase, over.attempt, len(run.script.stops)) == (Phase.CANCELLED, 1, 1)
        assert "cancelled by ada" in [event.reason for event in run.script.events.values()]


async def test_a_job_that_cannot_be_launched_is_suspended_at_once_and_may_begin_again(temporal_client: Client) -> None:
    async with job_on_engine(temporal_client, job(retry=RetryRules(limit=0)), NeverLaunches(STOPPED, STOPPED)) as run:
        await eventually_async(lambda: run.script.launched)
        await run.handle.execute_update(JobWorkflow.request, of(Verb.SUSPEND))
        await run.until(lambda state: state.phase is Phase.SUSPENDED)
        await run.handle.execute_update(JobWorkflow.request, of(Verb.RESUME))
        await eventually_async(lambda: 2 in run.script.launched)
        await run.handle.execute_update(JobWorkflow.request, of(Verb.CANCEL))
        assert (await asyncio.wait_for(run.handle.result(), 20)).phase is Phase.CANCELLED


async def test_the_engines_own_cancel_ends_the_job_in_good_order(temporal_client: Client, cached: int) -> None:
    async with job_on_engine(temporal_client, job(), Script(STOPPED), cached=cached) as run:
        await run.until(lambda state: state.phase is Phase.RUNNING)
        await run.handle.cancel()
        await run.until(lambda state: state.phase is Phase.CANCELLING)
        await eventually_async(lambda: len(run.script.stops) == 1)
        await run.attempt_ends()
        over = await run.handle.result()
        assert over.phase is Phase.CANCELLED
        assert run.script.last is not None
        assert run.script.last.phase is Phase.CANCELLED


async def test_the_engines_own_cancel_ends_a_job_that_waits(temporal_client: Client, cached: int) -> None:
    state = job(retry=RetryRules(first_delay=timedelta(hours=1), longest_delay=timedelta(hours=1)))
    async with job_on_engine(temporal_client, state, Script(KILLED), cached=cached) as run:
        await run.until(lambda state: state.phase is Phase.RUNNING)
        await run.attempt_ends()
        await run.until(lambda state: state.phase is Phase.BACKING_OFF)
        await run.handle.cancel()
        assert (await run.handle.result()).phase is Phase.CANCELLED
