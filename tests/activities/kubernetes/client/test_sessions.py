"""Logs, commands and ports of a real container, through a proxy that can end what it carries."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.streams import STDERR, STDOUT, ExecResult
from deploy.testcluster.images import BASE
from deploy.testcluster.layout import REAL_NODES
from tests.support.chaos_proxy import Act, ChaosProxy, Fault, chaos_proxy
from tests.support.cluster import TestCluster
from tests.support.polling import eventually

pytestmark = pytest.mark.pods

WITHIN = timedelta(seconds=20)
SERVING = "echo ready; nc -ll -p 8080 -e cat & i=0; while true; do echo line $i; i=$((i+1)); sleep 0.2; done"


@dataclass
class Container:
    """A pod with one running container, its client straight to the server, and one through a proxy."""

    client: KubeClient
    through: KubeClient
    proxy: ChaosProxy


@pytest.fixture(scope="module")
def running(kube_nodes: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with kube_nodes.namespace() as space, chaos_proxy(kube_nodes.url, certificate=kube_nodes.certificate) as proxy:
        file = proxy.kubeconfig(Path(tmp_path_factory.mktemp("proxy")) / "kubeconfig", kube_nodes.token)
        client = KubeClient(Connection(kube_nodes.kubeconfig, namespace=space.name))
        container: dict[str, object] = {"name": "main", "image": BASE, "imagePullPolicy": "IfNotPresent"}
        container |= {"command": ["sh", "-c", SERVING]}
        place = {"kubernetes.io/hostname": REAL_NODES[0]}  # simulated nodes run nothing
        spec = {"containers": [container], "nodeSelector": place, "terminationGracePeriodSeconds": 1}
        client.create(Kind.POD, {"metadata": {"name": "p"}, "spec": spec})
        eventually(lambda: _phase(client) == "Running", 60, "the pod runs")
        through = KubeClient(Connection(file, namespace=space.name))
        yield Container(client, through, proxy)
        client.close()
        through.close()


@pytest.fixture
def kube(running: Container) -> Iterator[Container]:
    running.proxy.plan = lambda _: None
    yield running
    running.proxy.plan = lambda _: None


def _phase(client: KubeClient) -> str:
    found = client.get(Kind.POD, "p") or {}
    return str(found.get("status", {}).get("phase"))


def test_a_command_gives_its_exit_code_and_both_outputs(kube: Container) -> None:
    result = kube.client.exec("p", "main", ["sh", "-c", "printf out; printf err >&2; exit 3"], within=WITHIN)
    assert result == ExecResult(3, b"out", b"err")
    assert kube.client.exec("p", "main", ["true"], within=WITHIN) == ExecResult(0, b"", b"")


@pytest.mark.parametrize("size", [1, 100_000, 3_000_000])
def test_input_and_output_are_any_bytes(size: int, kube: Container) -> None:
    data = os.urandom(size)
    for client in (kube.client, kube.through):
        result = client.exec("p", "main", ["cat"], stdin=data, within=WITHIN)
        assert (result.code, result.stdout == data) == (0, True)


def test_a_command_that_ends_before_its_input_is_read_ends_the_session(kube: Container) -> None:
    result = kube.client.exec("p", "main", ["sh", "-c", "exit 5"], stdin=os.urandom(1000), within=WITHIN)
    assert result.code == 5


REFUSED: dict[str, tuple[str, Callable[[KubeClient], object], str]] = {
    "no such program": ("PD-3113", lambda kube: kube.exec("p", "main", ["no-such"], within=WITHIN), "not found"),
    "no such container": ("PD-3113", lambda kube: kube.exec("p", "other", ["true"], within=WITHIN), "other"),
    "no such pod": ("PD-3115", lambda kube: kube.exec("q", "main", ["true"], within=WITHIN), "not found"),
    "too slow": ("PD-3116", lambda kube: kube.exec("p", "main", ["sleep", "9"], within=WITHIN / 20), "in time"),
    "log of no container": ("PD-3113", lambda kube: list(kube.logs("p", "other")), "other"),
    "log of no pod": ("PD-3115", lambda kube: list(kube.logs("q", "main")), "not found"),
    "nobody listens": ("PD-3113", lambda kube: kube.port_forward("p", 9).read(10), "refused"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_session_that_cannot_be_says_why(name: str, kube: Container) -> None:
    code, call, words = REFUSED[name]
    with pytest.raises(KubeError, match=words) as caught:
        call(kube.client)
    assert caught.value.code == code


@pytest.mark.parametrize("fault", [Fault(Act.DROP), Fault(Act.ANSWER, status=503), Fault(Act.ANSWER, status=401)])
def test_the_opening_of_a_session_is_repeated(fault: Fault, kube: Container) -> None:
    faults = [fault]
    kube.proxy.plan = lambda _: faults.pop() if faults else None
    assert kube.through.exec("p", "main", ["echo", "here"], within=WITHIN).stdout == b"here\n"
    assert faults == []


def test_a_session_that_is_cut_is_neither_success_nor_failure(kube: Container) -> None:
    threading.Timer(1, kube.proxy.cut_sessions).start()
    with pytest.raises(KubeError) as caught:
        kube.through.exec("p", "main", ["sleep", "8"], within=WITHIN)
    assert (caught.value.code, caught.value.permanent) == ("PD-3114", False)


def test_a_terminal_has_a_size_and_takes_input(kube: Container) -> None:
    session = kube.client.stream_exec("p", "main", ["sh"], tty=True)
    session.resize(101, 43)
    session.write(b"stty size; exit 7\n")
    output = b""
    while not session.ended:
        if frame := session.read(5):
            assert frame[0] == STDOUT
            output += frame[1]
    assert b"43 101" in output
    assert session.code == 7
    session.close()


def test_a_session_without_terminal_keeps_the_outputs_apart_and_hears_the_end_of_input(kube: Container) -> None:
    session = kube.client.stream_exec("p", "main", ["sh", "-c", "cat; echo end >&2"])
    session.write(b"one\n")
    assert session.read(10) == (STDOUT, b"one\n")
    assert session.read(0.2) is None
    assert not session.ended
    session.end_input()
    assert session.read(10) == (STDERR, b"end\n")
    eventually(lambda: session.read(1) is None and session.ended)
    assert session.code == 0


def test_closing_a_session_ends_a_read_that_waits(kube: Container) -> None:
    session = kube.client.stream_exec("p", "main", ["sleep", "60"])
    threading.Timer(0.3, session.close).start()
    began = time.monotonic()
    assert session.read(30) is None
    assert time.monotonic() - began < 3
    assert (session.ended, session.code) == (True, None)


def test_a_port_carries_bytes_both_ways(kube: Container) -> None:
    for client in (kube.client, kube.through):
        link = client.port_forward("p", 8080)
        data = os.urandom(500_000)
        writer = threading.Thread(target=link.write, args=(data,))
        writer.start()
        got = b""
        while len(got) < len(data):
            got += link.read(10) or b""
        writer.join()
        assert got == data
        link.close()
        assert link.ended


def test_a_log_is_read_from_its_end_from_a_moment_and_as_it_grows(kube: Container) -> None:
    lines = b"".join(kube.client.logs("p", "main", tail=2, timestamps=True)).splitlines()
    assert len(lines) == 2
    moment, _, words = lines[0].partition(b" ")
    assert words.startswith(b"line ")
    since = b"".join(kube.client.logs("p", "main", since=moment.decode()[:19] + "Z"))
    assert words in since
    assert len(b"".join(kube.client.logs("p", "main", limit_bytes=10))) == 10
    growing = kube.client.logs("p", "main", tail=0, follow=True)
    got = iter(growing)
    assert next(got).startswith(b"line ")
    threading.Timer(0.5, growing.close).start()
    began = time.monotonic()
    assert all(chunk for chunk in got)
    assert time.monotonic() - began < 3


def test_a_growing_log_ends_with_its_time_and_breaks_with_its_connection(kube: Container) -> None:
    began = time.monotonic()
    assert list(kube.client.logs("p", "main", tail=0, follow=True, within=timedelta(seconds=1)))
    assert time.monotonic() - began < 4
    kube.proxy.plan = lambda _: Fault(Act.CUT_WATCH, lines=2)
    with pytest.raises(KubeError) as caught:
        list(kube.through.logs("p", "main", tail=0, follow=True))
    assert (caught.value.code, caught.value.permanent) == ("PD-3114", False)
