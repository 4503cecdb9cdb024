"""An array's workflow on a real engine: each index once, whatever is said twice, lost, or asked meanwhile."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.contrib.pydantic import pydantic_data_converter

from definitions.facts import Verb
from definitions.states import FailureClass, Phase
from policies.index_ranges import size
from tests.support.jobs import asked
from tests.support.scripted_array import ArrayScript, array_on_engine
from tests.support.temporal import running_temporal
from workers.operator import TemporalJobOperator
from workflows.array import ArrayWorkflow

SOON_LONG = ("--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=50")


@pytest.fixture(params=[100, 0], ids=["cached", "replayed"])
def cached(request: pytest.FixtureRequest) -> int:
    value: int = request.param
    return value


async def test_each_index_is_made_once_and_the_end_says_which_failed(temporal_client: Client, cached: int) -> None:
    script = ArrayScript()
    async with array_on_engine(temporal_client, script, limit=2, cached=cached) as run:
        await run.until(lambda state: size(state.open) == 2)
        assert script.made == [0, 1]
        for index in (1, 0, 3, 2, 4):
            await run.ends(index, Phase.FAILED if index == 3 else Phase.SUCCEEDED, said=2)
        over = await run.handle.result()
        assert script.made == [0, 1, 2, 3, 4]
        assert (over.phase, over.failure) == (Phase.FAILED, FailureClass.USER_ERROR)
        assert over.reason == "1 of 5 failed: 3"
        assert script.phases == [Phase.RUNNING, Phase.FAILED]


async def test_an_end_of_which_no_word_came_is_found(temporal_client: Client) -> None:
    async with array_on_engine(temporal_client, ArrayScript(), limit=5, poll=timedelta(milliseconds=200)) as run:
        for index in range(5):
            await run.ends(index, said=0)
        assert (await run.handle.result()).phase is Phase.SUCCEEDED


async def test_a_request_is_answered_before_every_job_has_heard_it(temporal_client: Client, cached: int) -> None:
    script = ArrayScript(deaf=1)
    async with array_on_engine(temporal_client, script, limit=2, cached=cached) as run:
        await run.until(lambda state: size(state.open) == 2)
        operator = TemporalJobOperator(temporal_client, timedelta(seconds=30))
        for _ in range(2):  # as somebody does whose answer was lost
            answer = await operator.request("acme", run.start.job, asked(Verb.CANCEL))
            assert answer.phase is Phase.CANCELLING
        await run.until(lambda state: not state.telling)
        assert script.asked == [("cancel", 0), ("cancel", 1)]
        with pytest.raises(WorkflowUpdateFailedError):
            await run.handle.execute_update(ArrayWorkflow.request, asked(Verb.SUSPEND, "r2"))
        await run.ends(0, Phase.CANCELLED)
        await run.ends(1)
        over = await run.handle.result()
        assert (over.phase, script.made) == (Phase.CANCELLED, [0, 1])
        assert over.reason == "cancelled by ada; of 5 jobs 1 succeeded, 1 was cancelled, 3 never began"


@pytest.fixture
async def hasty_engine(tmp_path: Path) -> AsyncIterator[Client]:
    """It finds a history long after 50 events."""
    with running_temporal(tmp_path, *SOON_LONG) as server:
        yield await Client.connect(server.address, namespace=server.namespace, data_converter=pydantic_data_converter)


async def test_nothing_is_lost_when_it_continues_as_new(hasty_engine: Client) -> None:
    script = ArrayScript()
    async with array_on_engine(hasty_engine, script, last=39, limit=5, bounded=True) as run:
        first = (await run.handle.describe()).run_id
        operator = TemporalJobOperator(hasty_engine, timedelta(seconds=30))
        for index in range(40):
            await run.ends(index, said=2)
            if index % 4 == 0:
                longer = asked(Verb.EXTEND, f"r{index}", extend_by=timedelta(minutes=1))
                await operator.request("acme", run.start.job, longer)
        over = await run.handle.result()
        assert script.made == list(range(40))
        assert (over.phase, over.succeeded, over.granted.extended) == (Phase.SUCCEEDED, 40, timedelta(minutes=10))
        assert (await run.handle.describe()).run_id != first
