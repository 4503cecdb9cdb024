"""What watcher and supervisor both see: a page of numbers and the bytes read from the job but not yet in its log.

Anonymous memory, made before the fork: it needs no disk, vanishes with the pair, and outlives either of the two. So the
watcher can go on exactly where a killed supervisor stopped. Each number is stored by one aligned 8-byte write.
"""

from __future__ import annotations

import array
import fcntl
import mmap
import os
import termios

COMMAND = 0  # pid of the command; 0 before it is forked
PASSED = 1  # 1 once the command's process is past the gate; it sets this itself, as it does READY
FAILED_STAGE = 2  # why the process never became the command: CHDIR or EXEC, with FAILED_ERRNO
FAILED_ERRNO = 3
ENDED = 4  # 1 once the command's status is in STATUS
STATUS = 5  # exit code, or minus the signal
ENDED_AT = 6  # nanoseconds since the epoch
STARTED_AT = 7
STOPPED_BY = 8  # index into stopping.CAUSES; 0: nobody
STOPPED_AT = 9  # monotonic nanoseconds of the SIGTERM
GRACE = 10  # nanoseconds from there to the SIGKILL
RESTARTS = 11
MACHINE_OOM = 12  # the machine's count of OOM kills when the command started; -1 unknown
GROUP_OOM = 13  # the own group's count then
LEFTOVERS = 14
READY = 15  # 1 once the command's process stands at the gate, in its folder
JOINED = 16  # which control groups it is in: bit n for group n
ACTIVE = 17  # which of the two log slots is valid
NUMBERS = 18

CHDIR, EXEC = 1, 2

# A log slot: one consistent state of the log. The other slot is filled in first, then ACTIVE turns to it.
FILE, OFFSET, START, LENGTH, READING, DROPPED = range(6)
SLOT = 6
CHUNK = 64 * 1024


class Shared:
    """The numbers, by index, and the tail of the log."""

    def __init__(self, longest_line: int) -> None:
        """`longest_line`: bytes that may stay pending before the log takes some."""
        self._capacity = 2 * longest_line + 3 * CHUNK
        header = (NUMBERS + 2 * SLOT) * 8
        memory = memoryview(mmap.mmap(-1, header + self._capacity))
        self._numbers = memory[:header].cast("q")
        self._bytes = memory[header:]
        self._slot(0)[FILE] = 1

    def __getitem__(self, index: int) -> int:
        return self._numbers[index]

    def __setitem__(self, index: int, value: int) -> None:
        self._numbers[index] = value

    def forget_command(self) -> None:
        """Make ready for a restart in place."""
        for index in (PASSED, READY, COMMAND, FAILED_STAGE, FAILED_ERRNO, ENDED, STATUS, ENDED_AT):
            self[index] = 0

    def log(self, index: int) -> int:
        """A number of the log's present state."""
        return self._slot(self[ACTIVE])[index]

    def pending(self) -> bytes:
        start = self.log(START)
        return bytes(self._bytes[start : start + self.log(LENGTH)])

    def read(self, descriptor: int) -> int:
        """Take in what a pipe holds now, at most a chunk; returns how many bytes.

        The number is announced before the kernel copies that many at once into zeroed memory: whoever takes over sees
        by the first byte that is not zero whether it did. (A job that logs nothing but zeros may lose some.)
        """
        available = _readable(descriptor)
        if available == 0:
            return 0
        self._make_room()
        length = self.log(LENGTH)
        end = self.log(START) + length
        wanted = min(available, CHUNK)
        self._bytes[end : end + wanted] = bytes(wanted)
        self.turn(reading=wanted)
        count = os.readv(descriptor, [self._bytes[end : end + wanted]])
        self.turn(length=length + count, reading=0)
        return count

    def take_over(self) -> None:
        """Count what a killed supervisor had read and not counted."""
        reading = self.log(READING)
        end = self.log(START) + self.log(LENGTH)
        arrived = any(self._bytes[end : end + reading])
        self.turn(length=self.log(LENGTH) + (reading if arrived else 0), reading=0)

    def turn(
        self,
        *,
        taken: int = 0,
        length: int | None = None,
        reading: int | None = None,
        file: int | None = None,
        offset: int | None = None,
        dropped: int | None = None,
    ) -> None:
        """Go to a next state of the log in one step. `taken` bytes leave the front of what is pending."""
        now = self._slot(self[ACTIVE])
        following = self._slot(1 - self[ACTIVE])
        following[FILE] = now[FILE] if file is None else file
        following[OFFSET] = now[OFFSET] if offset is None else offset
        following[START] = now[START] + taken
        following[LENGTH] = (now[LENGTH] if length is None else length) - taken
        following[READING] = now[READING] if reading is None else reading
        following[DROPPED] = now[DROPPED] if dropped is None else dropped
        self[ACTIVE] = 1 - self[ACTIVE]

    def _slot(self, number: int) -> memoryview[int]:
        begin = NUMBERS + number * SLOT
        return self._numbers[begin : begin + SLOT]

    def _make_room(self) -> None:
        """Move what is pending to the front; the old place stays whole until the new one counts."""
        start, length = self.log(START), self.log(LENGTH)
        if start + length + CHUNK <= self._capacity:
            return
        self._bytes[:length] = self._bytes[start : start + length]
        following = self._slot(1 - self[ACTIVE])
        following[:] = self._slot(self[ACTIVE])
        following[START] = 0
        self[ACTIVE] = 1 - self[ACTIVE]


def _readable(descriptor: int) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, count)
    return count[0]
