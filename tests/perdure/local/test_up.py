"""The real stack: started, looked at, and refused a second time. Kills are in test_up_faults.py."""

import json
import socket
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from perdure.local.lock import holders
from perdure.local.probes import namespace
from tests.support.ports import free_port
from tests.support.processes import Seen, seen
from tests.support.stack import Stack, running_stack

PARTS = {"supervisor", "temporal", "worker", "api"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("up") / "home") as running:
        yield running


def parts(stack: Stack) -> dict[str, Seen]:
    return {entry["name"]: seen(entry["pid"]) for entry in stack.status()["processes"]}


def test_status_lists_the_control_planes_processes_all_ready(stack: Stack) -> None:
    status = stack.status()
    assert set(status) >= {"home", "running", "api", "ui", "processes"}
    assert (status["home"], status["running"], status["phase"]) == (str(stack.home), True, "ready")
    assert {entry["name"]: entry["state"] for entry in status["processes"]} == dict.fromkeys(PARTS, "ready")
    for entry in status["processes"]:
        assert set(entry) == {"name", "pid", "state", "restarts", "since"}
        assert entry["restarts"] == 0
        assert seen(entry["pid"]).alive()


def test_status_for_people_names_the_addresses_and_the_processes(stack: Stack) -> None:
    told = stack.run("status").stdout
    assert f"http://127.0.0.1:{stack.ports['API']}" in told
    assert f"http://127.0.0.1:{stack.ports['UI']}" in told
    assert all(name in told for name in PARTS)


def test_the_api_and_the_web_ui_answer_where_the_endpoint_file_says(stack: Stack) -> None:
    endpoint = json.loads((stack.home / "endpoint.json").read_text())
    assert endpoint == {"api": stack.status()["api"], "ui": stack.status()["ui"]}
    health = stack.ask("GET", "/health").json()
    assert (health["status"], health["pid"]) == ("ok", parts(stack)["api"].pid)
    assert stack.ask("GET", "/jobs").status_code == 200


def test_every_file_and_folder_is_the_owners_alone(stack: Stack) -> None:
    paths = [stack.home, *stack.home.rglob("*")]
    open_to_others = [path for path in paths if stat.S_IMODE(path.lstat().st_mode) & 0o077 and not path.is_symlink()]
    assert open_to_others == []
    names = {path.name for path in stack.home.iterdir()}
    assert names >= {"admin.token", "control.db", "endpoint.json", "lock", "logs", "secrets.key", "temporal.db"}


def test_all_listeners_are_on_the_loopback_interface(stack: Stack) -> None:
    listening = [
        connection.laddr
        for part in parts(stack).values()
        for connection in psutil.Process(part.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert {address.port for address in listening} >= set(stack.ports.values())


@pytest.mark.parametrize("file", ["temporal.db", "control.db"])
def test_databases_are_in_write_ahead_mode(stack: Stack, file: str) -> None:
    with sqlite3.connect(f"file:{stack.home / file}?mode=ro", uri=True) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_engine_keeps_ended_workflows_for_thirty_days(stack: Stack) -> None:
    described = namespace(stack.ports["UI"])
    assert described is not None
    assert described["config"]["workflowExecutionRetentionTtl"] == f"{30 * 86400}s"


def test_every_process_of_the_control_plane_holds_the_lock_and_ends_with_its_supervisor(stack: Stack) -> None:
    found = parts(stack)
    assert holders(stack.home / "lock") == sorted(part.pid for part in found.values())
    supervisor = found.pop("supervisor")
    assert {psutil.Process(part.pid).ppid() for part in found.values()} == {supervisor.pid}


def test_a_second_up_on_the_home_is_refused_naming_the_holders(stack: Stack) -> None:
    before = parts(stack)
    refused = stack.run("up", "--detach", check=False)
    assert refused.returncode == 6
    assert "PD-4001" in refused.stderr
    assert f"pid {before['supervisor'].pid}" in refused.stderr
    assert parts(stack) == before


def test_a_port_that_is_taken_is_named_with_its_holder_and_nothing_is_written(stack: Stack, tmp_path: Path) -> None:
    other = Stack(tmp_path / "other")
    api = parts(stack)["api"]
    taken = stack.ports["API"]
    refused = other.run("up", "--detach", "--port-api", str(taken), check=False)
    assert refused.returncode == 6
    assert "PD-4002" in refused.stderr
    assert f"port {taken}" in refused.stderr
    assert f"pid {api.pid}" in refused.stderr
    assert not other.home.exists()


def test_a_port_of_another_program_is_refused_too(tmp_path: Path) -> None:
    other = Stack(tmp_path / "other")
    with socket.create_server(("127.0.0.1", 0)) as server:
        refused = other.run("up", "--port-ui", str(server.getsockname()[1]), check=False)
    assert refused.returncode == 6
    assert "PD-4002" in refused.stderr
    assert not other.home.exists()


def test_status_and_down_of_a_home_where_nothing_runs(tmp_path: Path) -> None:
    other = Stack(tmp_path / "other")
    status = other.run("status", "--json", check=False)
    assert status.returncode == 3
    assert json.loads(status.stdout) == {
        "home": str(other.home),
        "running": False,
        "phase": "stopped",
        "api": None,
        "ui": None,
        "processes": [],
    }
    assert other.run("down").returncode == 0
    assert not other.home.exists()


def test_ports_given_twice_are_refused(tmp_path: Path) -> None:
    port = str(free_port())
    refused = Stack(tmp_path / "other").run("up", "--port-api", port, "--port-ui", port, check=False)
    assert refused.returncode == 2
    assert "PD-4004" in refused.stderr
