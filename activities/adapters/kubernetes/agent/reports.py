"""What the ranks report of themselves, said on the container's output where the run folder goes with the pod.

    2026-11-29T20:00:00.123456000Z + {"step": 7, ...}<US>{"step": 8, ...}

Several lines of the progress file are one here, so that they take no room from what the ranks print.
"""

from __future__ import annotations

import os
import stat
import time

from .beside import files, masking
from .look import MARK, PROGRESS_FILE, SEPARATOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .beside import spec

EVERY = 5.0  # seconds between two lines while the ranks run
BLOCK = 64 * 1024  # bytes of one line, of which no report is longer
MOST = 16 * 1024**2  # bytes in all: the rest of the output must find its room


class Reports:
    """Follows a progress file, which the job may treat as it likes."""

    def __init__(self, run: str, specs: list[spec.Spec]) -> None:
        self._path = f"{run}/{PROGRESS_FILE}"
        self._masker = masking.Masker([value for one in specs for value in one.masked])
        self._offset = 0
        self._said = 0
        self._next = 0.0

    def read(self, *, ending: bool) -> bytes:
        """What is new, as one line; empty when there is nothing, or it is not time yet."""
        now = time.monotonic()
        if self._said >= MOST or (now < self._next and not ending):
            return b""
        data = self._block()
        if len(data) < BLOCK:
            self._next = now + EVERY
            data = data if ending else data[: data.rfind(b"\n") + 1]
        elif b"\n" in data:
            data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        self._said += len(data)
        lines = self._masker.mask(data).split(b"\n")
        said = SEPARATOR.join(line for line in lines if line.startswith(b"{"))
        if not said:
            return b""
        stamp = files.rfc3339(time.time_ns()).encode()
        return b"%s000Z %s %s\n" % (stamp[:-1], MARK, said)

    def _block(self) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            return b""
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return b""
            if status.st_size < self._offset:  # it was begun anew
                self._offset = 0
            return os.pread(descriptor, BLOCK, self._offset)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
