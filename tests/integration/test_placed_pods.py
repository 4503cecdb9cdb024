"""Queues on a cluster: the pods of each job are at the places that were decided, although its worker dies meanwhile.

The API server, its scheduler and the worker are real; nodes and pods are simulated by KWOK, which nobody of ours knows.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from activities.adapters.kubernetes.facts import pod_index
from tests.integration.test_queues import document
from tests.support.cluster import Namespace, TestCluster
from tests.support.cluster_worker import ClusterWorker, account, add_simulated_cluster, running_worker
from tests.support.polling import eventually
from tests.support.stack import Stack, running_stack

pytestmark = pytest.mark.kube
NAME = "north-1"
PLACE = "perdure.test/place"
MODEL = "NVIDIA-H100-80GB-HBM3"
LABELS = {"nvidia.com/gpu.product": MODEL}
CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
RUN_FOR = "fake.perdure.dev/run-for"
PATIENCE = 120.0
DOCUMENTS = [
    document("ResourceFlavor", "h100", gpuType=MODEL, gpuMemory="80Gi"),
    document("Queue", "research", quotas={"gpus": {"limit": 64}}),
]


class Field:
    """A control plane with a queue, one cluster, its worker, and three simulated nodes."""

    def __init__(self, stack: Stack, worker: ClusterWorker, space: Namespace, nodes: list[str], place: str) -> None:
        self.stack, self.worker, self.space, self.nodes = stack, worker, space, nodes
        self._place = place

    def submit(self, name: str, nodes: int, gpus: int, **more: Any) -> str:
        spec = {
            "command": ["python", "train.py"],
            "cluster": NAME,
            "queue": "research",
            "nodes": nodes,
            "resources": {"gpus": gpus},
            "placement": {"nodeSelector": {PLACE: self._place}},
            "gracePeriod": "1s",
            **more,
        }
        return self.stack.submit(spec, name=name)

    def pods(self, job: str) -> list[dict[str, Any]]:
        return sorted(self.space.pods(labelSelector=f"perdure.dev/job={job}"), key=pod_index)

    def decided(self, job: str) -> list[str]:
        """Nodes that were committed for the job, in order of node rank."""
        why = self.stack.ask("GET", f"/jobs/{job}/why").json()
        return [each["node"] for each in why["places"]["nodes"]]

    def until_it_runs(self, job: str) -> list[str]:
        """Nodes of its pods, by index."""
        self.stack.until(job, ("Running",), PATIENCE)
        return [pod["spec"]["nodeName"] for pod in self.pods(job)]

    def finish(self, job: str) -> None:
        for pod in self.pods(job):
            body = {"metadata": {"annotations": {RUN_FOR: "1ms"}}}
            self.space.api.patch(f"{self.space.path}/pods/{pod['metadata']['name']}", body)
        view = self.stack.until(job, seconds=PATIENCE)
        assert view["phase"] == "Succeeded", view["reason"]


@pytest.fixture(scope="module")
def field(kube_api: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    with running_field(kube_api, tmp_path_factory) as made:
        yield made


@contextmanager
def running_field(kube_api: TestCluster, temporary: pytest.TempPathFactory, **environment: str) -> Iterator[Field]:
    """`environment`: settings of the control plane."""
    folder, place = temporary.mktemp("cluster"), secrets.token_hex(4)
    with (
        running_stack(temporary.mktemp("stack") / "home", PERDURE_HEARTBEAT="3s", **environment) as stack,
        kube_api.namespace() as space,
        kube_api.simulated_nodes(3, CAPACITY, {PLACE: place, **LABELS}) as nodes,
        account(kube_api, space, folder) as kubeconfig,
    ):
        add_simulated_cluster(stack, NAME, folder, space)
        with running_worker(stack, NAME, kubeconfig) as worker:
            made = Field(stack, worker, space, nodes, place)
            paths = [f"/clusters/{NAME}/nodes/{node}" for node in nodes]
            eventually(lambda: all(stack.ask("GET", path).json().get("ready") for path in paths), 60, "known nodes")
            applied = stack.ask("POST", "/scheduling-documents:apply", json={"documents": DOCUMENTS})
            assert applied.status_code == 200, applied.text
            yield made


@pytest.mark.timeout(400)
@pytest.mark.parametrize("step", [None, "found", "opened"])
def test_pods_run_where_the_decision_has_them_also_when_the_worker_dies_at_their_gates(
    field: Field, step: str | None
) -> None:
    last = step or "plain"
    fired = None if step is None else field.worker.arm(f"kube-gate:{step}")
    wide = field.submit(f"wide-{last}", nodes=2, gpus=8)
    small = field.submit(f"small-{last}", nodes=2, gpus=4)
    late = field.submit(f"late-{last}", nodes=3, gpus=8)
    for job in (wide, small):
        assert field.until_it_runs(job) == field.decided(job)
    assert len(set(field.decided(wide))) == 2
    assert field.stack.until(late, ("Queued",), PATIENCE)["attempt"] == 0
    assert field.pods(late) == []
    for job in (wide, small):
        field.finish(job)
    assert sorted(field.until_it_runs(late)) == sorted(field.nodes)
    assert field.until_it_runs(late) == field.decided(late)
    field.finish(late)
    assert fired is None or fired.exists()
