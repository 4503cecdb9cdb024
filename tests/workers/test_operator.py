"""Requests reach a running job's workflow, and each way in which that can fail has a name."""

import time
import uuid
from datetime import timedelta

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from api.ports import EngineAway, JobClosed, NoAnswerYet, RequestRefused
from definitions.attempt import StoppedBy
from definitions.facts import Requested, Verb
from definitions.ids import job_workflow_id
from definitions.job_state import JobInput
from definitions.states import Phase
from tests.support.jobs import asked, new_state, rank
from tests.support.ports import free_port
from tests.support.scripted import Running, Script, job_on_engine
from workers.operator import TemporalJobOperator
from workflows.job import JobWorkflow

LIMIT = timedelta(seconds=10)
STOPPED = (rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST),)


def request(verb: Verb) -> Requested:
    return asked(verb, uuid.uuid4().hex)


def name(run: Running) -> str:
    return run.handle.id.removeprefix(job_workflow_id("default", ""))


async def running(run: Running) -> None:
    await run.until(lambda state: state.phase is Phase.RUNNING)


async def test_a_request_is_carried_out_once_however_often_it_is_sent(temporal_client: Client) -> None:
    operator = TemporalJobOperator(temporal_client, LIMIT)
    async with job_on_engine(temporal_client, new_state(), Script(STOPPED)) as run:
        await running(run)
        cancel = request(Verb.CANCEL)
        outcomes = [await operator.request("default", name(run), cancel) for _ in range(3)]
        assert [outcome.phase for outcome in outcomes] == [Phase.CANCELLING] * 3
        await run.attempt_ends()
        await run.handle.result()
        assert len(run.script.stops) == 1


async def test_what_the_job_refuses_comes_back_with_its_reason(temporal_client: Client) -> None:
    operator = TemporalJobOperator(temporal_client, LIMIT)
    async with job_on_engine(temporal_client, new_state(), Script(STOPPED)) as run:
        await running(run)
        with pytest.raises(RequestRefused, match="Running"):
            await operator.request("default", name(run), request(Verb.RESUME))
        await run.handle.terminate()


async def test_a_job_that_has_ended_is_told_from_one_that_has_not_begun(temporal_client: Client) -> None:
    operator = TemporalJobOperator(temporal_client, LIMIT)
    async with job_on_engine(temporal_client, new_state(), Script((rank(0),))) as run:
        await running(run)
        await run.attempt_ends()
        await run.handle.result()
        with pytest.raises(JobClosed) as ended:
            await operator.request("default", name(run), request(Verb.CANCEL))
    with pytest.raises(JobClosed) as unknown:
        await operator.request("default", uuid.uuid4().hex, request(Verb.CANCEL))
    assert (ended.value.started, unknown.value.started) == (True, False)


async def test_without_a_worker_the_answer_is_not_known_yet(temporal_client: Client) -> None:
    job = uuid.uuid4().hex
    handle = await temporal_client.start_workflow(
        JobWorkflow.run,
        JobInput(state=new_state(job)),
        id=job_workflow_id("default", job),
        task_queue=f"nobody-{job}",
    )
    with pytest.raises(NoAnswerYet):
        await TemporalJobOperator(temporal_client, timedelta(seconds=1)).request("default", job, request(Verb.CANCEL))
    await handle.terminate()


async def test_an_engine_that_is_away_is_noticed_at_once() -> None:
    lazy = await Client.connect(f"127.0.0.1:{free_port()}", data_converter=pydantic_data_converter, lazy=True)
    began = time.monotonic()
    for _ in range(2):
        with pytest.raises(EngineAway):
            await TemporalJobOperator(lazy, LIMIT).request("default", "job", request(Verb.CANCEL))
    assert time.monotonic() - began < LIMIT.total_seconds()
