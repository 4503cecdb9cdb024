"""Servers are found and ended by whoever has their state folder, and nobody else's process ever is."""

import json
import signal
import sys
from pathlib import Path

import pytest

from deploy.testcluster.errors import ClusterError
from deploy.testcluster.processes import Servers
from tests.support.polling import eventually

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)",
]


def test_a_server_is_ended_by_another_who_has_the_folder(tmp_path: Path) -> None:
    server = Servers(tmp_path).start("sleeper", SLEEPER)
    assert server.alive()
    another = Servers(tmp_path)
    assert another.find("sleeper") == server
    another.stop("sleeper")
    assert not server.alive()
    assert another.all() == []
    another.stop("sleeper")


@pytest.mark.parametrize("before", [None, signal.SIGSTOP], ids=["that does not listen", "that stands still"])
def test_a_server_is_ended_even_one(tmp_path: Path, before: signal.Signals | None) -> None:
    servers = Servers(tmp_path)
    server = servers.start("deaf", DEAF)
    eventually(lambda: "deaf" in servers.last_words("deaf"))
    if before:
        server.signal(before)
    servers.stop("deaf", grace=0.2)
    assert not server.alive()


def test_a_process_that_has_the_pid_of_an_ended_server_is_left_alone(tmp_path: Path) -> None:
    servers = Servers(tmp_path)
    server = servers.start("innocent", SLEEPER)
    record = tmp_path / "processes" / "innocent.json"
    document = json.loads(record.read_text())
    record.write_text(json.dumps({**document, "started": document["started"] - 1}))
    servers.stop("innocent")
    assert server.alive()
    record.write_text(json.dumps(document))
    servers.stop("innocent")
    assert not server.alive()


def test_a_second_server_of_one_name_is_refused(tmp_path: Path) -> None:
    servers = Servers(tmp_path)
    servers.start("sleeper", SLEEPER)
    try:
        with pytest.raises(ClusterError, match="sleeper runs already as process"):
            servers.start("sleeper", SLEEPER)
    finally:
        servers.stop("sleeper")


def test_a_server_that_ended_is_reported_with_its_last_words(tmp_path: Path) -> None:
    servers = Servers(tmp_path)
    server = servers.start("short", [sys.executable, "-c", "import time; time.sleep(0.1); raise SystemExit('no port')"])
    eventually(lambda: not server.alive())
    with pytest.raises(ClusterError, match=r"short has ended; its last words:\nno port"):
        servers.must_live()
