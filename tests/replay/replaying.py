"""Replays committed histories with the workflows as they are now."""

from pathlib import Path

from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from workers.workflow_runner import workflow_runner


def read(path: Path, of: str = "") -> WorkflowHistory:
    """A committed history, of a workflow that is called as its file, behind `of`."""
    return WorkflowHistory.from_json(f"{of}{path.stem}", path.read_text())


async def replay(history: WorkflowHistory, *workflows: type) -> None:
    """Raises what is wrong with it."""
    replayer = Replayer(
        workflows=list(workflows), data_converter=pydantic_data_converter, workflow_runner=workflow_runner()
    )
    result = await replayer.replay_workflow(history)
    assert result.replay_failure is None
