"""No change of a reservation's workflow may break those that are booked: every committed history replays."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from tests.replay.record_reservations import FOLDER, scenes
from workers.workflow_runner import workflow_runner
from workflows.reservation import ReservationWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


def read(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(path.stem, path.read_text())


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    replayer = Replayer(
        workflows=[ReservationWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=workflow_runner(),
    )
    result = await replayer.replay_workflow(read(path))
    assert result.replay_failure is None


def test_every_scene_is_recorded() -> None:
    stems = {path.stem for path in HISTORIES}
    assert set(scenes()) <= stems
    assert "continued-2" in stems, "the continued scene has a second run"
