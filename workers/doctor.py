"""Looks at a deployment as the API's process sees it. Every look is bounded, and repeats change nothing.

The looks read as a table; each answers with what it found, or raises PerdureError with what is wrong.
"""

import asyncio
import io
import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from activities.ports import ObjectStore, PortError
from definitions.api_system import Finding, FindingStatus
from definitions.cluster import LOCAL_CLUSTER, cluster_queue
from definitions.errors import PerdureError
from definitions.quantities import format_duration
from store import clusters
from store.engine import reading
from store.schema import check_engine
from workers.namespace import missing_attributes, read_retention
from workers.registry import CONTROL
from workers.settings import Settings

WITHIN = 15.0  # seconds for one look
FRESH = timedelta(minutes=2)  # who asked the engine for work within that time is there
PLACE = "perdure/doctor"  # tenant and project of the object that is put and removed again; no tenant's
SAMPLE = 5  # running workflows whose payloads are opened
Look = Callable[[], Awaitable[str]]


class DeploymentDoctor:
    """The API's `Doctor`."""

    def __init__(self, settings: Settings, engine: Engine, client: Client, objects: ObjectStore) -> None:
        self._settings = settings
        self._engine = engine
        self._client = client
        self._objects = objects

    async def examine(self) -> Sequence[Finding]:
        found = [await _one("database", self._database), await _one("object store", self._store)]
        reached = await _one("engine", self._reached)
        found.append(reached)
        for name, look in self._engine_looks():
            if reached.status is FindingStatus.OK:
                found.append(await _one(name, look))
            else:
                found.append(Finding(check=name, status=FindingStatus.UNKNOWN, detail="the engine is not reached"))
        for name in await self._clusters():
            found.append(await _one(f"cluster {name}", self._worker_of(name)))
        return found

    def _engine_looks(self) -> Sequence[tuple[str, Look]]:
        queues = [(CONTROL, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW), (CONTROL, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)]
        if self._settings.default_cluster == LOCAL_CLUSTER:
            queues.append((cluster_queue(LOCAL_CLUSTER), TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY))
        return (
            ("namespace", self._namespace),
            ("search attributes", self._attributes),
            ("payloads", self._payloads),
            *((f"queue {name}, {_word(kind)}", self._queue(name, kind)) for name, kind in queues),
        )

    async def _database(self) -> str:
        try:
            revision = await asyncio.to_thread(check_engine, self._engine)
        except PerdureError as error:
            raise PerdureError("PD-4110", error.detail) from error
        except SQLAlchemyError as error:
            raise PerdureError("PD-4110", f"the database cannot be read: {type(error).__name__}") from error
        return f"{self._engine.dialect.name}, schema {revision}"

    async def _store(self) -> str:
        try:
            await asyncio.to_thread(self._round_trip)
        except PortError as error:
            raise PerdureError("PD-4115", f"{error} [{error.code}]") from error
        return f"{self._settings.object_store or self._settings.objects}: put, kept, read, listed and deleted"

    def _round_trip(self) -> None:
        key = f"{PLACE}/{secrets.token_hex(8)}"
        try:
            first = self._objects.put(key, io.BytesIO(b"first"), if_absent=True)
            again = self._objects.put(key, io.BytesIO(b"second"), if_absent=True)
            with self._objects.get(key) as blob:
                content = blob.read()
            if again != first or content != b"first":
                raise PerdureError("PD-4115", "a write that must not replace an object replaced it")
            if [info.key for info in self._objects.list(key)] != [key]:
                raise PerdureError("PD-4115", "an object that was stored is not listed")
        finally:
            self._objects.delete(key)

    async def _reached(self) -> str:
        try:
            serving = await self._client.service_client.check_health(timeout=timedelta(seconds=WITHIN))
        except (RPCError, RuntimeError) as error:
            raise PerdureError("PD-4111", f"{self._settings.engine_address}: {str(error)[:300]}") from error
        if not serving:
            raise PerdureError("PD-4111", f"{self._settings.engine_address} answers that it does not serve")
        return self._settings.engine_address

    async def _namespace(self) -> str:
        name, wanted = self._client.namespace, self._settings.retention
        try:
            kept = await read_retention(self._client)
        except RPCError as error:
            raise PerdureError("PD-4112", f"namespace {name}: {error.message}") from error
        if kept != wanted:
            told = f"{format_duration(kept)}, PERDURE_RETENTION says {format_duration(wanted)}"
            raise PerdureError("PD-4112", f"namespace {name} keeps ended workflows for {told}")
        return f"{name}, keeps ended workflows for {format_duration(kept)}"

    async def _attributes(self) -> str:
        missing = await missing_attributes(self._client)
        if missing:
            raise PerdureError("PD-4113", f"missing in {self._client.namespace}: {', '.join(sorted(missing))}")
        return "all there"

    async def _payloads(self) -> str:
        """What running workflows hold can be opened with the keys that are loaded here."""
        opened = 0
        async for entry in self._client.list_workflows('ExecutionStatus = "Running"', limit=SAMPLE):
            await entry.memo()
            opened += 1
        sealed = "sealed" if self._settings.payload_keys_file else "not sealed"
        return f"new ones are {sealed}; those of {opened} running workflows can be read"

    def _queue(self, name: str, kind: "TaskQueueType.ValueType") -> Look:
        async def look() -> str:
            request = DescribeTaskQueueRequest(
                namespace=self._client.namespace, task_queue=TaskQueue(name=name), task_queue_type=kind
            )
            pollers = (await self._client.workflow_service.describe_task_queue(request)).pollers
            since = datetime.now(UTC) - FRESH
            here = {each.identity for each in pollers if each.last_access_time.ToDatetime(UTC) > since}
            if not here:
                raise PerdureError(
                    "PD-4114", f"nobody has asked for {_word(kind)} of {name} for {format_duration(FRESH)}"
                )
            return f"{len(here)} worker{'s' if len(here) > 1 else ''}"

        return look

    async def _clusters(self) -> list[str]:
        def read() -> list[str]:
            with reading(self._engine) as session:
                return clusters.names(session)

        try:
            return await asyncio.to_thread(read)
        except SQLAlchemyError:
            return []  # told by the look at the database

    def _worker_of(self, name: str) -> Look:
        def read() -> datetime | None:
            with reading(self._engine) as session:
                row = clusters.get(session, name)
                return row.worker_seen_at if row else None

        async def look() -> str:
            seen = await asyncio.to_thread(read)
            if seen is None:
                raise PerdureError("PD-4116", f"the worker of cluster {name} was never heard of")
            silent = datetime.now(UTC) - seen
            if silent > FRESH:
                raise PerdureError("PD-4116", f"not heard of since {seen.isoformat(timespec='seconds')}")
            return f"heard of at {seen.isoformat(timespec='seconds')}"

        return look


async def _one(name: str, look: Look) -> Finding:
    try:
        async with asyncio.timeout(WITHIN):
            return Finding(check=name, status=FindingStatus.OK, detail=await look())
    except PerdureError as error:
        code = error.code.code
        return Finding(check=name, status=FindingStatus.FAILED, detail=error.detail, code=code, remedy=error.remedy)
    except TimeoutError:
        return Finding(check=name, status=FindingStatus.UNKNOWN, detail=f"no answer within {WITHIN:.0f} seconds")
    except (RPCError, RuntimeError) as error:
        return Finding(check=name, status=FindingStatus.UNKNOWN, detail=str(error)[:300])


def _word(kind: "TaskQueueType.ValueType") -> str:
    return "workflows" if kind == TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW else "activities"
