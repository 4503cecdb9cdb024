"""Where gangs wait in a queue: a rig whose nodes have 8 GPUs, and jobs that ask for whole nodes of it or parts."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from sqlalchemy import Engine, func, select

from bench.cluster_rig import CAPACITY, NAME, PLACE, Rig, rig
from bench.harness import client, say
from store.engine import open_engine, reading
from store.tables_jobs import EventRow, JobRow
from store.tables_scheduling import GangRow, OutboxRow
from tests.support.cluster import TestCluster
from tests.support.polling import eventually

QUEUE, LOW, HIGH = "research", "low", "high"
GPUS = 8  # of a node
WITH_GPUS = {**CAPACITY, "nvidia.com/gpu": str(GPUS)}
OF_A_POD = {"cpus": 1, "memory": "1Gi"}
SUBMITTERS = 8  # threads
WITHIN = 3600.0  # seconds that anything may take


@dataclass(frozen=True)
class Field:
    """A rig, its number of nodes, and its database, which is read without asking the control plane."""

    rig: Rig
    nodes: int
    engine: Engine

    def submit(self, names: Sequence[str], pods: int, gpus: int, **spec: Any) -> list[str]:
        """A job of `pods` with `gpus` each under every name, several at a time; their ids in that order."""
        asked = {
            "command": ["python", "train.py"],
            "workdir": {"mode": "none"},
            "cluster": NAME,
            "queue": QUEUE,
            "nodes": pods,
            "resources": {"gpus": gpus, **OF_A_POD},
            "placement": {"nodeSelector": {PLACE: self.rig.place}},
            "gracePeriod": "1s",
            **spec,
        }
        with client(self.rig.stack) as opened, ThreadPoolExecutor(SUBMITTERS) as hands:
            return list(hands.map(lambda name: _submit(opened, name, asked), names))

    def count(self, jobs: Sequence[str], *phases: str) -> int:
        mine, found = set(jobs), self.rig.phases()
        return sum(1 for job, phase in found.items() if job in mine and phase in phases)

    def until(self, jobs: Sequence[str], phase: str) -> None:
        """Wait until all are in that phase."""
        eventually(lambda: self.count(jobs, phase) == len(jobs), WITHIN, f"{len(jobs)} jobs are {phase}")

    def events(self, kind: str) -> dict[str, float]:
        """When each job had its first event of a kind, by the control plane's clock, seconds since the epoch."""
        with reading(self.engine) as session:
            query = select(EventRow.job, EventRow.at).where(EventRow.kind == kind).order_by(EventRow.seq.desc())
            return {job: at.timestamp() for job, at in session.execute(query)}

    def ended(self) -> dict[str, float]:
        with reading(self.engine) as session:
            query = select(JobRow.id, JobRow.ended_at).where(JobRow.ended_at.is_not(None))
            return {job: at.timestamp() for job, at in session.execute(query) if at is not None}

    def decisions_of(self, kind: str) -> dict[str, int]:
        """Job -> the decision that first had a message of that kind for it."""
        with reading(self.engine) as session:
            keys = session.scalars(select(OutboxRow.key).where(OutboxRow.key.startswith(f"{kind}/")))
            told = sorted((int(key.rpartition("/")[2]), key.split("/")[1]) for key in keys)
        return {job: decision for decision, job in reversed(told)}

    def holding(self) -> int:
        """How many gangs have places."""
        with reading(self.engine) as session:
            query = select(func.count()).select_from(GangRow).where(GangRow.pods.is_not(None))
            return session.scalar(query) or 0


@contextmanager
def field(nodes: int, seconds: float | None, there: TestCluster | None = None) -> Iterator[Field]:
    """So many nodes; pods run for `seconds`, or until they are told to end. `there`: a cluster that runs already."""
    with rig(nodes, seconds, WITH_GPUS, there) as made:
        with client(made.stack) as opened:
            key, body = {"Idempotency-Key": "documents"}, {"documents": _documents(nodes)}
            applied = opened.post("/scheduling-documents:apply", json=body, headers=key, timeout=60)
            applied.raise_for_status()
        engine = open_engine(f"sqlite:///{made.stack.home / 'control.db'}")
        try:
            yield Field(made, nodes, engine)
        finally:
            engine.dispose()
            say("ending the rig")


def _submit(opened: httpx.Client, name: str, spec: dict[str, Any]) -> str:
    document = {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    answer = opened.post("/jobs", json={"document": document}, headers={"Idempotency-Key": name}, timeout=120)
    answer.raise_for_status()
    identity: str = answer.json()["id"]
    return identity


def _documents(nodes: int) -> list[dict[str, Any]]:
    specs: list[tuple[str, str, dict[str, Any]]] = [
        ("Queue", QUEUE, {"quotas": {"gpus": {"limit": nodes * GPUS}}}),
        ("PriorityClass", LOW, {"value": 1}),
        ("PriorityClass", HIGH, {"value": 10}),
    ]
    return [
        {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        for kind, name, spec in specs
    ]
