"""No change of a session's workflow may break those that are under way: every committed history replays."""

from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from definitions.session import SessionEnd
from tests.replay.record_sessions import FOLDER, SCENES, play
from workers.workflow_runner import workflow_runner
from workflows.session import SessionWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


def read(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(path.stem, path.read_text())


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    replayer = Replayer(
        workflows=[SessionWorkflow], data_converter=pydantic_data_converter, workflow_runner=workflow_runner()
    )
    result = await replayer.replay_workflow(read(path))
    assert result.replay_failure is None


def test_every_scene_has_a_history() -> None:
    assert {path.stem for path in HISTORIES} >= set(SCENES)


@pytest.mark.parametrize(
    ("scene", "end"),
    [
        ("ended", SessionEnd(exit_code=3)),
        ("refused", SessionEnd(problem="the API that asked for the session is not there")),
    ],
)
async def test_a_session_ends_in_good_order_however_it_ends(
    scene: str, end: SessionEnd, temporal_client: Client
) -> None:
    assert await (await play(scene, temporal_client)).result() == end
