"""A job that waits for others, on a real engine: told, told late, never told, and asked for something meanwhile."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client

from definitions.facts import JobEnded, Verb
from definitions.job_order import Awaited
from definitions.job_state import JobState
from definitions.places import Ticket
from definitions.search_attributes import JOB_PHASE
from definitions.states import FailureClass, Phase
from policies.lifecycle import begin
from tests.support.jobs import NOW, asked, new_state, rank
from tests.support.polling import eventually_async
from tests.support.scripted import Running, Script, job_on_engine
from workflows.job import JobWorkflow

OK = (rank(0),)
PREPARE = Awaited(job="p" * 26, name="prepare")
DONE = JobEnded(job=PREPARE.job, name="prepare", phase=Phase.SUCCEEDED, at=NOW)
WAITS = "waits for job prepare to succeed"


@pytest.fixture(params=[100, 0], ids=["cached", "replayed"])
def cached(request: Any) -> Any:
    return request.param


def job(**changes: Any) -> JobState:
    return new_state(f"job-{uuid.uuid4().hex[:8]}", after=(PREPARE,), **changes)


async def waits(run: Running) -> JobState:
    return await run.until(lambda state: state.phase is Phase.PENDING and state.reason == WAITS)


async def runs_to_its_end(run: Running) -> None:
    await run.until(lambda state: state.phase is Phase.RUNNING)
    await run.attempt_ends()
    assert (await run.handle.result()).phase is Phase.SUCCEEDED


async def test_it_waits_without_an_attempt_and_begins_when_it_is_told(temporal_client: Client, cached: int) -> None:
    script = Script(OK)
    async with job_on_engine(temporal_client, job(), script, cached=cached) as run:
        await waits(run)
        assert script.launched == []
        assert (await run.handle.describe()).typed_search_attributes[JOB_PHASE] == "Pending"
        await run.hears(DONE, DONE)
        await runs_to_its_end(run)
    assert script.looks == 0
    assert script.launched == [1]


async def test_in_a_queue_it_asks_for_places_only_then(temporal_client: Client) -> None:
    async with job_on_engine(temporal_client, job(ticket=Ticket(queue="research")), Script(OK)) as run:
        await waits(run)
        await run.hears(DONE)
        await run.placed("node-1")
        await runs_to_its_end(run)


async def test_it_ends_without_an_attempt_when_the_other_ended_otherwise(temporal_client: Client, cached: int) -> None:
    script = Script()
    async with job_on_engine(temporal_client, job(), script, cached=cached) as run:
        await waits(run)
        await run.hears(DONE.model_copy(update={"phase": Phase.FAILED, "failure": FailureClass.HANG}))
        over = await run.handle.result()
    assert (over.phase, over.failure, over.attempt) == (Phase.FAILED, FailureClass.DEPENDENCY, 0)
    assert script.last is not None
    assert script.last.reason == "job prepare failed (hang); this job was to begin when it had succeeded"


async def test_one_that_was_never_told_finds_out_by_itself(temporal_client: Client, cached: int) -> None:
    script = Script(OK)
    poll = timedelta(milliseconds=100)
    async with job_on_engine(temporal_client, job(), script, cached=cached, safety_poll=poll) as run:
        await eventually_async(lambda: script.looks >= 2)
        assert (await waits(run)).attempt == 0
        script.ends = (DONE,)
        await runs_to_its_end(run)


@pytest.mark.parametrize("verb", [Verb.CANCEL, Verb.SUSPEND])
async def test_what_people_ask_of_it_while_it_waits_is_done(temporal_client: Client, cached: int, verb: Verb) -> None:
    script = Script(OK)
    async with job_on_engine(temporal_client, job(), script, cached=cached) as run:
        await waits(run)
        answer = await run.handle.execute_update(JobWorkflow.request, asked(verb))
        if verb is Verb.CANCEL:
            assert (await run.handle.result()).phase is Phase.CANCELLED
            assert script.launched == []
            return
        assert answer.phase is Phase.SUSPENDED
        await run.hears(DONE)
        await run.until(lambda state: state.after[0].phase is Phase.SUCCEEDED)
        assert script.launched == []
        await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESUME, "again"))
        await runs_to_its_end(run)


async def test_a_run_that_goes_on_from_an_earlier_one_waits_on_and_does_not_begin_anew(temporal_client: Client) -> None:
    state = begin(job(), NOW).state.model_copy(update={"events": ()})
    script = Script(OK)
    async with job_on_engine(temporal_client, state, script, suspended=True) as run:
        assert (await waits(run)).event_count == state.event_count
        assert script.events == {}
        await run.hears(DONE)
        await runs_to_its_end(run)
