"""The digits example: it learns, it notices dead peers, and killed and resumed it ends with the same bits."""

import importlib
import json
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from activities.checkpoints import judge
from activities.progress import read_progress
from definitions import protocol
from definitions.attempt import CheckpointRecord
from definitions.documents import parse_job
from policies.checkpoints import resume_point
from tests.support.polling import eventually
from tests.support.ports import free_port

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
STEPS = 300
OPTIONS = ("--steps", str(STEPS), "--save-every", "50")
SLOWLY = ("--step-seconds", "0.02")  # so that there is a middle to be killed in


class Attempt:
    """The processes of one attempt, as the runtime would start them."""

    def __init__(
        self, run: Path, number: int, ranks: int, *options: str, start: CheckpointRecord | None = None
    ) -> None:
        self.port = free_port()
        self.ranks: list[subprocess.Popen[str]] = []
        self._command = [sys.executable, "train.py", *OPTIONS, *options]
        self._environment = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self.port),
            "PYTHONPATH": str(DIGITS.parents[1]),
            protocol.RUN_DIR: str(run),
            protocol.WORLD_SIZE: str(ranks),
            protocol.ATTEMPT: str(number),
            protocol.ATTEMPT_TOKEN: f"{number:032x}",
        }
        if start is not None:
            self._environment |= {protocol.RESUME_FROM: str(run / start.folder), protocol.RESUME_STEP: str(start.step)}

    def start_rank(self) -> None:
        """Start the next rank."""
        environment = self._environment | {protocol.RANK: str(len(self.ranks))}
        out = subprocess.PIPE
        process = subprocess.Popen(self._command, cwd=DIGITS, env=environment, stdout=out, stderr=out, text=True)
        self.ranks.append(process)

    def start(self) -> "Attempt":
        for _ in range(int(self._environment[protocol.WORLD_SIZE])):
            self.start_rank()
        return self

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.ranks:
            process.kill()
            process.communicate()

    def finish(self) -> list[tuple[int, str]]:
        """Exit code and output of every rank."""
        ends = [process.communicate(timeout=90) for process in self.ranks]
        return [(process.returncode, out + err) for process, (out, err) in zip(self.ranks, ends, strict=True)]


def trained(run: Path, number: int = 1, ranks: int = 2, start: CheckpointRecord | None = None) -> dict[str, Any]:
    """Run an attempt to its end and return the result that it left."""
    with Attempt(run, number, ranks, start=start).start() as attempt:
        assert [code for code, _ in attempt.finish()] == [0] * ranks
    result: dict[str, Any] = json.loads((run / "artifacts" / "result.json").read_text())
    return result


def reached(run: Path) -> int:
    return max((point.step for point in read_progress(run)), default=0)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return trained(tmp_path_factory.mktemp("undisturbed"))


def test_two_ranks_learn_to_read(undisturbed: dict[str, Any]) -> None:
    assert undisturbed["accuracy"] >= 0.95
    assert (undisturbed["steps"], undisturbed["ranks"], len(undisturbed["sha256"])) == (STEPS, 2, 64)


def test_killed_and_resumed_it_ends_with_the_bits_of_the_undisturbed_run(
    undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    with Attempt(tmp_path, 1, 2, *SLOWLY).start() as first:
        eventually(lambda: reached(tmp_path) > 120, deadline=60)
        first.ranks[1].send_signal(signal.SIGKILL)
        ends = first.finish()
    assert [code for code, _ in ends] == [1, -signal.SIGKILL]
    assert "rank 0 gives up after step" in ends[0][1]
    start = resume_point(judge(tmp_path))
    assert start is not None
    assert 0 < start.step < STEPS
    assert reached(tmp_path) - start.step <= 50
    assert trained(tmp_path, 2, start=start) == undisturbed


def test_a_checkpoint_that_is_asked_for_is_saved_by_all_and_resumed_from_to_the_same_bits(
    undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    with Attempt(tmp_path, 1, 2, *SLOWLY).start() as first:
        eventually(lambda: reached(tmp_path) > 20, deadline=60)
        (tmp_path / protocol.CONTROL_FILE).write_text(json.dumps({"id": "now", "checkpoint": True}))
        eventually(lambda: all((tmp_path / protocol.ack_file(rank)).exists() for rank in (0, 1)), deadline=60)
        first.ranks[0].send_signal(signal.SIGKILL)
        assert [code for code, _ in first.finish()] == [-signal.SIGKILL, 1]
    steps = {json.loads((tmp_path / protocol.ack_file(rank)).read_text())["step"] for rank in (0, 1)}
    [asked] = [record for record in judge(tmp_path) if record.step in steps]
    assert asked.complete
    assert trained(tmp_path, 2, start=asked) == undisturbed


def test_one_rank_needs_no_platform(tmp_path: Path) -> None:
    result = trained(tmp_path, ranks=1)
    assert result["accuracy"] >= 0.95
    assert all(record.complete for record in judge(tmp_path))


def test_a_straggler_of_an_earlier_attempt_is_kept_out(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    with Attempt(tmp_path, 1, 2) as attempt:
        attempt.start_rank()
        stranger = eventually(lambda: connected(attempt.port), deadline=60)
        stranger.sendall(f"{99:032x}".encode() + (1).to_bytes(4, "big"))
        attempt.start_rank()
        with stranger:
            assert stranger.recv(1) == b"", "it was hung up on"
            assert [code for code, _ in attempt.finish()] == [0, 0]
    assert json.loads((tmp_path / "artifacts" / "result.json").read_text()) == undisturbed


def connected(port: int) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=5)
    except ConnectionRefusedError:
        return None


def test_its_document_is_a_valid_job() -> None:
    job = parse_job((DIGITS / "job.yaml").read_text(), "job.yaml")
    assert (job.metadata.name, job.spec.command, job.spec.nodes) == ("digits", ("python", "train.py"), 2)


def test_the_first_rank_waits_for_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's name service fails now and then; the others wait for that name too."""
    monkeypatch.syspath_prepend(str(DIGITS))
    ranks = importlib.import_module("allreduce").Ranks
    name, port, look_up, fails = "rank-0.test", free_port(), socket.getaddrinfo, iter([True] * 4)

    def late(host: str, *rest: Any, **options: Any) -> Any:
        if host != name:
            return look_up(host, *rest, **options)
        if next(fails, False):
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return look_up("127.0.0.1", *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", late)
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda rank: ranks(rank, 2, (name, port), "token"), range(2)))
        sums = list(pool.map(lambda one: one.sum(np.ones(1)), both))
    assert next(fails, None) is None
    assert [list(total) for total in sums] == [[2.0], [2.0]]
    for one in both:
        one.close()
