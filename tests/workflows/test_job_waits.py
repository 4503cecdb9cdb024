"""A job whose pods wait, on a real engine: told by the watcher, found by the safety poll, stopped while it waits."""

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client

from definitions.attempt import AttemptObservation, StoppedBy
from definitions.facts import PollCommand, Verb
from definitions.job_state import JobState
from definitions.pod_needs import PodNeeds
from definitions.states import Phase
from tests.support.jobs import NOW, asked, new_state, rank
from tests.support.scripted import WaitsForPods, job_on_engine
from workflows.job import JobWorkflow

OK = (rank(0),)
STOPPED = (rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST),)


class FoundRunning(WaitsForPods):
    """Nobody tells: the first poll finds the pods running, the next one that they have ended."""

    @activity.defn(name="poll")
    async def poll(self, command: PollCommand) -> AttemptObservation:
        self.polls += 1
        if self.polls == 1:
            return AttemptObservation(ref=command.ref, at=NOW, running_since=NOW)
        return AttemptObservation(ref=command.ref, at=NOW, ended=True)


@pytest.fixture(params=[100, 0], ids=["cached", "replayed"])
def cached(request: Any) -> Any:
    return request.param


def job(**changes: Any) -> JobState:
    return new_state(f"job-{uuid.uuid4().hex[:8]}", launch={"pod": PodNeeds()}, **changes)


def waits(state: JobState) -> bool:
    return state.phase is Phase.STARTING and state.reason.startswith("waits")


async def test_the_reason_is_what_the_cluster_says_until_every_rank_runs(temporal_client: Client, cached: int) -> None:
    async with job_on_engine(temporal_client, job(), WaitsForPods(OK), cached=cached) as run:
        await run.until(waits)
        for _ in range(3):
            await run.pods_say(note="waits: its pods are being prepared")
        await run.until(lambda state: state.reason == "waits: its pods are being prepared")
        await run.pods_run()
        await run.until(lambda state: state.phase is Phase.RUNNING)
        await run.attempt_ends()
        over = await run.handle.result()
        assert over.phase is Phase.SUCCEEDED
        told = [event.reason for event in run.script.events.values()]
        assert [reason for reason in told if reason.startswith("waits") or reason == "running"] == [
            "waits: no node can take it",
            "waits: its pods are being prepared",
            "running",
        ]


async def test_the_safety_poll_finds_pods_that_run_when_nobody_tells(temporal_client: Client) -> None:
    script = FoundRunning(OK)
    async with job_on_engine(temporal_client, job(), script, safety_poll=timedelta(milliseconds=100)) as run:
        over = await asyncio.wait_for(run.handle.result(), 20)
        assert (over.phase, script.polls) == (Phase.SUCCEEDED, 2)
        assert "running" in [event.reason for event in script.events.values()]


@pytest.mark.parametrize(("verb", "phase"), [(Verb.CANCEL, Phase.CANCELLED), (Verb.SUSPEND, Phase.SUSPENDED)])
async def test_a_job_is_stopped_while_its_pods_wait(
    temporal_client: Client, cached: int, verb: Verb, phase: Phase
) -> None:
    async with job_on_engine(temporal_client, job(), WaitsForPods(STOPPED), cached=cached) as run:
        await run.until(waits)
        await run.handle.execute_update(JobWorkflow.request, asked(verb))
        await run.attempt_ends()
        await run.until(lambda state: state.phase is phase)
        assert len(run.script.stops) == 1
        if verb is Verb.SUSPEND:
            await run.handle.execute_update(JobWorkflow.request, asked(Verb.CANCEL, "r2"))
        assert (await run.handle.result()).phase is Phase.CANCELLED


async def test_time_granted_while_pods_wait_is_told_to_them_once_they_run(temporal_client: Client) -> None:
    async with job_on_engine(temporal_client, job(timeout=timedelta(hours=1)), WaitsForPods(OK)) as run:
        await run.until(waits)
        await run.handle.execute_update(JobWorkflow.request, asked(Verb.EXTEND, extend_by=timedelta(hours=1)))
        await run.pods_run()
        began = (await run.until(lambda state: state.phase is Phase.RUNNING)).attempt_started_at
        await run.attempt_ends()
        await run.handle.result()
        (control,) = run.script.controls
        assert began is not None
        assert control.deadline == began + timedelta(hours=2)
