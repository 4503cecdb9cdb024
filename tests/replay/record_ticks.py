"""Record histories of ScheduleTickWorkflow: `python -m tests.replay.record_ticks NAME…`, for new names only."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.worker import Worker

from activities.schedules import ScheduledJob, Submitted, Tick, TickAt
from definitions.states import Phase
from tests.replay.recording import Recorder
from tests.support.polling import eventually_async
from workers.workflow_runner import workflow_runner
from workflows.schedule_tick import ScheduleTickWorkflow, TickInput

FOLDER = Path(__file__).parent / "tick_histories"
JOB = ScheduledJob(tenant="acme", project="default", job="0" * 26)
EARLIER = ScheduledJob(tenant="acme", project="default", job="1" * 26)
TICK = Tick(tenant="acme", project="default", schedule="nightly")


@dataclass
class Scene:
    """What the activities answer: the submit, and after how many looks the job is over. `cancel`: after two looks."""

    submitted: Submitted = field(default_factory=lambda: Submitted(job=JOB))
    looks: int = 2
    cancel: bool = False
    seen: int = 0
    ended: list[str] = field(default_factory=list)

    @activity.defn(name="submit_run")
    async def submit_run(self, at: TickAt) -> Submitted:
        return self.submitted

    @activity.defn(name="check_run")
    async def check_run(self, job: ScheduledJob) -> Phase | None:
        self.seen += 1
        if job.job in self.ended:
            return Phase.CANCELLED
        return Phase.SUCCEEDED if self.seen > self.looks else Phase.RUNNING

    @activity.defn(name="end_run")
    async def end_run(self, job: ScheduledJob) -> None:
        self.ended.append(job.job)


SCENES = {
    "plain": Scene(),
    "nothing": Scene(submitted=Submitted(note="the schedule is paused")),
    "cancelled": Scene(looks=1000, cancel=True),
    "others": Scene(submitted=Submitted(job=JOB, others=(EARLIER,))),
    "continued": Scene(looks=6),
}


async def play(name: str, client: Client) -> WorkflowHandle[Any, Any]:
    """Run one tick to its end."""
    scene = SCENES[name]
    queue = f"ticks-{uuid.uuid4().hex[:8]}"
    activities: list[Callable[..., Any]] = [scene.submit_run, scene.check_run, scene.end_run]
    workflows = [ScheduleTickWorkflow]
    async with Worker(
        client, task_queue=queue, workflows=workflows, activities=activities, workflow_runner=workflow_runner()
    ):
        handle = await client.start_workflow(
            ScheduleTickWorkflow.run, TickInput(tick=TICK), id=f"tick-{uuid.uuid4().hex[:8]}", task_queue=queue
        )
        if scene.cancel:
            await eventually_async(lambda: scene.seen >= 2, 20, "two looks")
            await handle.cancel()
        try:
            await handle.result()
        except WorkflowFailureError:
            if not scene.cancel:
                raise
    return handle


RECORDER = Recorder(FOLDER, SCENES, play, long=("continued",))

if __name__ == "__main__":
    RECORDER.main()
