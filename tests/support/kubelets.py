"""Kubelets of real nodes, disturbed: one that stands still, one that finds itself short of memory."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from deploy.testcluster import kwok, node_files, nodes
from deploy.testcluster.progress import to_stderr
from tests.support.cluster import TestCluster
from tests.support.polling import eventually

SECONDS = 120.0


@contextmanager
def paused(cluster: TestCluster, node: str) -> Iterator[None]:
    """The node's kubelet stands still meanwhile; afterwards the node is Ready again."""
    nodes.pause_kubelet(cluster.cluster.servers, node)
    try:
        yield
    finally:
        nodes.continue_kubelet(cluster.cluster.servers, node)
        _until_ready(cluster, node)


@contextmanager
def keeping_free(cluster: TestCluster, node: str, memory: str) -> Iterator[None]:
    """The node's kubelet evicts pods meanwhile until so much memory is free."""
    path = node_files.folder(cluster.cluster.layout, node) / "kubelet.json"
    usual = path.read_text()
    settings = json.loads(usual)
    settings["evictionHard"]["memory.available"] = memory
    try:
        path.write_text(json.dumps(settings))
        _restart(cluster, node)
        yield
    finally:
        path.write_text(usual)
        _restart(cluster, node)
        _until_ready(cluster, node)


def _restart(cluster: TestCluster, node: str) -> None:
    nodes.stop_kubelet(cluster.cluster.servers, node)
    # A new process does not know of the old one's pressure, and node_files.write would set everything anew.
    nodes.start_kubelet(cluster.cluster.layout, cluster.cluster.servers, node, to_stderr)


def _until_ready(cluster: TestCluster, node: str) -> None:
    def fit() -> bool:
        taints = cluster.api.get(f"/api/v1/nodes/{node}")["spec"].get("taints")
        return node in kwok.ready_nodes(cluster.api) and not taints

    eventually(fit, SECONDS, f"{node} is Ready and takes pods")
