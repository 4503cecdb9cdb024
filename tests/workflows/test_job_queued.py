"""A job that waits for places, on a real engine: placed, displaced, placed again, and stopped at any moment of it."""

import uuid
from typing import Any

import pytest
from temporalio.client import Client, WorkflowUpdateFailedError

from definitions.attempt import StoppedBy
from definitions.facts import Verb
from definitions.job_state import JobState
from definitions.places import Ticket
from definitions.search_attributes import JOB_PHASE
from definitions.states import FailureClass, Phase
from tests.support.jobs import asked, checkpoint, displaced, new_state, places, rank
from tests.support.polling import eventually_async
from tests.support.scripted import NeverLaunches, Script, job_on_engine
from workflows.job import JobWorkflow

OK = (rank(0),)
STOPPED = (rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST),)


@pytest.fixture(params=[100, 0], ids=["cached", "replayed"])
def cached(request: Any) -> Any:
    return request.param


def job(**changes: Any) -> JobState:
    return new_state(f"job-{uuid.uuid4().hex[:8]}", ticket=Ticket(queue="research"), **changes)


def running(attempt: int = 1) -> Any:
    return lambda state: state.phase is Phase.RUNNING and state.attempt == attempt


async def test_a_displaced_job_goes_on_from_its_checkpoint_at_other_places(
    temporal_client: Client, cached: int
) -> None:
    script = Script(STOPPED, OK, checkpoints={1: (checkpoint(40),)})
    async with job_on_engine(temporal_client, job(), script, cached=cached) as run:
        await run.until(lambda state: state.phase is Phase.QUEUED)
        assert script.launched == []
        described = await run.handle.describe()
        assert described.typed_search_attributes[JOB_PHASE] == "Queued"
        await run.placed("node-1")
        first = await run.until(running(1))
        assert first.placement is not None
        assert first.placement.pods[0].node == "node-1"
        await run.displaced()
        await run.until(lambda state: state.phase is Phase.SUSPENDING)
        await eventually_async(lambda: script.stops)
        assert script.stops[0].stop.checkpoint_first
        await run.attempt_ends()
        waits = await run.until(lambda state: state.phase is Phase.QUEUED)
        assert (waits.attempts[-1].failure, waits.placement) == (FailureClass.PREEMPTED, None)
        await run.placed("node-2")
        await run.until(running(2))
        await run.attempt_ends()
        over = await run.handle.result()
        assert (over.phase, over.retries_used, over.resume_step) == (Phase.SUCCEEDED, 0, 40)
        kinds = [event.kind for event in script.events.values()]
        assert [kind for kind in kinds if kind != "phase"] == [
            "queued", "placed", "displaced", "checkpoint", "queued", "placed",
        ]  # fmt: skip


@pytest.mark.parametrize("verb", [Verb.CANCEL, Verb.SUSPEND])
async def test_a_job_that_waits_is_stopped_at_once_and_late_places_start_nothing(
    temporal_client: Client, verb: Verb
) -> None:
    script = Script(OK)
    async with job_on_engine(temporal_client, job(), script) as run:
        waits = await run.until(lambda state: state.phase is Phase.QUEUED)
        await run.handle.execute_update(JobWorkflow.request, asked(verb))
        if verb is Verb.CANCEL:
            over = await run.handle.result()
            assert over.phase is Phase.CANCELLED
        else:
            await run.handle.signal(JobWorkflow.place, places(waits))
            await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESUME, "r2"))
            await run.handle.signal(JobWorkflow.place, places(waits))
            await run.until(lambda state: state.phase is Phase.QUEUED)
        assert script.launched == []


async def test_a_displaced_job_is_not_launched_again_and_again(temporal_client: Client) -> None:
    """The launch fails each time, and the engine would try for an hour: the places are wanted back before."""
    script = NeverLaunches(STOPPED)
    async with job_on_engine(temporal_client, job(), script) as run:
        waits = await run.placed()
        await eventually_async(lambda: script.launched)
        await run.handle.signal(JobWorkflow.place, displaced(waits, attempt=1))
        again = await run.until(lambda state: state.phase is Phase.QUEUED and state.attempt == 1)
        assert again.attempts[-1].failure is FailureClass.PREEMPTED
        await run.handle.execute_update(JobWorkflow.request, asked(Verb.CANCEL))


async def test_a_new_priority_is_recorded_and_refused_where_there_is_none(temporal_client: Client) -> None:
    async with job_on_engine(temporal_client, job(), Script(OK)) as run:
        await run.until(lambda state: state.phase is Phase.QUEUED)
        await run.handle.execute_update(JobWorkflow.request, asked(Verb.REPRIORITISE, priority=90))
        wanted = Ticket(queue="research", priority=90)
        await eventually_async(lambda: run.script.last is not None and run.script.last.ticket == wanted)
        await run.handle.execute_update(JobWorkflow.request, asked(Verb.CANCEL, "r2"))
    plain = new_state(f"job-{uuid.uuid4().hex[:8]}")
    async with job_on_engine(temporal_client, plain, Script(OK)) as run:
        await run.until(running())
        with pytest.raises(WorkflowUpdateFailedError):
            await run.handle.execute_update(JobWorkflow.request, asked(Verb.REPRIORITISE, priority=90))
        await run.attempt_ends()
        assert (await run.handle.result()).phase is Phase.SUCCEEDED
