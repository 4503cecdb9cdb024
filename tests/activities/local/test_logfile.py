"""The writer of a rank's log: whole lines, masked, in bounded files, and nothing lost when a supervisor is killed."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.local.shim.logfile import LINE_LIMIT, STAMP, LogWriter, log_file
from activities.adapters.local.shim.masking import Masker
from activities.adapters.local.shim.shared import CHUNK, Shared

STAMPED = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z ")


class Bench:
    """A pipe to write into as a job does, and a writer of its log."""

    def __init__(self, folder: Path, secrets: list[str] | None = None, size: int = 1 << 30, keep: int = 16) -> None:
        self.folder = folder
        self.read, self.write = os.pipe()
        self.masker = Masker(secrets or [])
        self.shared = Shared(LINE_LIMIT + self.masker.longest)
        self._limits = size, keep
        self.writer = self.successor()

    def successor(self) -> LogWriter:
        """The writer of a process that goes on with what is shared."""
        return LogWriter(str(self.folder), self.shared, self.masker, *self._limits)

    def say(self, data: bytes) -> None:
        """Write as a job does and have it read, in pieces that fit into the pipe."""
        for start in range(0, len(data), 32 * 1024):
            os.write(self.write, data[start : start + 32 * 1024])
            self.writer.pump(self.read)

    def lines(self) -> list[bytes]:
        found = []
        for file in sorted(self.folder.glob("*.log")):
            for line in file.read_bytes().split(b"\n")[:-1]:
                assert STAMPED.match(line), line
                found.append(line[STAMP:])
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    os.close(made.read)
    os.close(made.write)


def test_a_line_is_written_when_it_ends(bench: Bench) -> None:
    bench.say(b"one\ntw")
    assert bench.lines() == [b"one"]
    bench.say(b"o\n\n")
    assert bench.lines() == [b"one", b"two", b""]


def test_a_last_line_without_end_is_kept(bench: Bench) -> None:
    bench.say(b"one\nhalf")
    bench.writer.finish(bench.read)
    assert bench.lines() == [b"one", b"half"]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        (b"windows\r\n", b"windows"),
        (b"bar \r 10%\r 20%\n", b"bar \r 10%\r 20%"),
        (b"caf\xc3\xa9 \xff!\n", "café \ufffd!".encode()),
    ],
)
def test_odd_lines_stay_readable(bench: Bench, said: bytes, written: bytes) -> None:
    bench.say(said)
    assert bench.lines() == [written]


def test_a_line_that_does_not_end_is_split_between_characters(bench: Bench) -> None:
    text = "aé" * LINE_LIMIT
    bench.say(text.encode())
    assert len(bench.lines()) >= 2
    bench.writer.finish(bench.read)
    lines = bench.lines()
    assert "".join(line.decode() for line in lines) == text
    assert max(map(len, lines)) <= LINE_LIMIT


def test_files_stay_bounded_and_what_is_dropped_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, size=1000, keep=3)
    for n in range(100):
        bench.say(f"line {n} {'x' * 50}\n".encode())
    files = sorted(tmp_path.glob("*.log"))
    assert len(files) == 3
    assert all(file.stat().st_size < 1400 for file in files)
    lines = bench.lines()
    assert lines[-1].startswith(b"line 99 ")
    dropped = [line for line in lines if b"is dropped" in line]
    assert dropped[0].endswith(b".log is dropped: a rank keeps 3 files")


def test_a_full_disk_holds_nobody_up_and_the_gap_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    full = Path(log_file(str(tmp_path), 1))
    full.symlink_to("/dev/full")
    bench.say(b"one\ntwo\n")
    bench.say(b"three\n")
    full.unlink()
    bench.writer = bench.successor()
    bench.say(b"four\n")
    assert bench.lines() == [b"perdure: 3 lines are missing here: the disk was full", b"four"]
    assert bench.writer.last_lines[-1] == b"four"


def test_the_last_twenty_lines_are_at_hand(bench: Bench) -> None:
    bench.say(b"".join(b"%d\n" % n for n in range(30)))
    assert bench.writer.last_lines == [b"%d" % n for n in range(10, 30)]


@pytest.mark.parametrize("where", ["reading", "read", "placed", "counted"])
def test_whoever_takes_over_goes_on_exactly_where_a_killed_supervisor_stopped(bench: Bench, where: str) -> None:
    bench.say(b"one\nhal")
    os.write(bench.write, b"f\ntwo\nthr")
    if where == "reading":
        # The kernel had copied, and the count was not yet taken.
        start = bench.shared.pending()
        bench.shared.read(bench.read)
        bench.shared.turn(length=len(start), reading=len(b"f\ntwo\nthr"))
    elif where == "read":
        bench.shared.read(bench.read)
    elif where == "placed":
        bench.shared.read(bench.read)
        before = bench.shared.pending()
        bench.writer._place(1, bench.shared.log(1), b"0000-00-00T00:00:00.000000Z half\n")
        assert bench.shared.pending() == before
    else:
        bench.writer.pump(bench.read)
    bench.writer = bench.successor()
    bench.writer.take_over()
    bench.say(b"ee\n")
    assert bench.lines() == [b"one", b"half", b"two", b"three"]
    assert bench.writer.last_lines == [b"one", b"half", b"two", b"three"]


def test_what_was_announced_and_never_read_is_not_counted(bench: Bench) -> None:
    bench.say(b"one\nhal")
    bench.shared.turn(reading=5)
    bench.writer = bench.successor()
    bench.writer.take_over()
    bench.say(b"f\n")
    assert bench.lines() == [b"one", b"half"]


def test_much_more_than_the_shared_page_holds_goes_through(bench: Bench) -> None:
    for n in range(200):
        bench.say(b"%06d" % n + b"y" * 3000 + b"\n")
    bench.say(b"z" * (CHUNK + 17))
    bench.writer.finish(bench.read)
    assert [int(line[:6]) for line in bench.lines()[:200]] == list(range(200))
    assert b"".join(bench.lines()[200:]) == b"z" * (CHUNK + 17)


@given(
    secrets=st.lists(st.text("abcXY", min_size=4, max_size=9), min_size=1, max_size=3),
    parts=st.lists(st.text("abcXY \n", max_size=12), min_size=1, max_size=12),
    joins=st.data(),
)
def test_a_secret_is_masked_however_it_is_split_over_writes(
    tmp_path_factory: pytest.TempPathFactory, secrets: list[str], parts: list[str], joins: st.DataObject
) -> None:
    bench = Bench(tmp_path_factory.mktemp("log"), secrets)
    said = ""
    for part in parts:
        said += part + joins.draw(st.sampled_from(["", *secrets]))
    whole, position = said.encode(), 0
    while position < len(whole):
        step = joins.draw(st.integers(1, 7))
        bench.say(whole[position : position + step])
        position += step
    bench.writer.finish(bench.read)
    written = b"\n".join(bench.lines()).decode()
    assert [secret for secret in secrets if secret in written.replace("***", "\0")] == []
    kept = re.sub("|".join(map(re.escape, secrets)), "", said)
    assert len(written.replace("*", "")) <= len(kept)
    os.close(bench.read)
    os.close(bench.write)


@pytest.mark.parametrize("before", [LINE_LIMIT - 5, LINE_LIMIT - 1, LINE_LIMIT, 2 * LINE_LIMIT - 3, 0])
def test_a_secret_across_the_place_where_a_long_line_is_split_is_masked(tmp_path: Path, before: int) -> None:
    bench = Bench(tmp_path, ["sk-0123456789"])
    line = b"x" * before + b"sk-0123456789" + b"y" * LINE_LIMIT + b"sk-0123"
    for start in range(0, len(line), 1000):
        bench.say(line[start : start + 1000])
    bench.say(b"456789\n")
    written = b"".join(bench.lines())
    assert written == b"x" * before + b"***" + b"y" * LINE_LIMIT + b"***"


@pytest.mark.parametrize(
    ("secrets", "text", "masked"),
    [
        (["abcd", "cdef"], b"abcdef", b"***"),
        (["abcd"], b"abcdabcd!", b"***!"),
        (["abcabc"], b"abcabcabc", b"***"),
        (["long-secret", "long"], b"long-secret long", b"*** ***"),
        (["first\nsecond\r\nab"], b"first ab second", b"*** ab ***"),
        (["abc"], b"abc", b"abc"),
        ([""], b"abc", b"abc"),
    ],
)
def test_what_is_masked(secrets: list[str], text: bytes, masked: bytes) -> None:
    assert Masker(secrets).mask(text) == masked
