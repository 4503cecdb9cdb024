"""Sessions with running ranks, through the real command line, API, engine and worker."""

import json
import os
import pty
import signal
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.sync.client import connect

from definitions.session import Channel, Frame, unpack
from tests.support.polling import eventually
from tests.support.ports import free_port
from tests.support.stack import PERDURE, Stack

SERVER = "import http.server, sys; http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]))"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def job(stack: Stack, port: int) -> Iterator[str]:
    """A job that serves a port, and whose environment has a mark."""
    command = [sys.executable, "-c", SERVER, str(port)]
    made = stack.submit({"command": command, "env": {"MINE": "of the job"}, "gracePeriod": "1s"})
    stack.until(made, ("Running",))
    yield made
    stack.ask("POST", f"/jobs/{made}:cancel", json={})
    stack.until(made)


def test_a_program_runs_beside_the_rank_and_its_exit_code_comes_back(stack: Stack, job: str) -> None:
    done = stack.run("jobs", "exec", job, "--", "sh", "-c", 'echo "$MINE"; echo wrong >&2; exit 5', check=False)
    assert (done.returncode, done.stdout, done.stderr) == (5, "of the job\n", "wrong\n")
    piped = stack.run("jobs", "exec", "-i", job, "--", "tr", "a-z", "A-Z", input="hello\n")
    assert piped.stdout == "HELLO\n"


def test_who_did_what_and_how_it_ended_stands_in_the_jobs_events(stack: Stack, job: str) -> None:
    mark = uuid.uuid4().hex
    stack.run("jobs", "exec", job, "--", "sh", "-c", f"exit 3 # {mark}", check=False)

    def told() -> list[dict[str, Any]] | None:
        events = stack.items(job, "events")
        opened = [event for event in events if event["kind"] == "session-opened" and mark in event["reason"]]
        session = opened[0]["data"]["session"]
        ours = [event for event in events if event["data"].get("session") == session]
        return ours if len(ours) == 2 else None

    opened, closed = eventually(told, 10, "both events")
    assert (opened["actor"], opened["reason"]) == ("local-admin", f"exec with rank 0: sh -c exit 3 # {mark}")
    assert (closed["kind"], closed["reason"]) == ("session-closed", "exec with rank 0: ended with 3")


def test_a_terminal_is_a_terminal(stack: Stack, job: str) -> None:
    ours, theirs = pty.openpty()
    command = [PERDURE, "jobs", "exec", "-it", job, "--", "sh", "-c", "read word; tty; echo got $word"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=stack.environment)
    os.close(theirs)
    os.write(ours, b"banana\n")
    seen = b""
    try:
        while part := os.read(ours, 4096):
            seen += part
    except OSError:
        pass  # the terminal's other end has gone
    finally:
        os.close(ours)
    assert process.wait(20) == 0
    assert b"/dev/pts/" in seen
    assert b"got banana" in seen


def test_ports_of_a_rank_are_reached_from_here(stack: Stack, job: str, port: int) -> None:
    here = free_port()
    command = [PERDURE, "jobs", "port-forward", job, f"{here}:{port}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=stack.environment, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == f"http://127.0.0.1:{here} leads to port {port} of rank 0\n"
    try:
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{here}/", timeout=20) as answer:
                assert answer.status == 200
    finally:
        process.terminate()
        process.wait(10)
        process.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("exec", "{job}", "--rank", "7", "--", "true"), "PD-2152"),
        (("exec", "no-such-job", "--", "true"), "PD-2004"),
        (("exec", "{job}", "--", "no-such-program"), "not found"),
        (("exec", "-it", "{job}", "--", "true"), "PD-2901"),
        (("port-forward", "{job}", "x"), "PD-2901"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(
    stack: Stack, job: str, arguments: tuple[str, ...], code: str
) -> None:
    done = stack.run("jobs", *(word.format(job=job) for word in arguments), check=False)
    assert done.returncode != 0
    assert code in done.stderr


def test_a_job_that_has_ended_has_no_sessions(stack: Stack) -> None:
    over = stack.submit({"command": ["true"]})
    stack.until(over)
    done = stack.run("jobs", "exec", over, "--", "true", check=False)
    assert (done.returncode, "PD-2151" in done.stderr) == (6, True)


def dialled(stack: Stack, path: str, key: str | None, **headers: str) -> Frame | None:
    """The last word of a connection; None when there was none."""
    sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **headers}
    address = f"ws://127.0.0.1:{stack.ports['API']}/v1{path}"
    try:
        with connect(address, additional_headers=sent, open_timeout=10, proxy=None) as line:
            message = line.recv(20)
            return unpack(message if isinstance(message, bytes) else message.encode())
    except (WebSocketException, InvalidHandshake):
        return None


