"""What pods of others ask of nodes: what one is counted for, and the sums of a node as pods come and go."""

from typing import Any

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import INSTALLATION
from activities.adapters.kubernetes.others import Others, amounts_of
from definitions.cluster import ClusterSettings, TakenByOthers
from tests.support.cluster import TestCluster
from tests.support.polling import eventually

OURS, GPU = "i-1", "nvidia.com/gpu"


def container(**requests: str) -> dict[str, Any]:
    return {"name": "c", "image": "none", "resources": {"requests": requests}}


def sidecar(**requests: str) -> dict[str, Any]:
    return container(**requests) | {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "counted"),
    [
        ({"containers": [container(cpu="250m", memory="1Ki"), container(cpu="1")]}, {"cpu": 1250, "memory": 1024}),
        ({"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]}, {"cpu": 3000}),
        (
            {"containers": [container(cpu="2")], "initContainers": [container(cpu="1"), container(cpu="1")]},
            {"cpu": 2000},
        ),
        ({"containers": [container(cpu="2")], "initContainers": [sidecar(cpu="1"), container(cpu="1")]}, {"cpu": 3000}),
        ({"containers": [container(cpu="1")], "initContainers": [sidecar(cpu="1"), container(cpu="4")]}, {"cpu": 5000}),
        ({"containers": [container(cpu="1")], "overhead": {"cpu": "100m", "memory": "1"}}, {"cpu": 1100, "memory": 1}),
        ({"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "5"}}}, {"cpu": 5000}),
        ({"containers": [container(**{GPU: "4"}), container(cpu="much")]}, {GPU: 4}),
        ({"containers": [{"name": "c", "image": "none"}]}, {}),
    ],
)
def test_a_pod_counts_for_what_its_cluster_counts_it_for(spec: dict[str, Any], counted: dict[str, int]) -> None:
    assert {name: amount for name, amount in amounts_of(spec).items() if amount} == counted


def test_the_sum_of_a_node_follows_its_pods_and_stays_the_same_object_between(client: KubeClient) -> None:
    others = Others(client, ClusterSettings(), OURS)
    assert not others.settled()
    for namespace, name, amounts in (("a", "one", {GPU: "2"}), ("b", "two", {"cpu": "1", "example.org/disk": "3"})):
        client.create(Kind.POD_ANYWHERE, _pod(namespace, name, "n1", **amounts))
    others.start()
    try:
        eventually(others.settled, 10, "the pods were listed")
        first = others.on("n1")
        assert first == TakenByOthers(pods=2, cpu_millis=1000, gpus=2, extended={"example.org/disk": 3})
        assert others.on("n1") is first
        assert others.on("n2") is None
        client.delete(Kind.POD_ANYWHERE, "two")
        eventually(lambda: others.on("n1") == TakenByOthers(pods=1, gpus=2), 10, "one is gone")
        larger = {"spec": {"containers": [container(**{GPU: "3"})]}}
        client.patch(Kind.POD_ANYWHERE, "one", larger)
        eventually(lambda: others.on("n1") == TakenByOthers(pods=1, gpus=3), 10, "the other has grown")
        client.delete(Kind.POD_ANYWHERE, "one")
        eventually(lambda: others.on("n1") is None, 10, "both are gone")
    finally:
        others.stop()


@pytest.mark.kube
def test_a_real_server_tells_of_no_pod_of_ours_without_a_node_or_that_is_over(kube_api: TestCluster) -> None:
    client = KubeClient(Connection(kube_api.kubeconfig))
    with (
        kube_api.namespace() as space,
        kube_api.simulated_nodes(1, {"cpu": "8", "memory": "8Gi", "pods": "9"}) as [node],
    ):
        taken = Others(client, ClusterSettings(), OURS)
        for name, where, labels in (
            ("theirs", node, {}),
            ("another-installation", node, {INSTALLATION: "i-2"}),
            ("ours", node, {INSTALLATION: OURS}),
            ("over", node, {"fake.perdure.dev/run-for": "1ms"}),
            ("nowhere", None, {}),
        ):
            made = _pod(space.name, name, where, cpu="1")
            made["metadata"]["labels"] = labels
            made["spec"] |= {"automountServiceAccountToken": False, "schedulerName": "nobody"}  # nowhere it stays
            kube_api.api.post(f"{space.path}/pods", made)
        taken.start()
        try:
            eventually(lambda: taken.on(node) == TakenByOthers(pods=2, cpu_millis=2000), 30, "two of the five")
            kube_api.api.delete(f"{space.path}/pods/theirs", gracePeriodSeconds="0")
            eventually(lambda: taken.on(node) == TakenByOthers(pods=1, cpu_millis=1000), 30, "one of the five")
        finally:
            taken.stop()
            client.close()


def _pod(namespace: str, name: str, node: str | None, **requests: str) -> dict[str, Any]:
    where = {} if node is None else {"nodeName": node}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container(**requests)], **where},
    }
