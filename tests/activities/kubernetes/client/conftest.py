"""A small API server with a misbehaving proxy before it, and clients that lead through the proxy."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from tests.support.chaos_proxy import ChaosProxy, Script, chaos_proxy
from tests.support.kube_server import KubeServer, running_kube_server

NAMESPACE = "here"


@dataclass
class World:
    server: KubeServer
    proxy: ChaosProxy
    script: Script
    folder: Path
    calls: list[tuple[str, str, int, float]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def client(self, *, read: float = 0.5, within: float = 5.0) -> KubeClient:
        """A client with short limits, whose pauses are noted and not slept."""
        return KubeClient(
            self.connection(read=read, within=within),
            on_call=lambda *call: self.calls.append(call),
            pause=self.pauses.append,
        )

    def connection(self, *, read: float = 0.5, within: float = 5.0) -> Connection:
        return Connection(
            self.proxy.kubeconfig(self.folder / "kubeconfig"),
            namespace=NAMESPACE,
            connect=timedelta(seconds=1),
            read=timedelta(seconds=read),
            within=timedelta(seconds=within),
        )

    def created(self, name: str) -> int:
        """How often an object of that name came to be."""
        return sum(event.type == "ADDED" and event.object["metadata"]["name"] == name for event in self.server.log)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    script = Script()
    with running_kube_server() as server, chaos_proxy(server.url, script) as proxy:
        yield World(server, proxy, script, tmp_path)


@pytest.fixture
def client(world: World) -> Iterator[KubeClient]:
    client = world.client()
    yield client
    client.close()
