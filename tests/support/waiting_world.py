"""A pool of made-up nodes with jobs of two tenants that wait and run, written as the journal and the scheduler do."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from definitions.documents import from_data
from definitions.job import Job
from definitions.job_document import document_of
from definitions.places import PlacedPod
from definitions.states import Phase
from policies.scheduling.asking import shape_of
from store import gangs, pools, scheduling_documents
from store.engine import reading, transaction
from store.gangs import Ask
from store.tables import GangRow, JobRow
from store.verdicts import Committed, Given, Told, Verdict, Waits

POOL = "local"
GPU = 1000
PATHS = {"research": ("research", "all"), "production": ("production", "all")}


def _kind(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


DOCUMENTS = (
    _kind("ResourceFlavor", "h100", gpuType="H100", alsoKnownAs=["NVIDIA-H100-80GB-HBM3"]),
    _kind("Queue", "all", quotas={"flavors": {"h100": {"limit": 32}}}),
    _kind("Queue", "research", parent="all", quotas={"flavors": {"h100": {"guarantee": 16, "limit": 24}}}),
    _kind("Queue", "production", parent="all", quotas={"flavors": {"h100": {"guarantee": 16}}}),
    _kind("NodePool", "lab", simulated={"count": 4, "cpus": 64, "memory": "512Gi", "gpus": 8, "flavor": "h100"}),
)


def add_documents(engine: Engine, now: datetime) -> None:
    """Three queues, a flavor, and four nodes of eight GPUs."""

    def work(session: Session) -> None:
        scheduling_documents.lock(session)
        for data in DOCUMENTS:
            document = document_of(from_data(data, served_only=False))
            scheduling_documents.put(session, data["kind"], data["metadata"]["name"], document, "ada", now)

    transaction(engine, work)


def shape(nodes: int, gpus: int, **resources: Any) -> str:
    spec = {"command": ["true"], "nodes": nodes, "resources": {"gpus": gpus, "gpuType": "H100", **resources}}
    return shape_of(Job.model_validate(_kind("Job", "any", **spec)).spec)


def wait(engine: Engine, job: str, asked: str, since: datetime, queue: str = "research", pool: str = POOL) -> None:
    """Let a job wait for places, as its journal does."""

    def work(session: Session) -> None:
        row = session.get_one(JobRow, job, with_for_update=True)
        row.phase, row.reason = Phase.QUEUED, f"waits in queue {queue}"
        ask = Ask(pool, queue, priority=50, priority_class=None, limit_seconds=3600, shape=asked)
        gangs.follow(session, row, Phase.QUEUED, row.attempt, ask, since)

    transaction(engine, work)


def gang(engine: Engine, job: str) -> GangRow:
    with reading(engine) as active:
        return active.get_one(GangRow, job)


def places(node: int, count: int, gpus: int = 8) -> tuple[PlacedPod, ...]:
    """`count` places on nodes of the pool from `node` on, the first `gpus` devices of each."""
    return tuple(
        PlacedPod(node=f"lab-{node + number:04}", devices=tuple(range(gpus)), simulated=True) for number in range(count)
    )


def given(engine: Engine, job: str, pods: tuple[PlacedPod, ...]) -> Given:
    row = gang(engine, job)
    gpus = sum(len(pod.devices) for pod in pods) * GPU
    amounts = {"gpu": gpus, "gpu/H100": gpus}
    return Given(job, row.version, row.attempt, pods, amounts, f"has its places on {len(pods)} simulated nodes")


def told(engine: Engine, job: str, beneficiary: str) -> Told:
    row = gang(engine, job)
    reason = f"job {beneficiary} gets its places: {beneficiary} has priority 90, above 50"
    return Told(job, row.version, row.attempt, beneficiary, reason)


def waits(engine: Engine, job: str, position: int, refusal: Mapping[str, Any], reason: str, **planned: Any) -> Waits:
    return Waits(job, gang(engine, job).version, position, refusal["cause"], dict(refusal), reason, **planned)


def decide(engine: Engine, verdict: Verdict, now: datetime, pool: str = POOL) -> Committed:
    """Commit a verdict as the scheduler does."""

    def work(session: Session) -> Committed:
        token = pools.take(session, pool)
        row = pools.get(session, pool)
        assert row is not None
        return pools.commit(session, pool, token, row.decision, verdict, now)

    return transaction(engine, work)


def furnish(engine: Engine, jobs: Mapping[str, str], now: datetime) -> None:
    """Four jobs by name: `runs` has two nodes, `tuned` waits for three, `theirs` for half a node, `late` is not seen.

    Decision 1 places `runs`; decision 2 says of `tuned` and `theirs` why they wait.
    """
    add_documents(engine, now)
    wait(engine, jobs["runs"], shape(2, 8), now - timedelta(hours=2))
    decide(engine, _first(engine, jobs["runs"]), now - timedelta(hours=1))
    wait(engine, jobs["tuned"], shape(3, 8), now - timedelta(minutes=30))
    wait(engine, jobs["theirs"], shape(1, 4), now - timedelta(minutes=20), queue="production")
    decide(engine, _second(engine, jobs, now), now - timedelta(minutes=10))
    wait(engine, jobs["late"], shape(1, 1), now - timedelta(minutes=5))


NO_ROOM = {"cause": "no-room", "resource": "gpu", "needed": 24 * GPU, "free": 16 * GPU, "bound": 32 * GPU}


def _first(engine: Engine, job: str) -> Verdict:
    start = given(engine, job, places(0, 2))
    pods = [pod.model_dump(mode="json") for pod in start.pods]
    placed = {"job": job, "queue": "research", "attempt": 1, "pods": pods, "amounts": dict(start.amounts)}
    document = {"placed": [placed], "counts": {"nodes": 4, "running": 1, "waiting": 0}}
    return Verdict(digest="d1", given=(start,), paths=PATHS, document=document)


def _second(engine: Engine, jobs: Mapping[str, str], now: datetime) -> Verdict:
    theirs = {"cause": "evicting", "behind": jobs["tuned"], "needed": 0, "free": 0}
    freed = f"its places are being freed: job {jobs['tuned']} saves and leaves them"
    lacks = "needs 24 GPUs, and 16 of 32 are free on nodes that it may be on"
    start = now + timedelta(hours=1)
    said = (
        waits(engine, jobs["tuned"], 1, NO_ROOM, lacks, start_at=start, end_at=start + timedelta(hours=1), firm=True),
        waits(engine, jobs["theirs"], 2, theirs, freed, start_at=start, firm=False),
    )
    refused = [
        {"job": each.job, "position": each.position, "cause": each.cause, "reason": each.reason} for each in said
    ]
    gone = {
        "victim": jobs["runs"],
        "beneficiary": jobs["theirs"],
        "reason": f"{jobs['theirs']} has priority 90, above 50",
        "lost": 60,
    }
    counts = {"nodes": 4, "running": 1, "waiting": 2, "promised": 2}
    causes = {"no-room": 1, "evicting": 1}
    document = {"told": [gone], "refused": refused, "counts": counts, "causes": causes}
    return Verdict(digest="d2", waits=said, paths=PATHS, document=document)
