"""Files through which supervisors, their peers and the adapter talk. Every write is whole or not there."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NANOSECONDS = 1_000_000_000


def write_json(path: str, value: dict[str, Any], *, durable: bool = False) -> None:
    """Replace a file. `durable`: it survives a power cut once this returns."""
    write(path, json.dumps(value).encode(), durable=durable)


def write(path: str, data: bytes, *, durable: bool = False) -> None:
    temporary = _temporary(path, data, durable=durable)
    try:
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    if durable:
        sync_folder(os.path.dirname(path))


def create_once(path: str, value: dict[str, Any], *, durable: bool = False) -> dict[str, Any]:
    """Make a file unless it is there, and return what stands in it: of many callers exactly one is the author."""
    temporary = _temporary(path, json.dumps(value).encode(), durable=durable)
    try:
        os.link(temporary, path)
        if durable:
            sync_folder(os.path.dirname(path))
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)
    return read_json(path) or {}


def read_json(path: str, *, strict: bool = False) -> dict[str, Any] | None:
    """None when there is no such file, or none that makes sense. `strict`: raises OSError for one that cannot be read.

    Whoever draws a conclusion from a file that is not there must be strict: out of descriptors is not gone.
    """
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError:
        if strict:
            raise
        return None
    return value if isinstance(value, dict) else None


def sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_tree(folder: str) -> None:
    """Remove a small private folder; what is gone already is no error. (shutil would cost every rank its import.)"""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            remove_tree(entry.path)
        else:
            _quietly(os.unlink, entry.path)
    _quietly(os.rmdir, folder)


def rfc3339(nanoseconds: int) -> str:
    """A moment since the epoch in UTC with microseconds: always 27 characters."""
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 1000:06d}Z"


def _temporary(path: str, data: bytes, *, durable: bool) -> str:
    """Write the bytes beside `path` under a name of this process alone."""
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if os.write(descriptor, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if durable:
            os.fsync(descriptor)
    except OSError:
        os.unlink(temporary)
        raise
    finally:
        os.close(descriptor)
    return temporary


def _quietly(remove: Any, path: str) -> None:
    with contextlib.suppress(OSError):
        remove(path)
