"""No change of the tick's body may break the runs that are waiting for their jobs: every committed history replays."""

from pathlib import Path

import pytest

from tests.replay.record_ticks import FOLDER, SCENES
from tests.replay.replaying import read, replay
from workflows.schedule_tick import ScheduleTickWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    await replay(read(path), ScheduleTickWorkflow)


def test_every_scene_is_recorded() -> None:
    stems = {path.stem for path in HISTORIES}
    assert set(SCENES) <= stems
    assert "continued-2" in stems, "the continued scene has a second run"
