"""No change of a session's workflow may break those that are under way: every committed history replays."""

from pathlib import Path

import pytest
from temporalio.client import Client

from definitions.session import SessionEnd
from tests.replay.record_sessions import FOLDER, SCENES, play
from tests.replay.replaying import read, replay
from workflows.session import SessionWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    await replay(read(path), SessionWorkflow)


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
