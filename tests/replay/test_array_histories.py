"""No change of an array's workflow may break the arrays that are under way: every committed history replays."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from tests.replay.record_arrays import FOLDER, PLAYS
from workers.workflow_runner import workflow_runner
from workflows.array import ArrayWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


def read(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(f"job/acme/{path.stem}", path.read_text())


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    replayer = Replayer(
        workflows=[ArrayWorkflow], data_converter=pydantic_data_converter, workflow_runner=workflow_runner()
    )
    result = await replayer.replay_workflow(read(path))
    assert result.replay_failure is None


def test_every_scene_is_recorded_and_the_long_one_was_continued() -> None:
    stems = {path.stem for path in HISTORIES}
    assert set(PLAYS) <= stems
    assert "continued-2" in stems
