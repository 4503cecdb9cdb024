"""What a job leaves in its `artifacts` folder, kept in the object store with size and digest."""

import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

from activities.digests import NotAFile, open_regular
from activities.object_keys import escape_segments, key_problem
from activities.ports import ObjectInfo
from definitions.attempt import ArtifactRecord
from definitions.protocol import ARTIFACT_FOLDER
from definitions.wire import Wire


class ArtifactLimits(Wire):
    """How much is kept of one attempt."""

    files: int = 10_000
    file_bytes: int = 5 * 1024**3
    bytes: int = 20 * 1024**3


class Store(Protocol):
    """What is needed of an object store here."""

    def put(self, key: str, data: BinaryIO) -> ObjectInfo: ...

    def stat(self, key: str) -> ObjectInfo | None: ...


class KeptArtifacts(NamedTuple):
    """`problems` has one sentence per thing that was left out; it is never a reason to fail the attempt."""

    records: tuple[ArtifactRecord, ...]
    problems: tuple[str, ...]


def keep(objects: Store, run_folder: Path, prefix: str, limits: ArtifactLimits | None = None) -> KeptArtifacts:
    """Store every regular file of the artifacts folder under `prefix/<its path, escaped>`. Links are not followed.

    Safe to repeat: what is stored already with the same bytes is not sent again. Raises PortError of the store.
    """
    limits = limits or ArtifactLimits()
    root = run_folder / ARTIFACT_FOLDER
    if root.is_symlink():
        return KeptArtifacts((), (f"{ARTIFACT_FOLDER} is a link, which is not followed",))
    records: list[ArtifactRecord] = []
    problems: list[str] = []
    room = limits.bytes
    for path in _paths(root):
        try:
            if len(records) >= limits.files:
                problems.append(f"{_printable(path)}: left out, {limits.files} files are kept at the most")
                break
            record = _keep_one(objects, root, path, prefix, limits.file_bytes, room)
            room -= record.bytes
            records.append(record)
        except _LeftOut as reason:
            problems.append(f"{_printable(path)}: left out, {reason}")
    return KeptArtifacts(tuple(records), tuple(problems))


class _LeftOut(Exception):
    """Why one file is not kept."""


class _Capped:
    """A file up to the size that it was judged by: one that still grows must not fill the store."""

    def __init__(self, file: io.BufferedReader, size: int) -> None:
        self._file = file
        self._size = size

    def read(self, size: int = -1) -> bytes:
        left = max(self._size - self._file.tell(), 0)
        return self._file.read(left if size < 0 else min(size, left))

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int) -> int:
        """From the beginning: stores read a file twice, for its digest and to send it."""
        return self._file.seek(offset)


def _paths(root: Path) -> Iterator[str]:
    """Everything below the folder that is not a folder, as relative paths in a fixed order."""
    for parent, folders, names in os.walk(root):
        folders.sort()
        linked = [name for name in folders if Path(parent, name).is_symlink()]
        for name in sorted([*names, *linked]):
            yield Path(parent, name).relative_to(root).as_posix()


def _keep_one(objects: Store, root: Path, path: str, prefix: str, most: int, room: int) -> ArtifactRecord:
    key = f"{prefix.rstrip('/')}/{escape_segments(path)}"
    if problem := key_problem(key):
        raise _LeftOut(f"its name {problem}")
    if _printable(path) != path:
        raise _LeftOut("its name is not UTF-8")
    if (root / path).is_symlink():
        raise _LeftOut("links are not followed")
    try:
        with open_regular(root / path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise _LeftOut(f"{size} bytes, and {most} are kept of a file at the most")
            if size > room:
                raise _LeftOut(f"{size} bytes, and only {room} are left of what is kept of an attempt")
            info = _store(objects, key, file, size)
    except NotAFile:
        raise _LeftOut("it is not a regular file") from None
    except OSError as error:
        raise _LeftOut(f"it cannot be read ({error.strerror or error})") from error
    return ArtifactRecord(path=path, bytes=info.bytes, sha256=info.sha256, object_key=key)


def _store(objects: Store, key: str, file: io.BufferedReader, size: int) -> ObjectInfo:
    known = objects.stat(key)
    if known and known.bytes == size and known.sha256 == hashlib.file_digest(file, "sha256").hexdigest():
        return known
    file.seek(0)
    return objects.put(key, cast(BinaryIO, _Capped(file, size)))


def _printable(path: str) -> str:
    """The path with what is not UTF-8 in it made visible, so that it can be recorded."""
    return path.encode(errors="backslashreplace").decode()
