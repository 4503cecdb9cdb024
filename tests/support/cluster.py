"""A real Kubernetes API, and real nodes, for a session's tests; what they leave behind is an error of theirs.

A session starts its own cluster and ends it. `PERDURE_TEST_CLUSTER` names the state folder of one that runs already
(`make cluster` prints it), which is quicker while one writes a test; that one stays.
"""

import contextlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deploy.testcluster import cache, cluster, kwok, machine, nodes, tools
from deploy.testcluster.api import Api
from deploy.testcluster.cluster import Cluster
from deploy.testcluster.control_plane import PROGRAMS
from deploy.testcluster.layout import FILE
from deploy.testcluster.processes import start_of
from deploy.testcluster.progress import to_stderr
from tests.support.lacking import step_aside
from tests.support.polling import eventually

RUNNING = "PERDURE_TEST_CLUSTER"
# What tests with a marker need. Building it takes minutes, once, and happens before the first test's clock runs.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "kube": (*PROGRAMS, "kwok", "minio", "helm"),
    "pods": (*PROGRAMS, "kwok", "minio", "helm", *nodes.PROGRAMS),
    "production": ("temporal-server", "temporal-sql-tool", "minio"),
}
GONE_WITHIN = 120.0


@dataclass(frozen=True)
class Namespace:
    """A namespace of one test."""

    name: str
    api: Api

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.name}"

    @property
    def jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.name}/jobs"

    def pods(self, **query: str) -> list[dict[str, Any]]:
        return self.api.items(f"{self.path}/pods", **query)

    def pod(self, name: str) -> dict[str, Any]:
        return self.api.get(f"{self.path}/pods/{name}")

    def log(self, pod: str) -> str:
        return self.api.text(f"{self.path}/pods/{pod}/log")


@dataclass(frozen=True)
class TestCluster:
    """What tests know of a cluster. `api` speaks as its administrator."""

    __test__ = False  # its name is no promise of tests inside

    cluster: Cluster
    api: Api

    @property
    def url(self) -> str:
        return self.cluster.layout.url

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    @property
    def token(self) -> str:
        return self.cluster.layout.tokens["admin"]

    @property
    def certificate(self) -> Path:
        return self.cluster.layout.certificate

    @property
    def host_address(self) -> str:
        """Where pods reach servers of this machine."""
        return self.cluster.host_address

    def audit(self, namespace: str, service_account: str) -> list[dict[str, Any]]:
        """What a service account has asked of the API: audit events with `verb`, `objectRef`, `responseStatus`, …"""
        user = f"system:serviceaccount:{namespace}:{service_account}"
        lines = self.cluster.layout.audit_log.read_text().splitlines()
        possible = map(json.loads, (line for line in lines if user in line))  # the log is long, and asked for often
        return [event for event in possible if event["user"]["username"] == user]

    def load_image(self, archive: Path) -> None:
        self.cluster.load_image(archive)

    @contextlib.contextmanager
    def namespace(self, labels: Mapping[str, str] | None = None) -> Iterator[Namespace]:
        """A new namespace; at the end it is deleted, and everything in it with it."""
        name = f"t-{secrets.token_hex(5)}"
        self.api.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": dict(labels or {})}})
        space = Namespace(name, self.api)
        eventually(lambda: self.api.find(f"{space.path}/serviceaccounts/default"), 30, "the default service account")
        try:
            yield space
        finally:
            self._remove(space)

    @contextlib.contextmanager
    def simulated_nodes(
        self,
        count: int,
        capacity: Mapping[str, str],
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
    ) -> Iterator[list[str]]:
        """Nodes that KWOK plays, named anew for this test; they are Ready."""
        stem = f"sim-{secrets.token_hex(3)}"
        names = [f"{stem}-{number}" for number in range(count)]
        kwok.add_nodes(self.api, [kwok.node(name, capacity, labels, taints) for name in names])
        try:
            yield names
        finally:
            self._end_pods_on(set(names))
            for name in names:
                self.api.delete(f"/api/v1/nodes/{name}")

    def _end_pods_on(self, nodes: Collection[str]) -> None:
        """Nobody plays the end of a pod whose node has gone: it would take a minute until the cluster removes it."""
        for pod in self.api.items("/api/v1/pods"):
            if pod["spec"].get("nodeName") in nodes:
                path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
                self.api.delete(path, gracePeriodSeconds="0")

    def _remove(self, space: Namespace) -> None:
        """What takes from others (pods, folders) must be gone; the rest goes with the namespace, some seconds later."""
        for path in (space.jobs, f"{space.path}/pods", f"{space.path}/persistentvolumeclaims"):
            # Nothing that a test made deserves half a minute to say goodbye.
            self.api.delete(path, gracePeriodSeconds="1", propagationPolicy="Background")
        eventually(
            lambda: not space.pods() and not self._volumes(space), GONE_WITHIN, f"end of what is in {space.name}"
        )
        self.api.delete(space.path)

    def _volumes(self, space: Namespace) -> list[str]:
        volumes = self.api.items("/api/v1/persistentvolumes")
        return [item["metadata"]["name"] for item in volumes if item["spec"]["claimRef"]["namespace"] == space.name]


