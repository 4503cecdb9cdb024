"""Processes of a control plane started one by one, as containers start them, on an engine that others look after."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from store import tokens
from tests.support.polling import eventually
from tests.support.ports import free_port
from tests.support.servers import start_server, stop_server
from tests.support.stack import PERDURE, base_environment
from tests.support.temporal import TemporalServer

DOCUMENT = {
    "apiVersion": "perdure/v1",
    "kind": "Job",
    "metadata": {"name": "served"},
    "spec": {"command": ["echo", "served"], "workdir": {"mode": "none"}},
}


@pytest.fixture
def environment(temporal_server: TemporalServer, tmp_path: Path, sqlite_url: str) -> dict[str, str]:
    key = tmp_path / "admin.key"
    key.write_text(tokens.new_key() + "\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")}
    return clean | {
        "PERDURE_HOME": str(tmp_path / "home"),
        "PERDURE_DATABASE_URL": sqlite_url,
        "PERDURE_TEMPORAL_ADDRESS": temporal_server.address,
        "PERDURE_TEMPORAL_NAMESPACE": "served-one-by-one",
        "PERDURE_ADMIN_TOKEN_FILE": str(key),
        "PERDURE_API_PORT": str(free_port()),
        "PERDURE_METRICS_PORT": str(free_port()),
        "PERDURE_API_HOSTS": "perdure-api, perdure.example",
    }


@contextmanager
def serving(process: str, environment: dict[str, str], folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    running = start_server([PERDURE, "serve", process], folder / f"{process}.log", environment)
    try:
        yield running
    finally:
        stop_server(running)


def test_a_job_runs_on_processes_that_were_started_one_by_one(environment: dict[str, str], tmp_path: Path) -> None:
    subprocess.run([PERDURE, "serve", "migrate"], env=environment, check=True, timeout=60)
    url = f"http://127.0.0.1:{environment['PERDURE_API_PORT']}/v1"
    key = Path(environment["PERDURE_ADMIN_TOKEN_FILE"]).read_text().strip()
    with ExitStack() as stack:
        started = [stack.enter_context(serving(name, environment, tmp_path)) for name in ("api", "worker")]
        client = stack.enter_context(httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}))
        eventually(lambda: answers(client), 60, "the API serving")
        body = {"document": DOCUMENT, "submission": base_environment()}
        job = client.post("/jobs", json=body, headers={"Idempotency-Key": "one-by-one"}).json()["id"]
        eventually(lambda: client.get(f"/jobs/{job}").json()["phase"] == "Succeeded", 90, "the job's end")
        for host, known in (("perdure.example", True), ("perdure-api:8642", True), ("elsewhere.example", False)):
            assert (client.get("/health", headers={"Host": host}).status_code == httpx.codes.OK) is known, host
        for process in started:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(30) for process in started] == [0, 0]


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/health").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("missing", ["PERDURE_DATABASE_URL", "PERDURE_TEMPORAL_ADDRESS"])
def test_a_process_without_what_it_shares_is_refused(missing: str, environment: dict[str, str]) -> None:
    del environment[missing]
    done = subprocess.run([PERDURE, "serve", "api"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "PD-4104" in done.stderr
    assert missing in done.stderr


def test_a_given_admin_key_that_is_none_is_refused_and_left(environment: dict[str, str]) -> None:
    key = Path(environment["PERDURE_ADMIN_TOKEN_FILE"])
    key.write_text("no key\n")
    done = subprocess.run([PERDURE, "serve", "migrate"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 78
    assert "PD-4103" in done.stderr
    assert key.read_text() == "no key\n"
