"""The engine's file is whole or not there, whenever the process that makes it is killed."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.local import _boot
from perdure.local.listeners import listens
from perdure.local.probes import namespace
from perdure.local.processes import pids_with_open
from tests.support.polling import eventually
from tests.support.ports import free_port

KILLS = 12


class Engine:
    """A home for the engine alone, and the process that serves it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.ui_port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **settings: str) -> "subprocess.Popen[bytes]":
        environment = os.environ | {
            "PERDURE_HOME": str(self.home),
            "PERDURE_TEMPORAL_PORT": str(self.port),
            "PERDURE_UI_PORT": str(self.ui_port),
        }
        command = [sys.executable, "-I", _boot.__file__, "--parent", str(os.getpid()), "workers.temporal_server"]
        with (self.home / "engine.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=environment | settings, stdout=log, stderr=log, umask=0o077, start_new_session=True
            )
        return self.process

    def wait_until_serving(self) -> None:
        process = self.process
        assert process is not None
        eventually(
            lambda: process.poll() is not None or (listens(process.pid, self.port) and namespace(self.ui_port)),
            60,
            "the engine serving",
        )
        assert process.poll() is None, (self.home / "engine.log").read_text()[-2000:]

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(30)

    def pragma(self, name: str) -> object:
        with sqlite3.connect(self.home / "temporal.db") as file:
            return file.execute(f"PRAGMA {name}").fetchone()[0]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def first_start(engine: Engine) -> float:
    """Seconds that the making of the file takes on this machine, as busy as it is now; nothing of it is left."""
    begun = time.monotonic()
    process = engine.start()
    eventually((engine.home / "temporal.db").exists, 60, "the whole file")
    took = time.monotonic() - begun
    process.kill()
    process.wait()
    for file in engine.home.glob("temporal.db*"):
        file.unlink()
    return took


def test_the_engine_serves_from_a_private_file_in_wal_mode_with_thirty_days_of_retention(engine: Engine) -> None:
    process = engine.start()
    engine.wait_until_serving()
    described = namespace(engine.ui_port)
    assert described is not None
    assert described["config"]["workflowExecutionRetentionTtl"] == f"{30 * 24 * 3600}s"
    assert engine.pragma("journal_mode") == "wal"
    assert {file.stat().st_mode & 0o777 for file in engine.home.glob("temporal.db*")} == {0o600}
    assert b"temporal" in Path(f"/proc/{process.pid}/exe").resolve().name.encode()
    assert engine.stop() == 0
    assert engine.pragma("quick_check") == "ok"


def test_an_engine_that_is_asked_to_stop_while_it_makes_its_file_leaves_cleanly(engine: Engine) -> None:
    unfinished = engine.home / "temporal.db.new"
    process = engine.start()
    eventually(unfinished.exists, 30, "the unfinished file")
    assert engine.stop() == 0
    assert process.returncode == 0
    eventually(lambda: not pids_with_open(str(unfinished)), 10, "the end of the engine that was filling it")


@pytest.mark.faults
def test_a_kill_at_any_moment_of_the_first_start_leaves_a_home_that_starts(engine: Engine) -> None:
    moments = random.Random(3)
    latest = first_start(engine)
    unfinished_seen = 0
    for _ in range(KILLS):
        process = engine.start()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(moments.uniform(0.2, latest))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        unfinished_seen += (engine.home / "temporal.db.new").exists()
        if (engine.home / "temporal.db").exists():
            assert engine.pragma("quick_check") == "ok"
            for file in engine.home.glob("temporal.db*"):
                file.unlink()  # the next round is a first start again
    assert unfinished_seen > 0
    engine.start()
    engine.wait_until_serving()
    assert not list(engine.home.glob("temporal.db.new*"))
    assert engine.stop() == 0