@contextlib.contextmanager
def running_cluster(*, real: bool) -> Iterator[TestCluster]:
    """The cluster named by the environment, or a new one that ends with the session."""
    lacks = machine.lacks_for_nodes() if real else machine.lacks_for_servers()
    if lacks:
        step_aside(lacks)
    named = os.environ.get(RUNNING)
    if named:
        with _as_tests_see_it(cluster.attach(Path(named))) as seen:
            if real and not seen.cluster.has_real_nodes():
                step_aside(f"the cluster in {named} has no real nodes: make cluster NODES=real")
            yield seen
        return
    end_orphans()
    folder = sessions() / f"{os.getpid()}-{start_of(os.getpid())}" / ("real" if real else "kwok")
    started = cluster.up(folder, real=real)
    try:
        with _as_tests_see_it(started) as seen:
            yield seen
    finally:
        cluster.down(folder)
        with contextlib.suppress(OSError):  # the session's other cluster is still there
            folder.parent.rmdir()


def end_orphans() -> None:
    """End clusters of test sessions that were killed before they could do it themselves, one process after another."""
    with cache.only_one("an end of what killed tests left", to_stderr):
        for session in sessions().iterdir():
            pid, _, started = session.name.partition("-")
            if str(start_of(int(pid))) != started:
                for state in session.glob(f"*/{FILE}"):
                    cluster.down(state.parent)
                shutil.rmtree(session, ignore_errors=True)  # logs of one that did not start


def sessions() -> Path:
    """Where sessions keep their clusters, each in a folder named by its process and that one's start."""
    folder = cache.folder() / "sessions"
    folder.mkdir(exist_ok=True)
    return folder


def build_needed(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Build what the chosen tests need, with progress on the terminal, so that no test's time limit pays for it."""
    if config.option.collectonly or machine.lacks_for_servers() or os.environ.get(RUNNING):
        return
    possible = {marker for marker in NEEDED if marker != "pods" or not machine.lacks_for_nodes()}
    wanted = {
        name for item in items for marker in possible if item.get_closest_marker(marker) for name in NEEDED[marker]
    }
    for name in tools.NAMES:
        if name in wanted:
            tools.program(name, _uncaptured(config))


def _uncaptured(config: pytest.Config) -> Callable[[str], None]:
    capture = config.pluginmanager.get_plugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            print(file=sys.stderr)
            to_stderr(line)

    return say


@contextlib.contextmanager
def _as_tests_see_it(running: Cluster) -> Iterator[TestCluster]:
    api = running.api()
    try:
        yield TestCluster(running, api)
    finally:
        api.close()
