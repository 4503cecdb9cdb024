"""No change of a workflow's body may break the jobs that are running: every committed history replays."""

from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.workflow import NondeterminismError

from tests.replay.record import FOLDER, PLAYS
from tests.replay.replaying import read, replay
from workflows.job import JobWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Any) -> None:
    await replay(read(path, "job/default/"), JobWorkflow)


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
        await replay(changed, JobWorkflow)
