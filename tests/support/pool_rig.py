"""A pool on a real database with the real decision activity, a clock that is set by hand, and jobs that only have rows.

Jobs move as the journal moves them: their gang follows in the same transaction. What workflows would hear is kept.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from activities.adapters.pools import SqlPools
from activities.ports import PortError
from activities.scheduling import Decided, SchedulerActivities
from activities.scheduling_facts import Message
from definitions.cluster import NodeView
from definitions.documents import from_data
from definitions.ids import encode
from definitions.job import Job
from definitions.job_document import document_of
from definitions.states import Phase
from policies.scheduling.asking import limit_of, shape_of
from store import clusters, gangs, jobs, pools, queue_use, reserved, scheduling_documents
from store.engine import reading, transaction
from store.gangs import Ask
from store.jobs import NewJob
from store.tables_jobs import JobRow
from store.tables_scheduling import GangRow

START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
TENANT, PROJECT, POOL = "acme", "vision", "local"
GPU = 1000


def kind(name: str, called: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "perdure/v1", "kind": name, "metadata": {"name": called}, "spec": spec}


def simulated(count: int = 4, *, name: str = "lab", gpus: int = 8, **more: Any) -> dict[str, Any]:
    nodes = {"count": count, "cpus": 64, "memory": "512Gi", "gpus": gpus, "flavor": "h100"}
    return kind("NodePool", name, simulated=nodes, **more)


FLAVOR = kind("ResourceFlavor", "h100", gpuType="H100", alsoKnownAs=["NVIDIA-H100"])
USUAL = (FLAVOR, kind("Queue", "all"), kind("Queue", "research", parent="all"), simulated())


class Jobs:
    """Workflows of jobs as the scheduler reaches them: keeps what they are told. `away`: the engine does not answer."""

    def __init__(self) -> None:
        self.told: list[Message] = []
        self.away = False

    def tell(self, messages: Sequence[Message]) -> frozenset[str]:
        if self.away:
            raise PortError("the engine is away", code="PD-3000")
        self.told += messages
        return frozenset(message.key for message in messages)


class Rig:
    """One installation. `activities`: its scheduler; `another()` makes a second one beside it."""

    def __init__(self, engine: Engine, *documents: Mapping[str, Any]) -> None:
        self.engine, self.now, self.jobs, self.made = engine, START, Jobs(), 0
        self.activities = self.another()
        self.apply(*(documents or USUAL))

    def another(self, machine: NodeView | None = None) -> SchedulerActivities:
        here = None if machine is None else lambda: machine
        return SchedulerActivities(SqlPools(self.engine, here, lambda: self.now), self.jobs, lambda: self.now)

    def apply(self, *documents: Mapping[str, Any]) -> None:
        def work(session: Session) -> None:
            scheduling_documents.lock(session)
            for data in documents:
                document = document_of(from_data(data, served_only=False))
                scheduling_documents.put(session, data["kind"], data["metadata"]["name"], document, "ada", self.now)

        transaction(self.engine, work)

    def remove(self, kind: str, name: str) -> None:
        transaction(self.engine, lambda session: scheduling_documents.remove(session, kind, name))

    def nodes(self, cluster: str, *views: NodeView, gone: Sequence[str] = ()) -> None:
        transaction(self.engine, lambda session: clusters.record_nodes(session, cluster, views, gone))

    def decide(self, pool: str = POOL) -> Decided:
        return self.activities.decide(pool)

    def after(self, seconds: float, pool: str = POOL) -> Decided:
        self.now += timedelta(seconds=seconds)
        return self.decide(pool)

    def job(self, name: str, *, cluster: str = POOL, tenant: str = TENANT, **spec: Any) -> JobRow:
        """A job's row, of which nobody has asked anything yet."""
        self.made += 1
        data = kind("Job", name, command=["true"], **({} if cluster == POOL else {"cluster": cluster}), **spec)
        new = NewJob(
            id=encode(self.made), tenant=tenant, project=PROJECT, name=name, owner="ada", labels={}, type="training",
            spec=data, spec_sha256="0" * 64, submission={}, seed="5" * 32, created_at=self.now, cluster=cluster,
        )  # fmt: skip
        return transaction(self.engine, lambda session: jobs.insert(session, new))

    def wait(
        self,
        name: str,
        gpus: int = 8,
        *,
        queue: str = "research",
        priority: int = 0,
        of: str | None = None,
        within: str | None = None,
        **spec: Any,
    ) -> str:
        """A job that waits in a queue. `of`: its priority class; `within`: its reservation."""
        job = self.job(name, resources={"gpus": gpus, "cpus": 1, "gpuType": "H100"}, **spec)
        self.move(job.id, Phase.QUEUED, queue=queue, priority=priority, priority_class=of, reservation=within)
        return job.id

    def move(self, job: str, phase: Phase, **asked: Any) -> None:
        """The job comes to a phase, which its journal records. A new attempt begins in Starting."""

        def work(session: Session) -> None:
            row = session.get_one(JobRow, job, with_for_update=True)
            begins = phase is Phase.STARTING
            row.phase, row.attempt = phase, row.attempt + begins
            row.ended_at = self.now if phase.is_final else None
            known = session.get(GangRow, job)
            displaced = known is not None and known.state == "leaving"  # which costs no turn
            since = known.asked_at if known is not None and displaced else self.now
            if gangs.follow(session, row, phase, row.attempt, self._ask(session, row, asked), since, self.now):
                reserved.end_uses(session, job, self.now)

        transaction(self.engine, work)

    def runs(self, job: str) -> None:
        self.move(job, Phase.STARTING)
        self.move(job, Phase.RUNNING)

    def gang(self, job: str) -> GangRow | None:
        with reading(self.engine) as session:
            found = gangs.some(session, [job])
            return found[0] if found else None

    def seen(self, job: str) -> GangRow:
        found = self.gang(job)
        assert found is not None, f"{job} has no gang"
        return found

    def phase(self, job: str) -> Phase:
        with reading(self.engine) as session:
            return session.get_one(JobRow, job).phase

    def states(self) -> dict[str, str]:
        with reading(self.engine) as session:
            return {row.job: row.state for row in gangs.rows(session, POOL)}

    def used(self) -> dict[str, dict[str, int]]:
        with reading(self.engine) as session:
            return queue_use.used(session)

    def changes(self, pool: str = POOL) -> int:
        with reading(self.engine) as session:
            return len(pools.changes(session, pool))

    def told(self) -> list[str]:
        """`placed JOB`, `displaced JOB`, in order of delivery."""
        return [f"{message.fact.kind} {message.target.rpartition('/')[2]}" for message in self.jobs.told]

    def _ask(self, session: Session, row: JobRow, asked: Mapping[str, Any]) -> Ask:
        spec = Job.model_validate(row.spec).spec
        known = session.get(GangRow, row.id)
        kept = ("queue", "priority", "priority_class", "reservation")
        before = {name: getattr(known, name) for name in kept} if known else {}
        values: dict[str, Any] = {"queue": "research", "priority": 0, "priority_class": None, **before, **asked}
        return Ask(pool=row.cluster, limit_seconds=limit_of(spec), shape=shape_of(spec), **values)
