"""A world in which there is something of everything to read."""

from datetime import UTC, datetime, timedelta

from definitions.cluster import ClusterReport, Finding, NodeView
from definitions.cluster_calls import Answer, ObjectChange
from definitions.progress import ProgressPoint
from definitions.states import FailureClass, Phase
from store import clusters
from store.engine import session
from tests.api.world import (
    cluster_document,
    document,
    queue_document,
    schedule_document,
    scheduling_document,
    template_document,
)
from tests.perdure.live import Live
from tests.support.array_rows import make_jobs
from tests.support.reserved_windows import book

# None names another, so that each can be deleted.
OF_SCHEDULER = (
    queue_document(),
    scheduling_document("ResourceFlavor", "h100", gpuType="H100"),
    scheduling_document("PriorityClass", "urgent", value=1000),
    scheduling_document("Topology", "hall-2", levels=[{"name": "rack", "nodeLabel": "example.org/rack"}]),
    scheduling_document("NodePool", "training", nodeSelector={"pool": "training"}),
)
EVENING = scheduling_document(
    "Reservation",
    "evening",
    queue="research",
    capacity={"nodes": 4},
    start="2030-03-04T18:00",
    length="8h",
    timeZone="Europe/Berlin",
    repeat={"frequency": "weekly", "days": ["mon", "wed"]},
    extension={"most": "2h"},
)


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
    world.metrics.points[job] = [
        ProgressPoint(step=step, at=now + timedelta(seconds=step), attempt=1, rank=0, metrics={"loss": 1 / (step + 1)})
        for step in range(20)
    ]
    world.artifact(job, "model/weights.npz", b"weights")
    world.change(job, failure=FailureClass.USER_ERROR, attempt=1)
    world.end(job, Phase.FAILED, "rank 0 ended with 3 (user-error); not retried")
    return job


def add_array(live: Live) -> None:
    """An array `sweep` that has made one of its jobs."""
    with live.client() as client:
        array = client.submit(document("sweep", array={"last": 9})).id
    make_jobs(live.world.engine, array, 1, live.world.clock.now())


def add_scheduling(live: Live) -> None:
    """One document of each kind of the scheduler. Jobs that are submitted from now on must name the queue."""
    with live.client() as client:
        client.scheduling_documents.apply(OF_SCHEDULER)


def add_reservation(live: Live, *, stored: bool = True) -> None:
    """What a reservation `evening` needs; and itself, with three windows that are booked."""
    add_scheduling(live)
    if stored:
        with live.client() as client:
            client.reservations.create(EVENING)
        book(live.world.engine, "evening", 3, datetime.now(UTC))


def add_cluster(live: Live) -> str:
    """A cluster `north-1` whose worker is there, with a node `gpu-7`, and a job `tuned` that runs on it.

    Returns the job's id.
    """
    world, now = live.world, datetime.now(UTC)
    with live.client() as client:
        client.clusters.create(cluster_document("north-1", image="perdure.test/train:1"))
        job = client.submit(document("tuned", cluster="north-1")).id
    node = NodeView(
        cluster="north-1", name="gpu-7", ready=True, schedulable=True, gpus=8, cpu_millis=64000, seen_at=now
    )
    with session(world.engine) as active:
        clusters.record_nodes(active, "north-1", [node], [])
        clusters.note_worker(active, "north-1", now)
    world.attempt(job)
    world.evidence(job, [("gpu-7", 0)])
    world.change(job, phase=Phase.RUNNING, reason="running")
    good = Finding(what="version", ok=True, detail="v1.34.4")
    report = ClusterReport(cluster="north-1", at=now, version="v1.34.4", findings=(good,), nodes=1, rbac="kind: Role\n")
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "digits-0f3a-1"}}
    change = ObjectChange(object="Job/digits-0f3a-1", path="spec.parallelism", made=2, found=1)
    world.clusters.answers |= {
        "check": Answer(report=report),
        "render": Answer(objects=(made,)),
        "compare": Answer(changes=(change,)),
    }
    return job
