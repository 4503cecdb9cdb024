"""The object store as a folder: the embedded default. Its layout is in README.md beside this file."""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from activities.object_keys import check_key
from activities.ports import ObjectInfo, PortError, UploadGrant

BLOB = "%blob"  # no key holds a %, so one key's file is never taken for another's, nor for a folder
DIGEST = "%sha256"
TEMPORARY = "%tmp"
CHUNK = 1024 * 1024
STALE = 24 * 3600  # seconds after which a temporary file is taken to be of a writer that died


class FolderObjects:
    """ObjectStore below `root`, on a local file system with hard links. Any number of processes may share the folder.

    A blob appears by link or rename of a file that is whole and on disk: readers see all of it or nothing, and what
    `put` has acknowledged outlives a power cut.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._temporary = root / TEMPORARY
        with _as_port_error(f"prepare {root}"):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._temporary.mkdir(mode=0o700, exist_ok=True)
            self._sweep()

    def put(self, key: str, data: BinaryIO, *, if_absent: bool = False) -> ObjectInfo:
        check_key(key)
        if if_absent and (known := self.stat(key)):
            return known
        with _as_port_error(f"write {key}"):
            temporary = self._temporary / secrets.token_hex(16)
            try:
                sha256 = _write(temporary, data)
                stat = temporary.stat()
                published = self._publish(temporary, self._blob(key), replace=not if_absent)
            finally:
                temporary.unlink(missing_ok=True)
            if not published:
                return self._describe(key)
            self._keep_digest(key, stat, sha256)
            return ObjectInfo(key=key, bytes=stat.st_size, sha256=sha256)

    def get(self, key: str) -> BinaryIO:
        check_key(key)
        with _as_port_error(f"read {key}"):
            try:
                return self._blob(key).open("rb")
            except (FileNotFoundError, NotADirectoryError):
                raise PortError(f"there is no object {key}", permanent=True, code="PD-3404") from None

    def stat(self, key: str) -> ObjectInfo | None:
        check_key(key)
        with _as_port_error(f"look at {key}"):
            try:
                return self._describe(key)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def list(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> list[ObjectInfo]:
        found: list[ObjectInfo] = []
        with _as_port_error(f"list {prefix}"):
            for key in self._keys("", prefix, after or ""):
                if len(found) >= limit:
                    break
                with contextlib.suppress(FileNotFoundError):  # deleted since it was listed
                    found.append(self._describe(key))
        return found

    def delete(self, key: str) -> bool:
        check_key(key)
        blob = self._blob(key)
        with _as_port_error(f"delete {key}"):
            try:
                blob.unlink()
            except (FileNotFoundError, NotADirectoryError):
                return False
            self._digest(key).unlink(missing_ok=True)
            _sync_folder(blob.parent)
            self._remove_empty(blob.parent)
            return True

    def grant_read(self, key: str, lasting: timedelta) -> str | None:
        return None  # a folder is read by whoever shares its disk

    def grant_write(self, prefix: str, lasting: timedelta) -> UploadGrant | None:
        return None

    def _blob(self, key: str) -> Path:
        return self._root / (key + BLOB)

    def _digest(self, key: str) -> Path:
        return self._root / (key + DIGEST)

    def _publish(self, temporary: Path, blob: Path, *, replace: bool) -> bool:
        """Give a finished file its name; False when the name is taken and is not to be replaced."""
        while True:
            try:
                _make_folders(blob.parent)
                temporary.replace(blob) if replace else blob.hardlink_to(temporary)
            except FileExistsError:
                return False
            except FileNotFoundError:
                if not temporary.exists():
                    raise
                continue  # a deletion took the empty folder away meanwhile
            _sync_folder(blob.parent)
            return True

    def _describe(self, key: str) -> ObjectInfo:
        """Size and digest. The digest kept beside a blob counts only for the very file that it was taken of."""
        with self._blob(key).open("rb") as blob:
            stat = os.fstat(blob.fileno())
            sha256 = _kept_digest(self._digest(key), stat)
            if sha256 is None:
                sha256 = hashlib.file_digest(blob, "sha256").hexdigest()
                self._keep_digest(key, stat, sha256)
        return ObjectInfo(key=key, bytes=stat.st_size, sha256=sha256)

    def _keep_digest(self, key: str, stat: os.stat_result, sha256: str) -> None:
        """Spare the next reader the hashing. Not needed for anything else, hence neither synced nor worth a failure."""
        temporary = self._temporary / secrets.token_hex(16)
        with contextlib.suppress(OSError):
            with open(temporary, "x", opener=_private) as file:
                json.dump({"file": _identity(stat), "sha256": sha256}, file)
            temporary.replace(self._digest(key))

    def _keys(self, base: str, prefix: str, after: str) -> Iterator[str]:
        """Keys below the folder `base` ("" or ending in '/') in key order, skipping folders that cannot hold one."""
        names = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self._root / base) as entries:
            names = [entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in entries]
        # A folder sorts as "name/": "a-b" comes before "a/b", as it does among whole keys.
        for name in sorted(name.removesuffix(BLOB) for name in names if name.endswith(("/", BLOB)) and name[0] != "%"):
            key = base + name
            if not name.endswith("/"):
                if key.startswith(prefix) and key > after:
                    yield key
            elif (key.startswith(prefix) or prefix.startswith(key)) and (key > after or after.startswith(key)):
                yield from self._keys(key, prefix, after)

    def _remove_empty(self, folder: Path) -> None:
        while folder != self._root:
            try:
                folder.rmdir()
            except OSError:
                return  # not empty, or somebody else removed it
            folder = folder.parent

    def _sweep(self) -> None:
        for temporary in self._temporary.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if time.time() - temporary.stat().st_mtime > STALE:
                    temporary.unlink()


def _write(path: Path, data: BinaryIO) -> str:
    """Copy a stream into a new private file, put it on disk, and return its sha256."""
    digest = hashlib.sha256()
    with open(path, "xb", opener=_private) as file:
        while chunk := data.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _make_folders(folder: Path) -> None:
    """Make a folder and its parents, each entry on disk before something is put into it."""
    if folder.is_dir():
        return
    _make_folders(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # removed by a deletion, after which nothing in it needs to be kept
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _identity(stat: os.stat_result) -> list[int]:
    return [stat.st_ino, stat.st_size, stat.st_mtime_ns]


def _kept_digest(path: Path, stat: os.stat_result) -> str | None:
    try:
        kept = json.loads(path.read_text())
        return str(kept["sha256"]) if kept["file"] == _identity(stat) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def _as_port_error(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = " (no space left)" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise PortError(f"cannot {doing}: {error.strerror or error}{full}", code="PD-3407") from error