def admin(stack: Stack) -> str:
    return (stack.home / "admin.token").read_text().strip()


@pytest.mark.parametrize("key", [None, "pd_live_nobody", "x" * 3000])
def test_nobody_without_a_key_opens_a_session(stack: Stack, job: str, key: str | None) -> None:
    frame = dialled(stack, f"/jobs/{job}/exec?argv=true", key)
    assert frame is not None
    assert frame.channel is Channel.STATUS
    assert json.loads(frame.data)["problem"]["code"] == "PD-2001"


@pytest.mark.parametrize("headers", [{"Host": "elsewhere.example"}, {"Origin": "https://elsewhere.example"}])
def test_pages_of_other_sites_open_no_session(stack: Stack, job: str, headers: dict[str, str]) -> None:
    assert dialled(stack, f"/jobs/{job}/exec?argv=true", admin(stack), **headers) is None


def test_a_worker_that_nobody_waits_for_is_sent_away(stack: Stack) -> None:
    assert dialled(stack, f"/sessions/{uuid.uuid4().hex}", "any-token") is None


@pytest.mark.parametrize("query", ["", "argv=", "argv=true&rank=-1", "argv=true&columns=0&rows=5"])
def test_a_query_at_fault_is_told(stack: Stack, job: str, query: str) -> None:
    frame = dialled(stack, f"/jobs/{job}/exec?{query}", admin(stack))
    assert frame is not None
    assert json.loads(frame.data)["problem"]["code"] == "PD-2022"


def test_a_session_ends_with_its_job(stack: Stack) -> None:
    short = stack.submit({"command": [sys.executable, "-c", "import time; time.sleep(600)"], "gracePeriod": "1s"})
    stack.until(short, ("Running",))
    command = [PERDURE, "jobs", "exec", short, "--", "sleep", "600"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=stack.environment) as process:
        eventually(
            lambda: any(event["kind"] == "session-opened" for event in stack.items(short, "events")), 20, "it is open"
        )
        stack.ask("POST", f"/jobs/{short}:cancel", json={})
        assert process.wait(60) != 0
    assert stack.until(short)["phase"] == "Cancelled"


def examples(command: str) -> list[str]:
    """The lines below `Example:` in a command's help."""
    shown = subprocess.run([PERDURE, *command.split(), "--help"], capture_output=True, text=True, timeout=30).stdout
    return [line.strip() for line in shown.partition("Example:\n")[2].partition("\n\n")[0].splitlines()]


def test_the_examples_of_exec_work_as_they_are_written(stack: Stack, job: str) -> None:
    found = examples("jobs exec")
    assert len(found) == 2
    for example in found:
        line = example.replace("perdure", PERDURE, 1).replace(" digits ", f" {job} ")
        argv = ["script", "-qec", line, "/dev/null"] if "-it" in line else ["bash", "-c", line]
        done = subprocess.run(argv, input="exit 0\n", env=stack.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{example}\n{done.stdout}\n{done.stderr}"


def test_the_examples_of_port_forward_work_as_they_are_written(stack: Stack, job: str) -> None:
    found = examples("jobs port-forward")
    assert len(found) == 2
    for example in found:
        line = example.replace("perdure", PERDURE, 1).replace(" digits ", f" {job} ")
        with subprocess.Popen(line.split(), stderr=subprocess.PIPE, env=stack.environment, text=True) as process:
            assert process.stderr is not None
            assert "leads to port" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
