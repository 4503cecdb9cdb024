"""Starts the workflow of every accepted job. A job is accepted when its row is committed; this is the other half.

Rows whose start was acknowledged are never looked at again, so a job that the engine has forgotten (its retention is
over) is not started a second time. A start that happened and was not acknowledged is found by its workflow id.

A row that cannot be started keeps no other from starting. One that cannot be read is complained of once and passed over
until this process is a new one, which may be of a version that can read it. One that the engine refuses has failed,
unless the engine itself lacks what every job's start names.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from temporalio.client import Client
from temporalio.common import Priority as TaskPriority
from temporalio.common import (
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.clock import utc_now
from activities.effects import effect
from definitions.array_state import ArrayInput
from definitions.cluster import cluster_queue
from definitions.facts import Event
from definitions.ids import job_workflow_id
from definitions.job import Job
from definitions.job_state import JobInput
from definitions.search_attributes import CLUSTER, JOB_PHASE, PROJECT, TENANT
from definitions.states import Phase
from definitions.submission import JobSubmission
from policies.arrays import initial_array
from policies.job_plan import JobIds, initial_state
from policies.job_steps import SYSTEM
from store import system
from store.engine import reading, transaction
from store.tables_jobs import JobRow
from workers.pausing import rounds
from workflows.array import ArrayWorkflow
from workflows.job import JobWorkflow

BATCH = 64
AT_ONCE = 16
IDLE_PAUSE = 0.1
AWAY_PAUSE = 1.0
NO_MAPPING, UNDEFINED = "no mapping defined for search attribute", ("search attribute", "is not defined")  # its words
AWAY = (RPCError, RuntimeError, OSError, SQLAlchemyError)  # the engine, or the database
log = logging.getLogger(__name__)


class Starter:
    """One loop per control plane; two at once do no harm, since a workflow id exists once."""

    def __init__(
        self,
        engine: Engine,
        client: Client,
        *,
        task_queue: str,
        heartbeat: timedelta = timedelta(seconds=10),
        safety_poll: timedelta = timedelta(minutes=2),
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._client = client
        self._queue = task_queue
        self._timing = {"heartbeat": heartbeat, "safety_poll": safety_poll}
        self._now = now
        self._passed_over: set[str] = set()  # jobs that this process cannot start, whatever it tries

    async def run(self, stop: asyncio.Event) -> None:
        """Start what waits, oldest first, until `stop` is set."""
        await rounds(stop, IDLE_PAUSE, lambda: self._empty(stop), AWAY, _away, after_fault=AWAY_PAUSE)

    async def _empty(self, stop: asyncio.Event) -> None:
        """Batch after batch: one that is full leaves more behind it."""
        while await self.sweep() == BATCH and not stop.is_set():
            pass

    async def sweep(self) -> int:
        """Start one batch and acknowledge it; returns how many rows were waiting. Safe to repeat at any point.

        Raises what kept one from starting, after the others have been acknowledged.
        """
        rows = await asyncio.to_thread(self._waiting)
        if not rows:
            return 0
        slots = asyncio.Semaphore(AT_ONCE)
        outcomes = await asyncio.gather(*(self._start(row, slots) for row in rows), return_exceptions=True)
        done = [row.id for row, outcome in zip(rows, outcomes, strict=True) if outcome is True]
        with effect("acknowledge-start"):
            await asyncio.to_thread(self._acknowledge, done)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return len(rows)

    async def _start(self, row: JobRow, slots: asyncio.Semaphore) -> bool:
        async with slots:
            try:
                with effect("start-workflow"):
                    await self._start_workflow(row)
            except WorkflowAlreadyStartedError:
                return True
            except ValueError as error:  # pydantic's too
                self._pass_over(row, error)
                return False
            except RPCError as error:
                if error.status is not RPCStatusCode.INVALID_ARGUMENT or _knows_too_little(error):
                    raise
                await asyncio.to_thread(self._refuse, row, str(error))
                return False
        return True

    async def _start_workflow(self, row: JobRow) -> None:
        run, start = self._begins(row)
        await self._client.start_workflow(
            run,
            start,
            id=job_workflow_id(row.tenant, row.id),
            task_queue=self._queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            memo={"name": row.name, "owner": row.owner, "spec_sha256": row.spec_sha256},
            search_attributes=_attributes(row),
            static_summary=f"job {row.name}",
            static_details=f"submitted by {row.owner} in project {row.project} of tenant {row.tenant}",
            priority=TaskPriority(fairness_key=row.tenant[:64]),
        )

    def _begins(self, row: JobRow) -> tuple[Callable[..., Awaitable[Any]], JobInput | ArrayInput]:
        """The workflow of a job, or of an array, and what it starts from."""
        array = array_input(row, self._timing["safety_poll"])
        if array is not None:
            return ArrayWorkflow.run, array.model_copy(update={"heartbeat": self._timing["heartbeat"]})
        return JobWorkflow.run, job_input(row).model_copy(update=self._timing)

    def _pass_over(self, row: JobRow, error: ValueError) -> None:
        self._passed_over.add(row.id)
        log.error("a stored job cannot be read, so it is not started: %s", error, extra={"job": row.id})

    def _refuse(self, row: JobRow, why: str) -> None:
        log.error("the engine refuses a job: %s", why, extra={"job": row.id})
        now = self._now()
        reason = f"the workflow engine refuses it: {why}"
        data = {"phase": Phase.FAILED.value, "attempt": 0}
        event = Event(key="refused", at=now, actor=SYSTEM, kind="refused", reason=reason, data=data)
        transaction(self._engine, lambda session: system.refuse_start(session, row.id, now, event))

    def _waiting(self) -> Sequence[JobRow]:
        with reading(self._engine) as session:
            return system.unacknowledged_starts(session, BATCH, self._passed_over)

    def _acknowledge(self, jobs: Sequence[str]) -> None:
        now = self._now()
        transaction(self._engine, lambda session: system.acknowledge_starts(session, jobs, now))


def _knows_too_little(error: RPCError) -> bool:
    """Whether the engine lacks a search attribute of ours: its parts learn late of what a namespace was given, and an
    administrator may still have to give it. It says nothing against the job."""
    return NO_MAPPING in str(error) or (UNDEFINED[0] in str(error) and UNDEFINED[1] in str(error))


def _away(error: Exception) -> None:
    log.warning("the engine or the database is away, or not set up; accepted jobs wait: %s", error)


def job_input(row: JobRow) -> JobInput:
    """What the workflow of an accepted job starts from; the same row always gives the same."""
    job = Job.model_validate(row.spec)
    submission = JobSubmission.model_validate(row.submission)
    ids = JobIds(tenant=row.tenant, project=row.project, job=row.id, owner=row.owner, seed=row.seed)
    state = initial_state(job, ids, submission)
    return JobInput(state=state, queue=cluster_queue(row.cluster), suspended=job.spec.suspend)


def array_input(row: JobRow, poll: timedelta) -> ArrayInput | None:
    """What the workflow of an accepted array starts from; the same row always gives the same. None for another job."""
    if row.spec.get("spec", {}).get("array") is None:
        return None
    job = Job.model_validate(row.spec)
    submission = JobSubmission.model_validate(row.submission)
    ids = JobIds(tenant=row.tenant, project=row.project, job=row.id, owner=row.owner, seed=row.seed)
    return ArrayInput(state=initial_array(job, ids, submission, poll), suspended=job.spec.suspend)


def _attributes(row: JobRow) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [
            SearchAttributePair(TENANT, row.tenant),
            SearchAttributePair(PROJECT, row.project),
            SearchAttributePair(JOB_PHASE, Phase.PENDING.value),
            SearchAttributePair(CLUSTER, row.cluster),
        ]
    )
