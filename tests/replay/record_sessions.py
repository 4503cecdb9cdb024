"""Record histories of SessionWorkflow: `python -m tests.replay.record_sessions NAME…`, for new names only."""

import uuid
from pathlib import Path
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from definitions.attempt import AttemptRef
from definitions.session import Exec, SessionEnd, SessionWork
from tests.replay.recording import Recorder
from workers.workflow_runner import workflow_runner
from workflows.session import SessionInput, SessionWorkflow

FOLDER = Path(__file__).parent / "session_histories"
REF = AttemptRef(tenant="t", project="p", job="j", number=1, token="a" * 32)
SCENES = ("ended", "refused")


@activity.defn(name="serve")
async def ended(_: SessionWork) -> SessionEnd:
    return SessionEnd(exit_code=3)


@activity.defn(name="serve")
async def refused(_: SessionWork) -> SessionEnd:
    raise ApplicationError("the API that asked for the session is not there", type="PD-2150")


async def play(name: str, client: Client) -> WorkflowHandle[Any, SessionEnd]:
    """Run one scene to its end."""
    queue = f"session-{uuid.uuid4().hex[:8]}"
    work = SessionWork(
        id="s",
        ref=REF,
        rank=0,
        actor="ada",
        wants=Exec(argv=("true",)),
        dial="ws://127.0.0.1:1/v1/sessions/s",
        token="t",
    )
    activities = [{"ended": ended, "refused": refused}[name]]
    async with Worker(
        client,
        task_queue=queue,
        workflows=[SessionWorkflow],
        activities=activities,
        workflow_runner=workflow_runner(),
    ):
        start = SessionInput(work=work, queue=queue)
        handle = await client.start_workflow(SessionWorkflow.run, start, id=f"session/t/{queue}", task_queue=queue)
        await handle.result()
        return handle


RECORDER = Recorder(FOLDER, SCENES, play)

if __name__ == "__main__":
    RECORDER.main()
