"""What the ranks write to their logs, said again on the container's output: each line once, with time and rank.

    2026-11-29T20:00:00.123456000Z 3 loss 0.5

A rank's log is written whole lines at a time and never changed behind what was written, so a place in it is enough.
"""

from __future__ import annotations

import os
import threading
import time

from .beside import files, logfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .beside import spec
    from .reports import Reports

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5  # seconds between two looks while nothing is written
BLOCK = 256 * 1024
FRACTION = 26  # where a stamp's microseconds end


class Echo:
    """Writes in a thread of its own: whoever reads the output may be slow, and nothing else may wait for that."""

    def __init__(self, specs: list[spec.Spec], reports: Reports | None = None, output: int = 1) -> None:
        self._reports = reports
        self._logs = [Tail(one.log_folder, one.rank) for one in specs]
        self._own: list[bytes] = []
        self._output = output
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="echo", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, within: float) -> bool:
        """Write the rest, once the ranks have ended. False when that took too long."""
        self._ending.set()
        self._thread.join(within)
        return not self._thread.is_alive()

    def say(self, text: str) -> None:
        """Add a line of the agent's own. No rank has written it, so it stands under `-`."""
        self._own.append(_own_line(b" - ", text))

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while True:
            ending = self._ending.is_set()  # asked first: what is written before that is found afterwards
            own, self._own = self._own, []
            parts = [*own, *(log.read() for log in self._logs)]
            if self._reports is not None:
                parts.append(self._reports.read(ending=ending))
            if not all(self._write(part) for part in parts):
                return
            if any(parts):
                pause = FIRST_PAUSE
            elif ending:
                return
            else:
                self._ending.wait(pause)
                pause = min(pause * 1.5, LONGEST_PAUSE)

    def _write(self, data: bytes) -> bool:
        try:
            while data:
                data = data[os.write(self._output, data) :]
        except OSError:
            return False  # nobody reads any more
        return True


class Tail:
    """One rank's log: numbered files, of which the oldest may be dropped at any time."""

    def __init__(self, folder: str, rank: int) -> None:
        self._folder = folder
        self._rank = f" {rank} ".encode()
        self._number = 1
        self._descriptor = -1
        self._offset = 0

    def read(self) -> bytes:
        """The next whole lines, made ready for the output; empty when there are none now."""
        missing = b""
        if self._descriptor < 0 and not self._open():
            oldest = min((number for number in self._numbers() if number > self._number), default=None)
            if oldest is None:
                return b""
            self._number = oldest  # those before it were dropped unread
            missing = _own_line(self._rank, "lines are missing here: the output was not read in time")
            if not self._open():
                return missing
        data = self._block()
        if not data and self._is_followed():
            data = self._block()  # what was written before the next file was begun
            if not data:
                os.close(self._descriptor)
                self._descriptor, self._offset, self._number = -1, 0, self._number + 1
                return missing + self.read()
        return missing + b"".join(self._ready(line) for line in data.split(b"\n")[:-1])

    def _open(self) -> bool:
        try:
            self._descriptor = os.open(logfile.log_file(self._folder, self._number), os.O_RDONLY)
        except OSError:
            return False
        return True

    def _numbers(self) -> list[int]:
        try:
            return [int(name[:-4]) for name in os.listdir(self._folder) if name.endswith(".log")]
        except OSError:
            return []

    def _block(self) -> bytes:
        data = os.pread(self._descriptor, BLOCK, self._offset)
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole

    def _is_followed(self) -> bool:
        """Whether this file gets no more: the next one has been begun, or this one even been dropped."""
        file = logfile.log_file
        return os.path.exists(file(self._folder, self._number + 1)) or not os.path.exists(
            file(self._folder, self._number)
        )

    def _ready(self, line: bytes) -> bytes:
        return line[:FRACTION] + b"000Z" + self._rank + line[logfile.STAMP :] + b"\n"


def _own_line(who: bytes, text: str) -> bytes:
    stamp = files.rfc3339(time.time_ns()).encode()
    return stamp[:FRACTION] + b"000Z" + who + f"perdure: {text}\n".encode()
