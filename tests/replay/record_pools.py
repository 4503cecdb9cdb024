"""Record histories of SchedulerWorkflow: `python -m tests.replay.record_pools NAME…`, for new names only."""

import asyncio
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.scheduling import Decided
from tests.replay.recording import Recorder
from tests.support.polling import eventually_async
from workers.workflow_runner import workflow_runner
from workflows.scheduler import SchedulerInput, SchedulerWorkflow

FOLDER = Path(__file__).parent / "pool_histories"


@dataclass
class Scene:
    """What decisions come to, the last one again and again; `fails`: how many of the first fail for good. `news`: after
    how many of the last ones the pool is told of changes. `lost`: the first never ends, and somebody begins anew."""

    decided: tuple[Decided, ...]
    news: int = 0
    fails: int = 0
    lost: bool = False
    made: int = 0

    @activity.defn(name="decide")
    async def decide(self, pool: str) -> Decided:
        self.made += 1
        if self.made <= self.fails:
            raise ApplicationError("the database is gone", non_retryable=True)
        if self.lost and self.made == 1:
            await asyncio.Event().wait()
        return self.decided[min(self.made, len(self.decided)) - 1]


def scenes() -> dict[str, Scene]:
    idle, soon = Decided(decision=4), Decided(wake_after=0.1, decision=3, placed=2, told=1, waiting=5)
    return {
        "news": Scene((idle,), news=2),
        "wakes": Scene((soon, soon, idle), news=1),
        "continued": Scene((soon.model_copy(update={"wake_after": 0.01}),)),
        "fails": Scene((idle,), news=1, fails=1),
        "restarted": Scene((idle,), news=1, lost=True),
    }


MADE = {"news": 3, "wakes": 4, "continued": 12, "fails": 2, "restarted": 2}  # decisions after which a scene is over


async def play(name: str, client: Client) -> WorkflowHandle[Any, Any]:
    """Run a pool until its scene is over, and end it."""
    scene = scenes()[name]
    queue = f"pools-{uuid.uuid4().hex[:8]}"
    async with Worker(
        client, task_queue=queue, workflows=[SchedulerWorkflow], activities=[scene.decide],
        workflow_runner=workflow_runner(),
    ):  # fmt: skip
        handle = await client.start_workflow(
            SchedulerWorkflow.run,
            SchedulerInput(pool="north", queue=queue),
            id=f"pool-{uuid.uuid4().hex[:8]}",
            task_queue=queue,
        )
        for made in range(MADE[name] - scene.news, MADE[name]):
            await decisions(scene, made)
            word = SchedulerWorkflow.restarted if scene.lost else SchedulerWorkflow.changed
            await client.get_workflow_handle(handle.id).signal(word)
        await decisions(scene, MADE[name])
        await client.get_workflow_handle(handle.id).terminate("the scene is over")
    return handle


async def decisions(scene: Scene, count: int) -> None:
    await eventually_async(lambda: scene.made >= count, 30, f"{count} decisions")


RECORDER = Recorder(FOLDER, scenes(), play, long=("continued",))

if __name__ == "__main__":
    RECORDER.main()
