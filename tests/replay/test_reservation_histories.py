"""No change of a reservation's workflow may break those that are booked: every committed history replays."""

from pathlib import Path

import pytest

from tests.replay.record_reservations import FOLDER, scenes
from tests.replay.replaying import read, replay
from workflows.reservation import ReservationWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    await replay(read(path), ReservationWorkflow)


def test_every_scene_is_recorded() -> None:
    stems = {path.stem for path in HISTORIES}
    assert set(scenes()) <= stems
    assert "continued-2" in stems, "the continued scene has a second run"
