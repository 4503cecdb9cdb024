"""Reading logs by cursor, from the end and from a time on: the same while they are live and once they are kept."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.adapters.local import LocalLogs
from activities.adapters.local.logs import BLOCK, last_lines, parse_cursor
from activities.adapters.objects_folder import FolderObjects
from activities.ports import PortError
from definitions.attempt import AttemptRef
from definitions.object_keys import log_prefix

REF = AttemptRef(tenant="t", project="p", job="j", number=3, token="c" * 32)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def stamped(number: int, text: str = "") -> bytes:
    at = (BEGIN + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return f"{at}Z {text or f'line {number}'}\n".encode()


def content(first: int, last: int) -> bytes:
    return b"".join(map(stamped, range(first, last)))


FILES = {4: content(0, 30), 5: content(30, 60), 6: content(60, 90) + b"2026-01-01T00:01:30.000000Z unfini"}


class Unseekable(io.BytesIO):
    """What an object store over a network returns."""

    def seekable(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = 0, /) -> int:
        raise io.UnsupportedOperation


class StreamingObjects(FolderObjects):
    def get(self, key: str) -> "Unseekable":
        with super().get(key) as blob:
            return Unseekable(blob.read())


@pytest.fixture(params=["live", "kept", "streamed"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> LocalLogs:
    kind = StreamingObjects if request.param == "streamed" else FolderObjects
    objects = kind(tmp_path / "objects")
    folder = tmp_path / "runs/t/p/j/attempts" / f"3-{REF.token}" / "rank-1/log"
    if request.param == "live":
        folder.mkdir(parents=True)
    for number, data in FILES.items():
        if request.param == "live":
            (folder / f"{number:06d}.log").write_bytes(data)
        else:
            objects.put(f"{log_prefix('t', 'p', 'j', 3, 1)}{number:06d}.log", io.BytesIO(data))
    return LocalLogs(tmp_path, objects)


def numbers(lines: list[object]) -> list[int]:
    return [int(str(getattr(line, "text")).removeprefix("line ")) for line in lines]  # noqa: B009


def test_pages_follow_each_other_over_files_and_an_unfinished_line_waits(logs: LocalLogs) -> None:
    found: list[object] = []
    cursor = None
    while page := logs.read(REF, 1, cursor=cursor, limit=7):
        found += page
        cursor = page[-1].cursor
    assert numbers(found) == list(range(90))


def test_a_line_has_its_time_and_its_place(logs: LocalLogs) -> None:
    line = logs.read(REF, 1, limit=1)[0]
    assert (line.attempt, line.rank, line.at, line.text) == (3, 1, BEGIN, "line 0")
    assert parse_cursor(line.cursor) == (4, len(stamped(0)))


@pytest.mark.parametrize(("tail", "first"), [(1, 89), (30, 60), (31, 59), (75, 15), (90, 0), (1000, 0)])
def test_the_last_lines_are_found_from_the_end(logs: LocalLogs, tail: int, first: int) -> None:
    assert numbers(list(logs.read(REF, 1, tail=tail))) == list(range(first, 90))


def test_no_last_lines_are_none(logs: LocalLogs) -> None:
    assert logs.read(REF, 1, tail=0) == []


@pytest.mark.parametrize(("second", "first"), [(0, 0), (44.5, 45), (60, 60), (89, 89)])
def test_lines_from_a_time_on(logs: LocalLogs, second: float, first: int) -> None:
    since = BEGIN + timedelta(seconds=second)
    assert numbers(list(logs.read(REF, 1, since=since))) == list(range(first, 90))


def test_a_time_limits_the_last_lines_too(logs: LocalLogs) -> None:
    since = BEGIN + timedelta(seconds=85)
    assert numbers(list(logs.read(REF, 1, tail=20, since=since, limit=3))) == [85, 86, 87]


def test_a_place_in_a_file_that_was_dropped_goes_on_with_the_oldest_there_is(logs: LocalLogs) -> None:
    assert numbers(list(logs.read(REF, 1, cursor="2:100", limit=2))) == [0, 1]


def test_a_place_after_the_last_line_has_nothing_yet(logs: LocalLogs) -> None:
    last = logs.read(REF, 1, tail=1)[0]
    assert logs.read(REF, 1, cursor=last.cursor) == []


def test_a_rank_without_log_has_no_lines(logs: LocalLogs) -> None:
    assert logs.read(REF, 0) == []
    assert logs.read(REF, 0, tail=5) == []


@pytest.mark.parametrize("cursor", ["", "1", "1:", ":1", "a:b", "-1:2", "1:2:3", "1:" + "9" * 50, "../1:2"])
def test_what_is_no_place_is_refused(cursor: str) -> None:
    with pytest.raises(PortError) as refused:
        parse_cursor(cursor)
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3016")


def test_last_lines_are_found_behind_lines_longer_than_one_look(tmp_path: Path) -> None:
    long = "x" * (BLOCK + 10)
    (tmp_path / "000001.log").write_bytes(stamped(1, "before") + stamped(2, long) + stamped(3, "after"))
    assert last_lines(tmp_path) == ["before", "x" * 500, "after"]
    assert last_lines(tmp_path / "nowhere") == []
