"""Reading what ranks wrote: from their folders while those are there, else from the object store, by the same cursors.

A cursor is `<file number>:<offset>` and continues after a line. It stays good when the log moves to the object store,
where the same files lie under the same names. File number 0 is none: there the offset is a line's time and how many
lines of that time have been read, for logs that were first read elsewhere than in these files.
"""

import contextlib
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from activities.adapters.local.layout import Layout, rank_folder
from activities.adapters.local.shim.logfile import LAST_LINES, STAMP, log_file
from activities.ports import LogLine, ObjectStore, PortError
from definitions.attempt import AttemptRef
from definitions.object_keys import log_prefix

BLOCK = 256 * 1024
LONGEST = 4 * 64 * 1024  # bytes of a line: its text may have grown when invalid bytes were replaced
SUFFIX = ".log"
TIMES = 0  # the file number of places that are times
COUNTS = 10**7  # more than there can be lines of one time
LAST = datetime(9999, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Place(NamedTuple):
    """Where to continue. With `file` TIMES: after `lines` lines of the time `stamp`."""

    file: int
    offset: int

    @property
    def stamp(self) -> bytes:
        at = EPOCH + timedelta(microseconds=self.offset // COUNTS)
        return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()

    @property
    def lines(self) -> int:
        return self.offset % COUNTS


class Line(NamedTuple):
    """One line with the place after it."""

    file: int
    end: int
    stamp: bytes
    text: bytes


class Files(Protocol):
    """The numbered files of one rank's log."""

    def numbers(self) -> list[int]: ...

    def size(self, number: int) -> int: ...

    def open(self, number: int) -> BinaryIO: ...


class LocalLogs:
    """Logs of attempts of this machine, running or long gone."""

    def __init__(self, home: Path, objects: ObjectStore) -> None:
        self._layout = Layout(home)
        self._objects = objects

    def read(
        self,
        ref: AttemptRef,
        rank: int,
        *,
        cursor: str | None = None,
        limit: int = 1000,
        tail: int | None = None,
        since: datetime | None = None,
    ) -> list[LogLine]:
        """Up to `limit` lines after `cursor`; without one, of the last `tail` or of all lines; those from `since` on.

        No log: no lines. Raises PortError(permanent) for a cursor that is none.
        """
        files = self._files(ref, rank)
        return read_files(files, ref, rank, cursor=cursor, limit=limit, tail=tail, since=since)

    def _files(self, ref: AttemptRef, rank: int) -> Files:
        folder = rank_folder(self._layout.attempt(ref), rank) / "log"
        if folder.is_dir():
            return FolderFiles(folder)
        return ObjectFiles(self._objects, log_prefix(ref.tenant, ref.project, ref.job, ref.number, rank))


class FolderFiles:
    """The log of a rank whose folder is there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def numbers(self) -> list[int]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(int(file.stem) for file in self._folder.iterdir() if file.suffix == SUFFIX)
        return []

    def size(self, number: int) -> int:
        return Path(log_file(str(self._folder), number)).stat().st_size

    def open(self, number: int) -> BinaryIO:
        return open(log_file(str(self._folder), number), "rb")


class ObjectFiles:
    """The log of a rank that was collected."""

    def __init__(self, objects: ObjectStore, prefix: str) -> None:
        self._objects = objects
        self._prefix = prefix

    def numbers(self) -> list[int]:
        keys = [info.key.removeprefix(self._prefix) for info in self._objects.list(self._prefix)]
        return sorted(int(key.removesuffix(SUFFIX)) for key in keys if key.endswith(SUFFIX))

    def size(self, number: int) -> int:
        info = self._objects.stat(self._key(number))
        return 0 if info is None else info.bytes

    def open(self, number: int) -> BinaryIO:
        return self._objects.get(self._key(number))

    def _key(self, number: int) -> str:
        return f"{self._prefix}{number:06d}{SUFFIX}"


def read_files(
    files: Files,
    ref: AttemptRef,
    rank: int,
    *,
    cursor: str | None,
    limit: int,
    tail: int | None = None,
    since: datetime | None = None,
) -> list[LogLine]:
    """As `LocalLogs.read` says, of these files."""
    if cursor is not None:
        lines = _after(files, parse_cursor(cursor))
    elif tail is not None:
        lines = iter(_last(files, tail))
    else:
        lines = _after(files, Place(1, 0))
    if since is not None:
        lines = itertools.dropwhile(lambda line: _moment(line) < since, lines)
    return [_log_line(ref, rank, line) for line in itertools.islice(lines, max(limit, 0))]


def last_lines(folder: Path) -> list[str]:
    """The last lines of a rank's log, without their times, as they stand in its folder."""
    return [line.text.decode(errors="replace")[:500] for line in _last(FolderFiles(folder), LAST_LINES)]


def parse_cursor(cursor: str) -> Place:
    number, separator, offset = cursor.partition(":")
    if not (separator and number.isdecimal() and offset.isdecimal() and len(cursor) < 40):
        raise PortError(f"{cursor[:80]!r} is not a place in a log", permanent=True, code="PD-3016")
    place = Place(int(number), int(offset))
    if place.file == TIMES and place.offset // COUNTS > (LAST - EPOCH) // timedelta(microseconds=1):
        raise PortError(f"{cursor[:80]!r} is not a place in a log", permanent=True, code="PD-3016")
    return place


def time_cursor(stamp: bytes, count: int) -> str:
    """The place after so many lines of one time."""
    at = (datetime.fromisoformat(stamp.decode()) - EPOCH) // timedelta(microseconds=1)
    return f"{TIMES}:{at * COUNTS + min(count, COUNTS - 1)}"


def _after(files: Files, place: Place) -> Iterator[Line]:
    """Whole lines from a place on. A file that was dropped meanwhile is passed over."""
    if place.file == TIMES:
        yield from _after_time(_after(files, Place(1, 0)), place)
        return
    for present in files.numbers():
        if present >= place.file:
            with contextlib.suppress(FileNotFoundError):
                yield from _lines(files, present, place.offset if present == place.file else 0)


def _after_time(lines: Iterator[Line], place: Place) -> Iterator[Line]:
    stamp, count = b"", 0
    for line in lines:
        count = count + 1 if line.stamp == stamp else 1
        stamp = line.stamp
        if (stamp, count) > (place.stamp, place.lines):
            yield line


def _lines(files: Files, number: int, offset: int) -> Iterator[Line]:
    with files.open(number) as file:
        _skip(file, offset)
        rest = b""
        while block := file.read(BLOCK):
            *whole, rest = (rest + block).split(b"\n")
            for line in whole:
                offset += len(line) + 1
                if len(line) >= STAMP:
                    yield Line(number, offset, line[: STAMP - 1], line[STAMP:])


def _last(files: Files, count: int) -> list[Line]:
    """The last lines: of each file, newest first, an end that grows until it holds enough."""
    found: list[Line] = []
    for number in reversed(files.numbers()):
        with contextlib.suppress(FileNotFoundError):
            size = files.size(number)
            span = BLOCK
            while True:
                start = max(0, size - span)
                lines = list(_lines(files, number, _line_start(files, number, start)))
                if start == 0 or len(lines) + len(found) >= count:
                    break
                span *= 4
            found = [*lines, *found]
        if len(found) >= count:
            break
    return found[len(found) - count :] if 0 < count < len(found) else found[: max(count, 0)]


def _line_start(files: Files, number: int, offset: int) -> int:
    """The first place from `offset` on at which a line begins."""
    if offset == 0:
        return 0
    with files.open(number) as file:
        _skip(file, offset - 1)
        position = offset - 1
        while block := file.read(BLOCK):
            at = block.find(b"\n")
            if at >= 0:
                return position + at + 1
            position += len(block)
        return position


def _skip(file: BinaryIO, count: int) -> None:
    if file.seekable():
        file.seek(count)
        return
    while count > 0 and (block := file.read(min(count, BLOCK))):
        count -= len(block)


def _moment(line: Line) -> datetime:
    return datetime.fromisoformat(line.stamp.decode())


def _log_line(ref: AttemptRef, rank: int, line: Line) -> LogLine:
    return LogLine(
        attempt=ref.number,
        rank=rank,
        at=_moment(line),
        text=line.text.decode(errors="replace"),
        cursor=f"{line.file}:{line.end}",
    )
