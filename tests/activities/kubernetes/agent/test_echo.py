"""Following a rank's log into the container's output, file by file."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.activities.kubernetes.agent.conftest import MakeGang
from tests.activities.kubernetes.agent.world import LONG, agent_files, launch_of, python
from tests.support.polling import eventually

STAMP = "2026-11-29T20:00:00.123456Z"
FOLLOW = """
import sys
sys.path.insert(0, sys.argv[1])
from agent.echo import Tail
tail = Tail(sys.argv[2], 3)
for _ in sys.stdin:
    sys.stdout.buffer.write(tail.read() + b'--\\n')
    sys.stdout.flush()
"""


@pytest.fixture
def read(tmp_path: Path) -> Iterator[Callable[[], list[str]]]:
    """Reads what is new in the log of `tmp_path / "log"`, as the agent's own interpreter does it."""
    command = [sys.executable, "-I", "-S", "-c", FOLLOW, str(agent_files(tmp_path / "agent")), str(tmp_path / "log")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    asks, answers = process.stdin, process.stdout

    def look() -> list[str]:
        asks.write(b"\n")
        asks.flush()
        return [line.decode().removesuffix("\n") for line in iter(answers.readline, b"--\n")]

    yield look
    asks.close()
    answers.close()
    process.wait(LONG)


def write(folder: Path, number: int, *texts: str) -> None:
    folder.mkdir(exist_ok=True)
    with folder.joinpath(f"{number:06d}.log").open("a") as file:
        file.writelines(f"{STAMP} {text}" for text in texts)


def test_lines_are_said_once_they_are_whole(tmp_path: Path, read: Callable[[], list[str]]) -> None:
    log = tmp_path / "log"
    assert read() == []
    write(log, 1, "one\n", "tw")
    assert read() == ["2026-11-29T20:00:00.123456000Z 3 one"]
    assert read() == []
    with log.joinpath("000001.log").open("a") as file:
        file.write("o\r still two\n")
    assert read() == ["2026-11-29T20:00:00.123456000Z 3 two\r still two"]


def test_one_file_is_read_to_its_end_before_the_next(tmp_path: Path, read: Callable[[], list[str]]) -> None:
    log = tmp_path / "log"
    write(log, 1, *(f"{number}\n" for number in range(20_000)))
    write(log, 2, "last\n")
    found = [line for _ in range(10) for line in read()]
    assert [line.split(" ")[2] for line in found] == [*map(str, range(20_000)), "last"]


def test_files_that_were_dropped_unread_leave_a_line_that_says_so(
    tmp_path: Path, read: Callable[[], list[str]]
) -> None:
    log = tmp_path / "log"
    write(log, 1, "one\n")
    assert len(read()) == 1
    write(log, 4, "four\n")
    log.joinpath("000001.log").unlink()
    gap, line = [line for _ in range(3) for line in read()]
    assert gap.endswith("Z 3 perdure: lines are missing here: the output was not read in time")
    assert line.endswith(" 3 four")


def test_output_that_nobody_reads_holds_up_neither_ranks_nor_the_end(gang: MakeGang) -> None:
    code = "for number in range(20_000): print('x' * 100)\nopen(f'{run}/done', 'w')"
    made = gang(launch_of(python(code)))
    made.prepare()
    pod = made.pods[0]
    reads, writes = os.pipe()
    try:
        argv = [f"{pod.places.bin}/python", "-I", "-S", f"{pod.places.bin}/agent/main.py"]
        with subprocess.Popen(argv, env={}, stdout=writes) as agent:
            eventually(pod.run_file("done").exists, LONG)
            assert agent.wait(LONG) == 0
        assert pod.receipts().ranks[0].exit_code == 0
    finally:
        os.close(reads)
        os.close(writes)
