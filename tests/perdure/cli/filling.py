"""A world in which there is something of everything to read."""

from datetime import UTC, datetime, timedelta

from definitions.progress import ProgressPoint
from definitions.states import FailureClass, Phase
from tests.api.world import document, schedule_document, template_document
from tests.perdure.live import Live


def fill(live: Live) -> str:
    """An ended job `digits` with attempts, checkpoints, events, logs, metrics, an artifact; one of each other kind.

    Returns the job's id.
    """
    with live.client() as client:
        job = client.submit(document()).id
        client.templates.create(template_document())
        client.secrets.create("hub-token", "s3cr3t-value")
        client.schedule(schedule_document())
    world, now = live.world, datetime.now(UTC)
    world.attempt(job, 1, ended=True, failure=FailureClass.USER_ERROR)
    world.checkpoint(job, 100)
    world.checkpoint(job, 200, complete=False)
    world.tell(job, 1, "all 1 ranks started")
    world.logs.lines[(job, 1, 0)] = [(now + timedelta(seconds=n), f"line {n}") for n in range(5)]
    world.run_files.points[job] = [
        ProgressPoint(step=step, at=now + timedelta(seconds=step), attempt=1, rank=0, metrics={"loss": 1 / (step + 1)})
        for step in range(20)
    ]
    world.artifact(job, "model/weights.npz", b"weights")
    world.change(job, failure=FailureClass.USER_ERROR, attempt=1)
    world.end(job, Phase.FAILED, "rank 0 ended with 3 (user-error); not retried")
    return job
