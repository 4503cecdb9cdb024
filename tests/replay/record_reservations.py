"""Record histories of ReservationWorkflow: `python -m tests.replay.record_reservations NAME…`, for new names only."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.reservations import Look, ReservationKey, WindowWork
from definitions.reservation_calls import WindowAnswer, WindowAsked, WindowVerb
from tests.replay.recording import Recorder
from tests.support.polling import eventually_async
from workers.workflow_runner import workflow_runner
from workflows.reservation import ReservationWorkflow

FOLDER = Path(__file__).parent / "reservation_histories"
NOON = datetime(2027, 3, 5, 12, tzinfo=UTC)
KEY = ReservationKey(tenant="acme", name="night")
OVER = Look(over=True)


@dataclass
class Scene:
    """What looks come to, the last one again and again; `fails`: how many of the first fail for good. `asked`: what
    people ask after the first look. `told`: of a change, after the first look."""

    looks: tuple[Look, ...]
    asked: tuple[WindowVerb, ...] = ()
    told: bool = False
    fails: int = 0
    seen: int = 0

    @activity.defn(name="keep")
    async def keep(self, key: ReservationKey) -> Look:
        self.seen += 1
        if self.seen <= self.fails:
            raise ApplicationError("the database is gone", non_retryable=True)
        return self.looks[min(self.seen, len(self.looks)) - 1]

    @activity.defn(name="change_window")
    async def change_window(self, work: WindowWork) -> WindowAnswer:
        return WindowAnswer(ends_at=work.asked.until, denied="" if work.asked.until else "it has ended")


def scenes() -> dict[str, Scene]:
    soon, waits = Look(wake_after=0.05, windows={"active": 1}), Look(windows={"upcoming": 2})
    return {
        "ends": Scene((soon, soon, OVER)),
        "changes": Scene((waits, OVER), told=True),
        "asked": Scene((waits, waits, OVER), asked=(WindowVerb.EXTEND, WindowVerb.CANCEL)),
        "fails": Scene((waits, OVER), told=True, fails=1),
        "continued": Scene((*[soon] * 14, OVER)),
    }


async def play(name: str, client: Client) -> WorkflowHandle[Any, Any]:
    """Run a reservation until nothing of it can come any more."""
    scene = scenes()[name]
    queue = f"reservations-{uuid.uuid4().hex[:8]}"
    async with Worker(
        client, task_queue=queue, workflows=[ReservationWorkflow], activities=[scene.keep, scene.change_window],
        workflow_runner=workflow_runner(),
    ):  # fmt: skip
        handle = await client.start_workflow(
            ReservationWorkflow.run, KEY, id=f"reservation-{uuid.uuid4().hex[:8]}", task_queue=queue
        )
        await eventually_async(lambda: scene.seen >= 1, 30, "a first look")
        if scene.told:
            await handle.signal(ReservationWorkflow.changed)
        for verb in scene.asked:
            await handle.execute_update(verb.value, asked(verb), result_type=WindowAnswer)
        await client.get_workflow_handle(handle.id).result()
    return handle


def asked(verb: WindowVerb) -> WindowAsked:
    until = NOON if verb is WindowVerb.EXTEND else None
    return WindowAsked(
        verb=verb, request_id=uuid.uuid4().hex, actor="ada", at=NOON, made_at=NOON, number=1, until=until
    )


RECORDER = Recorder(FOLDER, scenes(), play, long=("continued",))

if __name__ == "__main__":
    RECORDER.main()
