"""A recorder writes every run of a scene, and touches no history that is there."""

import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.replay.recording import Recorder


@workflow.defn
class Countdown:
    """Continues as new until nothing is left."""

    @workflow.run
    async def run(self, left: int) -> None:
        if left:
            workflow.continue_as_new(left - 1)


async def count_down(name: str, client: Client) -> WorkflowHandle[Any, Any]:
    queue = f"recording-{uuid.uuid4().hex[:8]}"
    async with Worker(client, task_queue=queue, workflows=[Countdown], workflow_runner=UnsandboxedWorkflowRunner()):
        handle = await client.start_workflow(Countdown.run, 2, id=queue, task_queue=queue)
        await handle.result()
        return handle


async def test_a_scene_that_goes_on_in_other_runs_leaves_a_history_of_each(
    tmp_path: Path, temporal_client: Client
) -> None:
    recorder = Recorder(tmp_path, ("long",), count_down)
    written = await recorder.keep("long", temporal_client)
    assert [path.name for path in written] == ["long.json", "long-2.json", "long-3.json"]
    histories = [WorkflowHistory.from_json(path.stem, path.read_text()) for path in written]
    runs = [history.events[0].workflow_execution_started_event_attributes for history in histories]
    assert [run.continued_execution_run_id for run in runs[1:]] == [run.original_execution_run_id for run in runs[:-1]]


async def test_what_is_recorded_is_never_recorded_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.json"
    old.write_text("as it was")
    assert await Recorder(tmp_path, ("new", "old"), count_down).record(["new", "old"]) == 2
    assert "never again: old" in capsys.readouterr().err
    assert os.listdir(tmp_path) == [old.name]
    assert old.read_text() == "as it was"
