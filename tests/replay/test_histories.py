"""No change of a workflow's body may break the jobs that are running: every committed history replays."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from tests.replay.record import FOLDER, PLAYS
from workers.workflow_runner import workflow_runner
from workflows.job import JobWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


def replayer() -> Replayer:
    return Replayer(workflows=[JobWorkflow], data_converter=pydantic_data_converter, workflow_runner=workflow_runner())


def read(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(f"job/default/{path.stem}", path.read_text())


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Any) -> None:
    result = await replayer().replay_workflow(read(path))
    assert result.replay_failure is None


def test_every_scene_has_a_history_and_the_long_one_was_continued() -> None:
    stems = {path.stem for path in HISTORIES}
    assert set(PLAYS) <= stems
    assert "continue-as-new-2" in stems


async def test_a_replay_can_fail() -> None:
    """The replayer itself is tested: a history with another activity in it is noticed."""
    text = (FOLDER / "happy.json").read_text()
    assert '"launch"' in text
    changed = WorkflowHistory.from_json("job/default/changed", text.replace('"launch"', '"start"'))
    with pytest.raises(NondeterminismError):
        await replayer().replay_workflow(changed)
