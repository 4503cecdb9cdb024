"""Reading a job's progress file, of which only the newest part matters once it has grown, and keeping it."""

import io
import os
from pathlib import Path
from typing import BinaryIO, Protocol

from activities.digests import open_regular
from activities.ports import ObjectInfo, ObjectStore, PortError
from definitions.object_keys import progress_prefix
from definitions.progress import ProgressPoint
from definitions.protocol import PROGRESS_FILE
from policies.progress import parse_points

WHOLE = 16 * 1024**2
MISSING = "PD-3404"


class Store(Protocol):
    """What keeping needs of an object store."""

    def put(self, key: str, data: BinaryIO) -> ObjectInfo: ...


def read_progress(run_folder: Path, most: int = WHOLE) -> list[ProgressPoint]:
    """The points in the last `most` bytes of the progress file, oldest first; none without a readable file."""
    return parse_points(_end_of(run_folder, most))


def keep_progress(objects: Store, key: str, content: bytes) -> None:
    """Store lines of a progress file, the newest where there are too many; nothing where there are none.

    Safe to repeat: the key names what is kept. Raises PortError of the store.
    """
    if content:
        objects.put(key, io.BytesIO(content[-WHOLE:]))


def keep_run_progress(objects: Store, key: str, run_folder: Path) -> None:
    """The same of a run folder's file."""
    keep_progress(objects, key, _end_of(run_folder, WHOLE))


def kept_progress(objects: ObjectStore, tenant: str, project: str, job: str) -> list[ProgressPoint]:
    """What was kept of a job, oldest attempt first: of more than `WHOLE` bytes the newest. Raises PortError."""
    prefix = progress_prefix(tenant, project, job)
    keys: list[str] = []
    while some := objects.list(prefix, after=keys[-1] if keys else None):
        keys += [info.key for info in some]
    found: list[bytes] = []
    room = WHOLE
    for key in reversed(keys):
        content = _content(objects, key)
        found.append(content[-room:])
        room -= len(content)
        if room <= 0:
            break
    return [point for content in reversed(found) for point in parse_points(content)]


def _end_of(run_folder: Path, most: int) -> bytes:
    try:
        with open_regular(run_folder / PROGRESS_FILE) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - most, 0))
            return file.read(most)
    except OSError:
        return b""


def _content(objects: ObjectStore, key: str) -> bytes:
    try:
        with objects.get(key) as file:
            return file.read(WHOLE)
    except PortError as error:
        if error.code == MISSING:  # removed meanwhile
            return b""
        raise
