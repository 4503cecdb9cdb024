"""No change of a cluster's workflows may break those that are under way: every committed history replays."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from tests.replay.record_clusters import ASKS, FOLDER, NODES
from workers.workflow_runner import workflow_runner
from workflows.cluster_call import ClusterCallWorkflow
from workflows.node import NodeWorkflow

HISTORIES = sorted(FOLDER.glob("*.json"))


def read(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(path.stem, path.read_text())


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_committed_history_replays(path: Path) -> None:
    replayer = Replayer(
        workflows=[ClusterCallWorkflow, NodeWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=workflow_runner(),
    )
    result = await replayer.replay_workflow(read(path))
    assert result.replay_failure is None


def test_every_scene_has_a_history() -> None:
    assert {*ASKS, *NODES} <= {path.stem for path in HISTORIES}
