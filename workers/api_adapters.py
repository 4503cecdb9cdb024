"""What the API needs of the world, made from the activities' parts: objects, snapshots, run folders, metrics."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import httpx

from activities.adapters.local import LocalLogs
from activities.ports import ObjectStore, PortError
from activities.snapshots import store_upload
from api.ports import KeptSnapshot, RanksRead
from definitions.attempt import AttemptRef
from definitions.cluster_calls import RankPlace
from definitions.errors import PerdureError
from definitions.object_keys import snapshot_key
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
    """The API's `LogReader` of logs that are on this machine or in the object store."""

    def __init__(self, folder: Path, objects: ObjectStore) -> None:
        self._logs = LocalLogs(folder, objects)

    def read(
        self, ref: AttemptRef, places: Sequence[RankPlace], *, limit: int, since: datetime | None = None
    ) -> RanksRead:
        with refusals():
            return RanksRead(
                {
                    place.rank: self._logs.read(
                        ref, place.rank, cursor=place.cursor, limit=limit, tail=place.tail, since=since
                    )
                    for place in places
                }
            )


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
