"""Simulated nodes and pods (KWOK): any number of nodes, pods that run for a while and end as their annotations say."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from deploy.testcluster import tools
from deploy.testcluster.api import Api, until
from deploy.testcluster.layout import Layout
from deploy.testcluster.processes import Servers
from deploy.testcluster.progress import Say

FAKE = {"kwok.x-k8s.io/node": "fake"}
STAGES = Path(__file__).with_name("stages.yaml")
NODES_WITHIN = 300.0
AT_A_TIME = 8


def start(layout: Layout, servers: Servers, lease_seconds: int, say: Say) -> None:
    """Simulate every node that carries the annotation of `FAKE`, and no other.

    With `lease_seconds` the nodes renew leases as kubelets do; 0 saves those calls where no node is ever lost.
    """
    servers.start(
        "kwok",
        [
            str(tools.program("kwok", say)),
            f"--kubeconfig={layout.kubeconfig}", f"--config={STAGES}",
            "--manage-nodes-with-annotation-selector=" + ",".join(f"{key}={value}" for key, value in FAKE.items()),
            f"--node-lease-duration-seconds={lease_seconds}",
            f"--server-address=127.0.0.1:{layout.ports['kwok']}",
            # Simulated nodes answer logs and exec as kubelets do, from KWOK's own server.
            "--node-ip=127.0.0.1", f"--node-port={layout.ports['kwok']}",
            "--cidr=100.64.0.0/10", "--v=WARN",
        ],
    )  # fmt: skip


def node(
    name: str,
    capacity: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """A simulated node's object."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": dict(FAKE),
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **(labels or {})},
        },
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": dict(capacity), "allocatable": dict(capacity)},
    }


def add_nodes(api: Api, nodes: Sequence[dict[str, Any]]) -> None:
    """Create simulated nodes and return when all are Ready."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for _ in pool.map(lambda body: api.post("/api/v1/nodes", body), nodes):
            pass  # raises what a call raised
    wanted = {body["metadata"]["name"] for body in nodes}
    until(lambda: wanted <= ready_nodes(api), NODES_WITHIN, f"{len(wanted)} simulated nodes are Ready", lambda: None)


def ready_nodes(api: Api) -> set[str]:
    return {
        item["metadata"]["name"]
        for item in api.items("/api/v1/nodes")
        for condition in item["status"].get("conditions", [])
        if condition["type"] == "Ready" and condition["status"] == "True"
    }
