"""The list of a snapshot's files, and the digest that names it. The server checks every byte against it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from perdure.codes import CHANGING_FILE, NOT_KEPT
from perdure.errors import SnapshotRefused
from perdure.snapshot.walk import Found

VERSION = 1
CHUNK = 1024 * 1024
TRIES = 3
PAUSE = 0.05  # seconds between two tries to read a file that changed meanwhile

Progress = Callable[[int], None]  # called with the bytes that were read since the last call


@dataclass(frozen=True)
class Entry:
    """A file (`mode`, `bytes`, `sha256`) or a symbolic link (`link`)."""

    path: str
    mode: int = 0
    bytes: int = 0
    sha256: str = ""
    link: str | None = None

    def as_json(self) -> dict[str, Any]:
        if self.link is not None:
            return {"path": self.path, "link": self.link}
        return {"path": self.path, "mode": self.mode, "bytes": self.bytes, "sha256": self.sha256}


def canonical(entries: Iterable[Entry]) -> bytes:
    """The bytes whose sha256 names the snapshot: entries sorted by path, keys sorted, ASCII, no white space."""
    body = {"version": VERSION, "entries": [entry.as_json() for entry in entries]}
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def describe(root: Path, found: Found, progress: Progress) -> Entry:
    """Read one file whole and describe it.

    Size and time of change are compared before and after: a file that is written meanwhile would come torn. It is read
    again a few times, then refused by name (SnapshotRefused).
    """
    if found.link is not None:
        return Entry(found.path, link=found.link)
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE)
        entry = _read_once(root, found.path, progress)
        if entry is not None:
            return entry
    detail = f"{found.path} changed each of the {TRIES} times it was read"
    raise SnapshotRefused(CHANGING_FILE, detail, where=str(root / found.path), paths=[found.path])


def chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def open_kept(root: Path, path: str) -> BinaryIO:
    """Open a file of the snapshot, never through a link that took its place meanwhile."""
    try:
        descriptor = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        detail = f"{path} was there and is gone"
        raise SnapshotRefused(CHANGING_FILE, detail, where=str(root / path), paths=[path]) from error
    except OSError as error:
        detail = f"{path} cannot be read: {error.strerror}"
        raise SnapshotRefused(NOT_KEPT, detail, where=str(root / path), paths=[path]) from error
    return os.fdopen(descriptor, "rb")


def _read_once(root: Path, path: str, progress: Progress) -> Entry | None:
    """Describe a file, or return None when it changed while it was read."""
    digest = hashlib.sha256()
    with open_kept(root, path) as file:
        before = os.fstat(file.fileno())
        read = 0
        for chunk in chunks(file):
            digest.update(chunk)
            read += len(chunk)
            progress(len(chunk))
            if read > before.st_size:
                return None  # it may grow faster than it can be read
        after = os.fstat(file.fileno())
    try:
        beside = os.lstat(root / path)
    except FileNotFoundError:
        return None
    if len({_state(status) for status in (before, after, beside)}) > 1 or read != after.st_size:
        return None
    return Entry(path, stat.S_IMODE(after.st_mode) & 0o777, read, digest.hexdigest())


def _state(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
