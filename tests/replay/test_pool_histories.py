"""No change of the scheduler's workflow may break the pools it is deciding for: every committed history replays."""

from pathlib import Path

import pytest

from tests.replay.record_pools import FOLDER, scenes
from tests.replay.replaying import read, replay
from workflows.scheduler import SchedulerWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    await replay(read(path), SchedulerWorkflow)


def test_every_scene_is_recorded() -> None:
    stems = {path.stem for path in HISTORIES}
    assert set(scenes()) <= stems
    assert "continued-2" in stems, "the continued scene has a second run"
