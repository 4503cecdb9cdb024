"""No change of an array's workflow may break the arrays that are under way: every committed history replays."""

from pathlib import Path

import pytest

from tests.replay.record_arrays import FOLDER, PLAYS
from tests.replay.replaying import read, replay
from workflows.array import ArrayWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    await replay(read(path, "job/acme/"), ArrayWorkflow)


def test_every_scene_is_recorded_and_the_long_one_was_continued() -> None:
    stems = {path.stem for path in HISTORIES}
    assert set(PLAYS) <= stems
    assert "continued-2" in stems
