"""The interpreter on a real engine: it carries out what the policy says, and keeps what people and watchers tell it."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from definitions.attempt import StoppedBy
from definitions.facts import Verb
from definitions.job_state import RetryRules
from definitions.search_attributes import JOB_PHASE
from definitions.states import FailureClass, Phase
from tests.support.jobs import asked, checkpoint, new_state, rank
from tests.support.polling import eventually_async
from tests.support.scripted import Script, job_on_engine
from workflows.job import JobWorkflow

OK = (rank(0),)
KILLED = (rank(0, exit_code=None, signal=9),)
STOPPED = (rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST),)
QUICK = RetryRules(first_delay=timedelta(milliseconds=1))


@pytest.fixture(params=[100, 0], ids=["cached", "replayed"])
def cached(request: Any) -> Any:
    """With 0 cached workflows every task replays the whole history: the cheapest test of determinism there is."""
    return request.param


def job(**changes: Any) -> Any:
    return new_state(f"job-{uuid.uuid4().hex[:8]}", **{"retry": QUICK, **changes})


def of(verb: Any, **changes: Any) -> Any:
    return asked(verb, uuid.uuid4().hex, **changes)


def running(attempt: Any = 1) -> Any:
    return lambda state: state.phase is Phase.RUNNING and state.attempt == attempt


async def test_a_plain_job_takes_two_activities_and_few_events(temporal_client: Client, cached: int) -> None:
    async with job_on_engine(temporal_client, job(), Script(OK), cached=cached) as run:
        await run.until(running())
        await run.attempt_ends()
        over = await run.handle.result()
        assert over.phase is Phase.SUCCEEDED
        history = await run.handle.fetch_history()
        scheduled = [e for e in history.events if e.HasField("activity_task_scheduled_event_attributes")]
        assert len(scheduled) == 2
        assert len(history.events) <= 60
        described = await run.handle.describe()
        assert described.typed_search_attributes[JOB_PHASE] == "Succeeded"
        assert [e.reason for e in run.script.events.values()][-1] == "ended with 0"


async def test_every_event_of_a_retried_job_is_recorded_once_and_in_order(temporal_client: Client, cached: int) -> None:
    script = Script(KILLED, KILLED, OK, checkpoints={2: (checkpoint(30),)})
    async with job_on_engine(temporal_client, job(), script, cached=cached) as run:
        for attempt in (1, 2, 3):
            await run.until(running(attempt))
            await run.attempt_ends()
        over = await run.handle.result()
        assert (over.phase, over.attempt, over.resume_step) == (Phase.SUCCEEDED, 3, 30)
        assert script.launched == [1, 2, 3]
        assert sorted(key[:6] for key in script.events) == [f"{n + 1:06d}" for n in range(over.event_count)]


async def test_a_decision_that_an_activity_recorded_otherwise_is_recorded_again(temporal_client: Client) -> None:
    script = Script(OK)
    script.lost_recordings = True
    async with job_on_engine(temporal_client, job(), script) as run:
        await run.until(running())
        await run.attempt_ends()
        over = await run.handle.result()
        assert script.last is not None
        assert script.last.phase is Phase.SUCCEEDED
        assert sorted(key[:6] for key in script.events) == [f"{n + 1:06d}" for n in range(over.event_count)]


async def test_cancel_stops_the_attempt_and_ends_when_it_has_ended(temporal_client: Client, cached: int) -> None:
    async with job_on_engine(temporal_client, job(), Script(STOPPED), cached=cached) as run:
        await run.until(running())
        outcome = await run.handle.execute_update(JobWorkflow.request, of(Verb.CANCEL, reason="wrong data"))
        assert outcome.phase is Phase.CANCELLING
        await run.attempt_ends()
        over = await run.handle.result()
        assert over.phase is Phase.CANCELLED
        assert len(run.script.stops) == 1


async def test_suspend_and_resume(temporal_client: Client, cached: int) -> None:
    script = Script(STOPPED, OK, checkpoints={1: (checkpoint(40),)})
    async with job_on_engine(temporal_client, job(), script, cached=cached) as run:
        await run.until(running())
        await run.handle.execute_update(JobWorkflow.request, of(Verb.SUSPEND))
        await run.attempt_ends()
        state = await run.until(lambda s: s.phase is Phase.SUSPENDED)
        assert state.resume_step == 40
        await run.handle.execute_update(JobWorkflow.request, of(Verb.RESUME))
        await run.until(running(2))
        await run.attempt_ends()
        over = await run.handle.result()
        assert (over.phase, over.retries_used) == (Phase.SUCCEEDED, 0)


async def test_checkpoint_and_extend_reach_the_running_attempt(temporal_client: Client) -> None:
    async with job_on_engine(temporal_client, job(timeout=timedelta(hours=1)), Script(OK)) as run:
        await run.until(running())
        await run.handle.execute_update(JobWorkflow.request, of(Verb.CHECKPOINT))
        await run.handle.execute_update(JobWorkflow.request, of(Verb.EXTEND, extend_by=timedelta(hours=1)))
        await eventually_async(lambda: len(run.script.controls) == 2)
        first, second = run.script.controls
        assert first.checkpoint
        assert second.deadline is not None
        await run.attempt_ends()
        assert (await run.handle.result()).timeout == timedelta(hours=2)


async def test_a_request_that_cannot_be_granted_is_refused_and_leaves_no_trace(
    temporal_client: Client,
) -> None:
    async with job_on_engine(temporal_client, job(), Script(OK)) as run:
        await run.until(running())
        before = len((await run.handle.fetch_history()).events)
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await run.handle.execute_update(JobWorkflow.request, of(Verb.RESUME))
        assert isinstance(refused.value.cause, ApplicationError)
        assert refused.value.cause.type == "PD-2009"
        assert "Suspended" in refused.value.cause.message
        assert len((await run.handle.fetch_history()).events) == before
        await run.attempt_ends()
        await run.handle.result()


async def test_the_same_request_twice_is_one_request(temporal_client: Client) -> None:
    async with job_on_engine(temporal_client, job(), Script(OK)) as run:
        await run.until(running())
        request = of(Verb.CHECKPOINT)
        await run.handle.execute_update(JobWorkflow.request, request, id="one")
        await run.handle.execute_update(JobWorkflow.request, request, id="two")
        await run.attempt_ends()
        await run.handle.result()
        assert len(run.script.controls) == 1


async def test_a_launch_that_can_never_work_fails_the_job_with_its_words(temporal_client: Client) -> None:
    async with job_on_engine(temporal_client, job(), Script("no secret named TOKEN")) as run:
        over = await run.handle.result()
        assert (over.phase, over.failure) == (Phase.FAILED, FailureClass.INFRASTRUCTURE)
        assert "no secret named TOKEN" in over.reason


async def test_an_end_that_no_watcher_reports_is_found_by_the_safety_poll(temporal_client: Client) -> None:
    poll = timedelta(milliseconds=300)
    async with job_on_engine(temporal_client, job(), Script(OK), safety_poll=poll) as run:
        over = await run.handle.result()
        assert over.phase is Phase.SUCCEEDED
        assert run.script.polls == 1


async def test_a_suspended_submission_waits_for_resume(temporal_client: Client) -> None:
    async with job_on_engine(temporal_client, job(), Script(OK), suspended=True) as run:
        await run.until(lambda s: s.phase is Phase.SUSPENDED)
        assert run.script.launched == []
        await run.handle.execute_update(JobWorkflow.request, of(Verb.RESUME))
        await run.until(running())
        await run.attempt_ends()
        assert (await run.handle.result()).phase is Phase.SUCCEEDED
