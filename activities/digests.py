"""Reading and hashing files that somebody else made, and may be changing."""

import hashlib
import io
import os
import stat
import time
from pathlib import Path

MOST_KEPT = 10_000
SETTLED = 2.0  # seconds since the last change; within a clock tick of it, a later change might not show in the times


class NotAFile(OSError):
    """What is there is not a regular file."""


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading. Raises OSError, NotAFile for anything else; never waits for a named pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    raise NotAFile(f"{path} is not a regular file")


class DigestCache:
    """sha256 by path, trusted while size, times and inode are what they were. Any number of threads may share it."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int, int, int, int], str] = {}

    def digest(self, path: Path) -> str:
        """Hash a regular file, or say again what its hash was. Raises OSError as `open_regular` does."""
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            key = (str(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            if known := self._kept.get(key):
                return known
            started = time.time()
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            if started - status.st_ctime > SETTLED:
                self._keep(key, sha256)
            return sha256

    def _keep(self, key: tuple[str, int, int, int, int], sha256: str) -> None:
        while len(self._kept) >= MOST_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[key] = sha256
