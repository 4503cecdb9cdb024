"""The log of one rank: stamped lines in numbered files of bounded size, secrets masked, never in the job's way.

A line is `<27 characters of UTC time> <text>\\n`. It is written at the place that the shared state names and counted
afterwards: a supervisor killed in between leaves bytes that its successor writes again at the same place.
"""

from __future__ import annotations

import contextlib
import os
import time

from .files import rfc3339
from .masking import Masker
from .shared import DROPPED, FILE, OFFSET, Shared

LINE_LIMIT = 64 * 1024  # bytes; longer lines are split
PUMP_LIMIT = 1024 * 1024  # bytes taken in at once, so that a flood does not keep the supervisor from its other duties
LAST_LINES = 20
STAMP = 28  # bytes before the text
CONTINUATION = 0x80  # of a UTF-8 character: top bits 10


class LogWriter:
    """Reads the job's pipe and writes its log. `size` and `keep` bound the space: the oldest file goes first."""

    def __init__(self, folder: str, shared: Shared, masker: Masker, size: int, keep: int) -> None:
        self._folder = folder
        self._shared = shared
        self._masker = masker
        self._size = size
        self._keep = keep
        self._open_number = 0
        self._descriptor = -1
        self.last_lines: list[bytes] = []

    def take_over(self) -> None:
        """Go on for a killed supervisor: what it had read and not written is written now."""
        self._shared.take_over()
        self.last_lines = read_last_lines(log_file(self._folder, self._shared.log(FILE)), self._shared.log(OFFSET))
        self._write_lines()

    def pump(self, descriptor: int, limit: int = PUMP_LIMIT) -> None:
        """Write down what the job has written, without waiting for more."""
        taken = 0
        while taken < limit and (count := self._shared.read(descriptor)):
            taken += count
            self._write_lines()

    def finish(self, descriptor: int) -> None:
        """Write the rest, also a last line that was not ended. Only once every writer is gone."""
        self.pump(descriptor, limit=1 << 62)
        rest = self._shared.pending()
        if rest:
            self._write(_split(self._masker.mask(rest)), taken=len(rest))

    def note(self, text: str) -> None:
        """Write a line of our own."""
        self._write([f"perdure: {text}".encode()], taken=0)

    def _write_lines(self) -> None:
        data = self._shared.pending()
        whole = data.rfind(b"\n") + 1
        if whole:
            masked = self._masker.mask(data[:whole]).replace(b"\r\n", b"\n")
            lines = [part for line in masked[:-1].split(b"\n") for part in _split(line)]
            self._write(lines, taken=whole)
            data = data[whole:]
        while len(data) > LINE_LIMIT + self._masker.longest:
            cut = self._cut(data)
            self._write(_split(self._masker.mask(data[:cut])), taken=cut)
            data = data[cut:]

    def _cut(self, data: bytes) -> int:
        """Where to split a line that has not ended: never inside a value that is to be masked, nor a character."""
        cut = LINE_LIMIT
        for start, end in self._masker.spans(data):
            if start < cut < end:
                return start or end
        while cut > LINE_LIMIT - 4 and data[cut] & 0xC0 == CONTINUATION:
            cut -= 1
        return cut

    def _write(self, lines: list[bytes], taken: int) -> None:
        stamp = rfc3339(time.time_ns()).encode() + b" "
        lines = [_clean(line) for line in lines]
        self.last_lines = (self.last_lines + lines)[-LAST_LINES:]
        number, offset, dropped = self._shared.log(FILE), self._shared.log(OFFSET), self._shared.log(DROPPED)
        ours = [f"perdure: {dropped} lines are missing here: the disk was full".encode()] if dropped else []
        if offset >= self._size:
            number, offset = number + 1, 0
            ours += self._drop(number - self._keep)
        block = b"".join([part for line in (*ours, *lines) for part in (stamp, line, b"\n")])
        written = self._place(number, offset, block)
        missing = 0 if written == len(block) else len(ours) + len(lines) - block.count(b"\n", 0, written)
        if written == 0:
            missing = dropped + len(lines)
        self._shared.turn(taken=taken, file=number, offset=offset + written, dropped=missing)

    def _drop(self, oldest: int) -> list[bytes]:
        """Remove a file that is one too many; returns the line that says so."""
        if oldest < 1:
            return []
        with contextlib.suppress(OSError):
            os.unlink(log_file(self._folder, oldest))
        return [f"perdure: {oldest:06d}.log is dropped: a rank keeps {self._keep} files".encode()]

    def _place(self, number: int, offset: int, block: bytes) -> int:
        """Write at a place of a file. Returns how much of it stands, in whole lines: less when the disk is full."""
        try:
            written = os.pwrite(self._file(number), block, offset)
        except OSError:
            return 0
        if written < len(block):
            written = block.rfind(b"\n", 0, written) + 1
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, offset + written)
        return written

    def _file(self, number: int) -> int:
        if number != self._open_number:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor, self._open_number = -1, 0
            self._descriptor = os.open(log_file(self._folder, number), os.O_WRONLY | os.O_CREAT, 0o600)
            self._open_number = number
        return self._descriptor


def log_file(folder: str, number: int) -> str:
    return f"{folder}/{number:06d}.log"


def read_last_lines(path: str, end: int | None = None) -> list[bytes]:
    """The last lines of a log file, without their stamps; `end`: where it counts as ended."""
    try:
        with open(path, "rb") as file:
            end = os.fstat(file.fileno()).st_size if end is None else end
            file.seek(max(0, end - LAST_LINES * 1024))
            data = file.read(end - file.tell())
    except OSError:
        return []
    return [line[STAMP:] for line in data.split(b"\n")[:-1] if len(line) >= STAMP][-LAST_LINES:]


def _split(line: bytes) -> list[bytes]:
    """Pieces of at most LINE_LIMIT bytes, cut between characters."""
    pieces = []
    while len(line) > LINE_LIMIT:
        cut = LINE_LIMIT
        while cut > LINE_LIMIT - 4 and line[cut] & 0xC0 == CONTINUATION:
            cut -= 1
        pieces.append(line[:cut])
        line = line[cut:]
    return [*pieces, line]


def _clean(line: bytes) -> bytes:
    """What is not UTF-8 becomes U+FFFD, so that every reader may decode."""
    return line if line.isascii() else line.decode("utf-8", "replace").encode()
