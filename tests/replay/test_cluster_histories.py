"""No change of a cluster's workflows may break those that are under way: every committed history replays."""

from pathlib import Path

import pytest

from tests.replay.record_clusters import ASKS, FOLDER, NODES
from tests.replay.replaying import read, replay
from workflows.cluster_call import ClusterCallWorkflow
from workflows.node import NodeWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    await replay(read(path), ClusterCallWorkflow, NodeWorkflow)


def test_every_scene_has_a_history() -> None:
    assert {*ASKS, *NODES} <= {path.stem for path in HISTORIES}
