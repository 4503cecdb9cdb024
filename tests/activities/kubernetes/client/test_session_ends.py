"""How a session may end, played by a server that says what kubelets say on bad days."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.kubernetes import streams
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.streams import STATUS, STDERR, STDOUT, ExecResult
from tests.support.websocket_server import Session, websocket_server

WITHIN = timedelta(seconds=5)
NEW, OLD = "v5.channel.k8s.io", "v4.channel.k8s.io"


def ended(code: int) -> bytes:
    cause = {"reason": "ExitCode", "message": str(code)}
    return json.dumps({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [cause]}}).encode()


def well(session: Session) -> None:
    session.say(STDOUT, b"a" * 300)
    session.say(STDERR, b"b")
    session.say(STATUS, ended(137))
    session.end()


def without_a_status(session: Session) -> None:
    session.say(STDOUT, b"half")
    session.end()


def with_a_broken_status(session: Session) -> None:
    session.say(STATUS, b"<html>")
    session.end()


def never_begun(session: Session) -> None:
    session.say(STATUS, json.dumps({"status": "Failure", "message": "no such program"}).encode())
    session.end()


def with_too_much(session: Session) -> None:
    for _ in range(20):
        session.say(STDOUT, b"x" * 60_000)


def client(url: str, folder: Path) -> KubeClient:
    named = {"clusters": {"cluster": {"server": url}}, "contexts": {"context": {"cluster": "it"}}}
    lists = {kind: [{"name": "it", **value}] for kind, value in named.items()}
    file = folder / "kubeconfig"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "it", **lists}))
    return KubeClient(Connection(file, within=WITHIN))


def test_output_and_exit_code_are_taken_from_their_channels(tmp_path: Path) -> None:
    with websocket_server(well, OLD) as url:
        result = client(url, tmp_path).exec("p", "main", ["x"], within=WITHIN)
    assert result == ExecResult(137, b"a" * 300, b"b")


@pytest.mark.parametrize(
    ("play", "code"),
    [(without_a_status, "PD-3114"), (with_a_broken_status, "PD-3112"), (never_begun, "PD-3113"),
     (with_too_much, "PD-3112")],
)  # fmt: skip
def test_an_end_that_says_nothing_of_the_command_is_an_error_of_its_own(
    play: Callable[[Session], None], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "OUTPUT_LIMIT", 1_000_000)
    with websocket_server(play, NEW) as url, pytest.raises(KubeError) as caught:
        client(url, tmp_path).exec("p", "main", ["x"], within=WITHIN)
    assert (caught.value.code, caught.value.permanent) == (code, False)


def test_input_is_refused_where_its_end_cannot_be_told(tmp_path: Path) -> None:
    """A command that reads to the end of its input would wait for ever."""
    with websocket_server(lambda session: None, OLD) as url, pytest.raises(KubeError, match=r"1\.30") as caught:
        client(url, tmp_path).exec("p", "main", ["cat"], stdin=b"x", within=WITHIN)
    assert caught.value.code == "PD-3113"
