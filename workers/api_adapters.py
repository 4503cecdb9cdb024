"""What the API needs of the world, made from the activities' parts: objects, snapshots, run folders, metrics."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import httpx

from activities.ports import ObjectStore, PortError
from activities.progress import read_progress
from activities.snapshots import store_upload
from api.ports import KeptSnapshot, Line, LogReader
from definitions.attempt import AttemptRef
from definitions.errors import PerdureError
from definitions.object_keys import snapshot_key
from definitions.progress import ProgressPoint
from definitions.snapshot import SnapshotLimits

METRICS_WITHIN = 2.0


class StoredBlobs:
    """The API's `BlobReader`."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def get(self, key: str) -> BinaryIO:
        with refusals():
            return self._objects.get(key)

    def delete(self, key: str) -> bool:
        with refusals():
            return self._objects.delete(key)


class StoredSnapshots:
    """The API's `SnapshotKeeper`."""

    def __init__(self, objects: ObjectStore, limits: SnapshotLimits) -> None:
        self._objects = objects
        self._limits = limits

    def keep(self, tenant: str, project: str, sha256: str, archive: BinaryIO) -> KeptSnapshot:
        with refusals():
            kept = store_upload(self._objects, tenant, project, sha256, archive, self._limits)
        return KeptSnapshot(bytes=kept.bytes, files=kept.files, object_key=snapshot_key(tenant, project, sha256))


class StoredLogs:
    """The API's `LogReader`: another one's lines, and its refusals as the API's."""

    def __init__(self, logs: LogReader) -> None:
        self._logs = logs

    def read(self, ref: AttemptRef, rank: int, **asked: Any) -> Sequence[Line]:
        with refusals():
            return self._logs.read(ref, rank, **asked)


class LocalRunFiles:
    """The API's `RunFiles`, where run folders are on the API's own machine."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs

    def progress(self, tenant: str, project: str, job: str) -> Sequence[ProgressPoint]:
        return read_progress(self._runs / tenant / project / job / "run")


class WorkerMetrics:
    """The worker's own numbers, as Prometheus text; nothing while it is away."""

    def __init__(self, address: str) -> None:
        self._url = f"http://{address}/metrics"

    async def __call__(self) -> str:
        try:
            async with httpx.AsyncClient(timeout=METRICS_WITHIN, trust_env=False) as client:
                response = await client.get(self._url)
        except httpx.HTTPError:
            return ""
        return response.text if response.status_code == httpx.codes.OK else ""


@contextmanager
def refusals() -> Iterator[None]:
    """A port's error as the API's, under the same code."""
    try:
        yield
    except PortError as error:
        raise PerdureError(error.code, str(error)) from error
