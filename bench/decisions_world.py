"""What the decisions benchmark decides on: a cluster in a database, gangs that are asked for and ended as the journal
does it, and a recount of what they hold that shares no code with the scheduler."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from definitions.cluster import NodeView
from definitions.documents import from_data
from definitions.ids import encode
from definitions.job import Job
from definitions.job_document import document_of
from definitions.states import Phase
from policies.scheduling.asking import limit_of, shape_of
from store import clusters, gangs, jobs, queue_use, scheduling_documents
from store.engine import reading, transaction
from store.gangs import Ask
from store.jobs import NewJob
from store.tables_jobs import JobRow
from store.tables_scheduling import GangRow
from tests.support.database import migrated
from tests.support.postgres import fresh_database, running_postgres

CLUSTER, TENANT, PROJECT = "big", "acme", "vision"
GPUS, CPU_MILLIS, MEMORY = 8, 128_000, 1 << 40  # of a node
PODS = 2  # of a gang, each with all GPUs of a node
TEAMS = ("vision", "speech", "robots", "text")
LIMITED, PART = TEAMS[0], 0.2  # one team may have a fifth of all GPUs, less than it asks for
DATABASES = ("sqlite", "postgresql")


@contextmanager
def database(kind: str, folder: Path) -> Iterator[Engine]:
    """An installation's database, durable against a power cut where it is SQLite."""
    if kind == "sqlite":
        with migrated(f"sqlite:///{folder / 'decisions.db'}") as engine:
            yield engine
    else:
        with running_postgres() as server, fresh_database(server) as url, migrated(url) as engine:
            yield engine


class Installation:
    """`nodes` of 8 GPUs, four teams below one queue, and jobs that have rows but no workflow."""

    def __init__(self, engine: Engine, nodes: int, timeout: str | None = None) -> None:
        self.engine, self.asked = engine, 0
        self.limits = {LIMITED: int(nodes * GPUS * PART), "all": nodes * GPUS}
        self.spec = _job(timeout)
        self._limit, self._shape = limit_of(self.spec.spec), shape_of(self.spec.spec)
        transaction(engine, lambda session: self._furnish(session, nodes))

    def ask(self, count: int) -> list[str]:
        """So many jobs are accepted, and recorded as waiting."""
        numbers = range(self.asked, self.asked + count)
        self.asked += count

        def work(session: Session) -> None:
            for number in numbers:
                self._accept(session, number)

        transaction(self.engine, work)
        return [encode(number) for number in numbers]

    def end(self, ended: Sequence[str]) -> None:
        """Jobs are recorded as succeeded."""

        def work(session: Session) -> None:
            for job in ended:
                row = session.get_one(JobRow, job, with_for_update=True)
                row.phase, row.attempt, row.ended_at, row.live_name = Phase.SUCCEEDED, 1, datetime.now(UTC), None
                gangs.follow(session, row, row.phase, row.attempt, self._asks(row.labels["team"]), None)

        transaction(self.engine, work)

    def held(self) -> list[GangRow]:
        with reading(self.engine) as session:
            return [row for row in gangs.rows(session, CLUSTER) if row.pods is not None]

    def faults(self) -> list[str]:
        """What cannot be so in the rows as they are now."""
        with reading(self.engine) as session:
            counters = queue_use.used(session)
        return faults(self.held(), self.limits, counters)

    def _furnish(self, session: Session, nodes: int) -> None:
        scheduling_documents.lock(session)
        for name in ("all", *TEAMS):
            spec: dict[str, Any] = {} if name == "all" else {"parent": "all"}
            if name in self.limits:
                spec["quotas"] = {"gpus": {"limit": self.limits[name]}}
            data = {"apiVersion": "perdure/v1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
            document = document_of(from_data(data, served_only=False))
            scheduling_documents.put(session, "Queue", name, document, "bench", datetime.now(UTC))
        views = [
            NodeView(
                cluster=CLUSTER, name=f"n{number:05}", ready=True, schedulable=True, cpu_millis=CPU_MILLIS,
                memory=MEMORY, gpus=GPUS, gpu_type="H100", labels={}, seen_at=datetime.now(UTC),
            )
            for number in range(nodes)
        ]  # fmt: skip
        clusters.record_nodes(session, CLUSTER, views, ())

    def _accept(self, session: Session, number: int) -> None:
        now, team = datetime.now(UTC), TEAMS[number % len(TEAMS)]
        document = self.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
        new = NewJob(
            id=encode(number), tenant=TENANT, project=PROJECT, name=f"j{number}", owner="bench", labels={"team": team},
            type="training", spec=document, spec_sha256="0" * 64, submission={}, seed="5" * 32, nodes=PODS,
            created_at=now, cluster=CLUSTER,
        )  # fmt: skip
        row = jobs.insert(session, new)
        row.phase = Phase.QUEUED
        gangs.follow(session, row, row.phase, row.attempt, self._asks(team), now)

    def _asks(self, team: str) -> Ask:
        return Ask(CLUSTER, team, 0, None, self._limit, self._shape)


def faults(held: Sequence[GangRow], limits: dict[str, int], counters: dict[str, dict[str, int]]) -> list[str]:
    """Nodes that give more than they have, gangs that are not whole, and queues above their limit."""
    found: list[str] = []
    devices: Counter[tuple[str, int]] = Counter()
    room: Counter[tuple[str, str]] = Counter()
    used: Counter[str] = Counter()
    for row in held:
        role, pods = json.loads(row.shape)["roles"][0], row.pods or []
        if len(pods) != PODS or any(len(pod["devices"]) != GPUS for pod in pods):
            found.append(f"{row.job} has not all of its places")
        for pod in pods:
            devices.update((pod["node"], device) for device in pod["devices"])
            room.update({(pod["node"], "cpu"): role["cpu"], (pod["node"], "memory"): role["memory"]})
            used.update({row.queue: len(pod["devices"]), "all": len(pod["devices"])})
    most = {"cpu": CPU_MILLIS, "memory": MEMORY}
    found += [f"GPU {device} of {node} is given twice" for (node, device), times in devices.items() if times > 1]
    found += [f"{node} has no such GPU as {device}" for node, device in devices if not 0 <= device < GPUS]
    found += [f"{node} gives too much {what}" for (node, what), amount in room.items() if amount > most[what]]
    for queue, limit in limits.items():
        if used[queue] > limit:
            found.append(f"queue {queue} has {used[queue]} GPUs of {limit}")
    for queue, amount in used.items():
        if (counted := counters.get(queue, {}).get("gpu", 0)) != amount * UNIT:
            found.append(f"queue {queue} counts {counted / UNIT:g} GPUs and has {amount}")
    return found


UNIT = 1000  # a GPU, as queues count it


def _job(timeout: str | None) -> Job:
    spec: dict[str, Any] = {
        "command": ["true"], "cluster": CLUSTER, "nodes": PODS, "queue": LIMITED,
        "resources": {"gpus": GPUS, "cpus": 16, "memory": "128Gi"},
    }  # fmt: skip
    data = {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": "gang"}}
    job = from_data(data | {"spec": spec | ({"timeout": timeout} if timeout else {})}, served_only=False)
    assert isinstance(job, Job)
    return job
