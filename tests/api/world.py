"""Everything a test of the API needs: the application, its stand-ins, keys, and short ways to ask."""

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
from fastapi import FastAPI
from sqlalchemy import Engine, select

from api.app import create_app
from api.deps import ApiDeps
from api.settings import ApiSettings, Limits
from definitions.attempt import (
    ArtifactRecord,
    AttemptObservation,
    AttemptRef,
    CheckpointRecord,
    RankEvidence,
    RankState,
)
from definitions.facts import AttemptSummary, Event
from definitions.principal import Role
from definitions.states import FailureClass, Phase
from store import artifacts, attempts, checkpoints, events, tokens
from store.engine import reading, session
from store.sealing import Keys
from store.tables import JobRow, metadata
from tests.support.api_fakes import (
    Clock,
    FakeBlobs,
    FakeClusters,
    FakeDoctor,
    FakeLogs,
    FakeMetrics,
    FakeOperator,
    FakeReservations,
    FakeSessionStarter,
    FakeSnapshots,
)
from workers.payloads import StoredPayloads

SETTINGS = ApiSettings(version="0.1.0", operating_tenant="acme", limits=Limits(stream=timedelta(minutes=2)))
TOKEN = "a" * 32
Json = dict[str, Any]


@dataclass
class World:
    engine: Engine
    deps: ApiDeps
    app: FastAPI
    clock: Clock
    operator: FakeOperator
    clusters: FakeClusters
    blobs: FakeBlobs
    snapshots: FakeSnapshots
    logs: FakeLogs
    metrics: FakeMetrics
    reservations: FakeReservations
    keys: dict[str, str] = field(default_factory=dict)

    def key(self, tenant: str = "acme", role: Role = Role.ADMIN, projects: tuple[str, ...] = ()) -> str:
        """A key of that tenant and role, made once."""
        name = f"{tenant}-{role}-{'-'.join(projects)}"
        if name not in self.keys:
            with session(self.engine) as active:
                _, self.keys[name] = tokens.create(
                    active, tenant, f"{role}-of-{tenant}", role, self.clock.now(), projects=projects
                )
        return self.keys[name]

    async def ask(
        self, method: str, path: str, *, key: str | None = None, headers: dict[str, str] | None = None, **given: Any
    ) -> httpx.Response:
        """One request, as acme's admin unless another key is given; an empty key sends none."""
        chosen = self.key() if key is None else key
        sent = {"Authorization": f"Bearer {chosen}"} if chosen else {}
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client:
            return await client.request(method, path, headers=sent | (headers or {}), **given)

    async def get(self, path: str, **given: Any) -> Json:
        return await self.expect(200, "GET", path, **given)

    async def post(self, path: str, body: Json | None = None, status: int = 201, **given: Any) -> Json:
        return await self.expect(status, "POST", path, json=body, **given)

    async def expect(self, status: int, method: str, path: str, **given: Any) -> Json:
        response = await self.ask(method, path, **given)
        assert response.status_code == status, response.text
        answer: Json = response.json() if response.content else {}
        return answer

    async def submit(self, name: str = "digits", *, key: str | None = None, query: str = "", **spec: Any) -> Json:
        return await self.post(f"/v1/jobs{query}", {"document": document(name, **spec)}, key=key)

    def row(self, job: str) -> JobRow:
        with reading(self.engine) as active:
            return active.scalars(select(JobRow).where(JobRow.id == job)).one()

    def change(self, job: str, **values: Any) -> None:
        """Write a job's row as its journal would; each write is a new generation."""
        with session(self.engine) as active:
            row = active.scalars(select(JobRow).where(JobRow.id == job)).one()
            for name, value in values.items():
                setattr(row, name, value)
            row.generation += 1
            if row.phase.is_final:
                row.live_name = None

    def end(self, job: str, phase: Phase = Phase.SUCCEEDED, reason: str = "all 1 ranks ended with 0") -> None:
        self.change(job, phase=phase, reason=reason, ended_at=self.clock.now())

    def tell(self, job: str, number: int, reason: str, kind: str = "phase") -> None:
        row = self.row(job)
        event = Event(key=f"{number:06d}", at=self.clock.now(), actor="perdure", kind=kind, reason=reason)
        with session(self.engine) as active:
            events.append(active, row.tenant, row.project, job, [event])

    def attempt(self, job: str, number: int = 1, *, ended: bool = False, failure: FailureClass | None = None) -> None:
        summary = AttemptSummary(
            number=number,
            token=TOKEN,
            started_at=self.clock.now(),
            ended_at=self.clock.now() + timedelta(minutes=1) if ended else None,
            failure=failure,
            reason="rank 0 ended with 3 (user-error)" if failure else "",
            exit_code=3 if failure else None,
            first_rank=0 if failure else None,
            last_lines=("ValueError: bad shape",) if failure else (),
        )
        with session(self.engine) as active:
            row = active.scalars(select(JobRow).where(JobRow.id == job)).one()
            row.attempt = number
            attempts.record(active, row, summary, number * 10 + ended)

    def evidence(self, job: str, places: list[tuple[str, int]], waiting: dict[int, str] | None = None) -> None:
        """What was seen of the present attempt: which rank runs where, and why others wait."""
        row = self.row(job)
        ref = AttemptRef(tenant=row.tenant, project=row.project, job=job, number=row.attempt, token=TOKEN)
        ranks = [RankEvidence(rank=rank, node=node, state=RankState.RUNNING) for node, rank in places]
        for rank, why in (waiting or {}).items():
            ranks.append(RankEvidence(rank=rank, node="", state=RankState.WAITING, detail=why))
        with session(self.engine) as active:
            seen = AttemptObservation(ref=ref, at=self.clock.now(), ranks=tuple(ranks))
            attempts.record_evidence(active, active.get_one(JobRow, job), seen)

    def checkpoint(self, job: str, step: int, *, complete: bool = True) -> None:
        folder = f"checkpoints/step-{step:010d}.{TOKEN}"
        record = CheckpointRecord(
            step=step, token=TOKEN, attempt=1, folder=folder, complete=complete, bytes=10, files=1
        )
        with session(self.engine) as active:
            row = active.scalars(select(JobRow).where(JobRow.id == job)).one()
            checkpoints.record(active, row, [record], self.clock.now())

    def artifact(self, job: str, path: str, body: bytes) -> None:
        row = self.row(job)
        key = f"{row.tenant}/{row.project}/jobs/{job}/artifacts/1/{path}"
        self.blobs.stored[key] = body
        record = ArtifactRecord(path=path, bytes=len(body), sha256=hashlib.sha256(body).hexdigest(), object_key=key)
        with session(self.engine) as active:
            artifacts.record(active, active.merge(row, load=True), 1, [record], self.clock.now())

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table."""
        with self.engine.connect() as connection:
            return {
                table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
                for table in metadata.sorted_tables
            }


def make_world(engine: Engine) -> World:
    clock, operator, clusters, blobs = Clock(), FakeOperator(), FakeClusters(), FakeBlobs()
    snapshots, logs, metrics, reservations = FakeSnapshots(), FakeLogs(), FakeMetrics(), FakeReservations()
    deps = ApiDeps(
        engine=engine,
        operator=operator,
        reservations=reservations,
        clusters=clusters,
        blobs=blobs,
        snapshots=snapshots,
        logs=logs,
        metrics=metrics,
        keys=Keys([b"k" * 32]),
        settings=SETTINGS,
        now=clock.now,
        sleep=clock.sleep,
        worker_metrics=_worker_metrics,
        session_starter=FakeSessionStarter(),
        doctor=FakeDoctor(),
        payloads=StoredPayloads(Keys([b"p" * 32])),
    )
    return World(
        engine, deps, create_app(deps), clock, operator, clusters, blobs, snapshots, logs, metrics, reservations
    )


async def _worker_metrics() -> str:
    return "temporal_activity_execution_failed_total 3\n"


def document(name: str = "digits", *, project: str | None = None, **spec: Any) -> Json:
    """A small valid job."""
    metadata_ = {"name": name} if project is None else {"name": name, "project": project}
    body = {"command": ["python", "train.py"], "workdir": {"mode": "none"}, "timeout": "1h"}
    return {"apiVersion": "perdure/v1", "kind": "Job", "metadata": metadata_, "spec": body | spec}


def schedule_document(name: str = "nightly", **spec: Any) -> Json:
    body = {"cron": ["30 3 * * *"], "job": document("report")}
    return {"apiVersion": "perdure/v1", "kind": "Schedule", "metadata": {"name": name}, "spec": body | spec}


def cluster_document(name: str = "north", **spec: Any) -> Json:
    return {"apiVersion": "perdure/v1", "kind": "Cluster", "metadata": {"name": name}, "spec": spec}


def scheduling_document(kind: str, name: str, **spec: Any) -> Json:
    return {"apiVersion": "perdure/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def queue_document(name: str = "research", **spec: Any) -> Json:
    return scheduling_document("Queue", name, **spec)


def template_document(name: str = "finetune", default: int = 3) -> Json:
    job = document("tuned")
    job["spec"]["command"] = ["python", "train.py", "--epochs", "${{ epochs }}"]
    parameters = [{"name": "epochs", "type": "int", "default": default, "min": 1}]
    spec = {"description": "Fine-tune a small model.", "parameters": parameters, "job": job}
    return {"apiVersion": "perdure/v1", "kind": "Template", "metadata": {"name": name}, "spec": spec}
