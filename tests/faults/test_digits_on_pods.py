"""The digits example in real pods on two nodes, disturbed on purpose: it ends with the bits of the undisturbed run.

The control plane runs beside the cluster and the cluster's worker beside it, as `perdure up` and `perdure clusters
worker` start them; pods take the working directory from a real S3 server, and leave logs and artifacts there. What
really ran is read from the API server, its audit log, and the job's volume, which is a folder of this machine.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.testcluster import kwok
from deploy.testcluster.layout import REAL_NODES
from perdure.client import Client, Run
from tests.support.cluster import Namespace, TestCluster
from tests.support.cluster_audit import ClusterAuditor
from tests.support.cluster_worker import ClusterWorker, account, add_cluster, running_worker
from tests.support.images import Images
from tests.support.kubelets import paused
from tests.support.minio import Minio
from tests.support.polling import eventually
from tests.support.stack import FINAL, Stack, running_stack, wait_for

# It trains for minutes, since there must be a middle to be disturbed in.
pytestmark = [pytest.mark.pods, pytest.mark.timeout(900)]
DIGITS = Path(__file__).parents[2] / "examples" / "digits"
NAME = "north-1"
STEPS, SAVE_EVERY = 900, 50
WORKER_DIES_AT, KUBELET_STOPS_AT, POD_DIES_AT = 60, 120, 500
SILENT_STEPS = 100  # ten seconds: twice the patience with a node
BETWEEN = range(15, 40)  # steps after a save: amid nothing but training
LEAST_ACCURACY = 0.95
MUCH = 300.0  # seconds
TIMING = {"PERDURE_HEARTBEAT": "3s", "PERDURE_SAFETY_POLL": "5s", "PERDURE_CLUSTER_WATCH": "1s"}
# On two nodes while both may be used; an attempt avoids the node of a pod that was taken away.
APART = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "podAffinityTerm": {
                    "labelSelector": {"matchLabels": {"perdure.dev/role": "rank"}},
                    "topologyKey": "kubernetes.io/hostname",
                },
            }
        ]
    }
}


@dataclass(frozen=True)
class Field:
    """A control plane with a cluster of two real nodes."""

    stack: Stack
    worker: ClusterWorker
    cluster: TestCluster
    space: Namespace

    def submit(self, client: Client, name: str, step_seconds: float, steps: int = STEPS) -> Run:
        """The example's own job.yaml, for a cluster."""
        document: dict[str, Any] = yaml.safe_load((DIGITS / "job.yaml").read_text())
        document["metadata"]["name"] = name
        options = {"--steps": steps, "--save-every": SAVE_EVERY, "--step-seconds": step_seconds}
        document["spec"] |= {
            "args": [str(word) for option in options.items() for word in option],
            "cluster": NAME,
            "placement": {"affinity": APART},
        }
        return client.submit(document, folder=DIGITS)

    def pods(self, job: str) -> list[dict[str, Any]]:
        """The pods that are there of its ranks, by rank."""
        found = self.space.pods(labelSelector=f"perdure.dev/job={job},perdure.dev/role=rank")
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def places(self, job: str) -> list[str]:
        return [pod["spec"].get("nodeName", "") for pod in self.pods(job)]

    def claims(self, job: str) -> list[dict[str, Any]]:
        return self.space.api.items(f"{self.space.path}/persistentvolumeclaims", labelSelector=f"perdure.dev/job={job}")

    def step(self, job: str) -> int:
        """The last step in the progress file, on the volume itself."""
        for claim in self.claims(job):
            volume = self.space.api.find(f"/api/v1/persistentvolumes/{claim['spec'].get('volumeName', 'none')}")
            path = Path(volume["spec"]["hostPath"]["path"] if volume else "/none", "run", "progress.jsonl")
            lines = path.read_text().splitlines() if path.exists() else []
            return max((int(json.loads(line)["step"]) for line in lines[-3:-1]), default=0)
        return 0

    def until_step(self, run: Run, step: int, places: range = range(SAVE_EVERY)) -> int:
        """Return which step was reached once it is this one, and lies so many steps after a save."""

        def reached() -> int | None:
            now = self.step(run.id)
            if run.refresh().phase in FINAL:
                raise AssertionError(f"{run.view.phase} before step {step}: {run.view.reason}\n{self.last_words(run)}")
            return now if now >= step and now % SAVE_EVERY in places else None

        return eventually(reached, MUCH, f"step {step} of {run.view.name}")

    def until_attempt(self, run: Run, number: int) -> None:
        eventually(
            lambda: (run.refresh().attempt, run.view.phase) == (number, "Running"), MUCH, f"attempt {number} runs"
        )

    def result(self, run: Run) -> dict[str, Any]:
        """Wait for the end, and read what the job left."""
        view = eventually(lambda: run.refresh() if run.refresh().phase in FINAL else None, MUCH, "the end")
        assert view.phase == "Succeeded", f"{view.reason}\n{self.last_words(run)}"
        found: dict[str, Any] = json.loads(run.artifact("result.json"))
        return found

    def last_words(self, run: Run) -> str:
        """The end of each rank's log, to see why a run failed."""
        said = []
        for attempt in run.attempts():
            for rank in range(2):
                which = {"attempt": attempt.number, "rank": rank, "limit": 10000}
                page = self.stack.ask("GET", f"/jobs/{run.id}/logs", params=which).json()
                said += [f"attempt {attempt.number}, rank {rank}: {line['text']}" for line in page["items"][-12:]]
        return "\n".join(said)


@pytest.fixture(scope="module")
def field(
    kube_nodes: TestCluster, pods_store: Minio, pod_images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("cluster")
    environment = {
        "PERDURE_OBJECT_STORE": f"s3://{pods_store.bucket()}",
        "PERDURE_S3_ENDPOINT": pods_store.endpoint,
        **pods_store.environment,
        **TIMING,
    }
    with (
        running_stack(tmp_path_factory.mktemp("stack") / "home", **environment) as stack,
        kube_nodes.namespace() as space,
        account(kube_nodes, space, folder) as kubeconfig,
    ):
        spec = {
            "namespace": space.name,
            "image": pod_images.training,
            "agentImage": pod_images.perdure,
            "imagePullPolicy": "Never",
            "storage": {"className": "folders", "size": "1Gi", "shared": True},
            "patience": {"node": "5s"},
        }
        add_cluster(stack, NAME, folder, spec)
        with running_worker(stack, NAME, kubeconfig) as worker:
            yield Field(stack, worker, kube_nodes, space)


def test_killed_in_every_way_it_ends_with_the_bits_of_the_undisturbed_run(field: Field) -> None:
    with Client.from_config(field.stack.home) as client:
        calm = field.submit(client, "undisturbed", 0.0)
        expected = field.result(calm)
        assert len(list(calm.attempts())) == 1
        run = field.submit(client, "digits", 0.1)
        _kill_the_worker(field, run)
        _stop_a_kubelet(field, run)
        killed_at = _delete_a_pod(field, run)
        found = field.result(run)
        assert found == expected
        assert found["accuracy"] >= LEAST_ACCURACY
        _look_at_attempts(run, killed_at)
        _its_loss_is_told(run, STEPS - 1)
        _look_at_what_is_left(field, run)


def test_a_worker_that_dies_amid_what_a_volume_needs_goes_on_with_it(field: Field) -> None:
    """Steps of launch and collection that only a job with a volume comes to."""
    fired = [field.worker.arm(hook) for hook in ("kube-launch:volume", "kube-keeper:made")]
    with Client.from_config(field.stack.home) as client:
        run = field.submit(client, "amid", 0.0)
        assert field.result(run)["steps"] == STEPS
        for hook in fired:
            wait_for(hook)
        assert len(list(run.attempts())) == 1
        auditor = ClusterAuditor(field.cluster, field.space)
        assert (auditor.attempts("amid"), auditor.pods_made("amid")) == ([1], {1: 2})
        _nothing_is_left(auditor, run)


def test_a_node_that_is_drained_lets_a_job_save_and_go_on_elsewhere(field: Field) -> None:
    """By our own command, then by what `kubectl drain` does. It comes back to no step that it had reached."""
    with Client.from_config(field.stack.home) as client:
        run = field.submit(client, "moved", 0.1, steps=3 * SAVE_EVERY)
        _moves(field, run, 2, lambda node: field.stack.run("nodes", "drain", node, "--reason", "test"))
        _moves(field, run, 3, lambda node: _drain_as_kubectl_does(field, node))
        assert field.result(run)["steps"] == 3 * SAVE_EVERY
        _nothing_is_left(ClusterAuditor(field.cluster, field.space), run)


def _moves(field: Field, run: Run, attempt: int, drain: Callable[[str], object]) -> None:
    """Drain the node of rank 1 long after a save of the job's own rhythm: it goes on from a later step elsewhere."""
    reached = field.until_step(run, field.step(run.id) + 1, BETWEEN)
    node = field.places(run.id)[1]
    drain(node)
    field.until_attempt(run, attempt)
    left, present = list(run.attempts())[-2:]
    assert left.failure == "evicted", left.reason
    assert (present.from_step or 0) >= reached, "it saved when it was asked to leave"
    assert node not in field.places(run.id)
    field.stack.run("nodes", "uncordon", node)


def _drain_as_kubectl_does(field: Field, node: str) -> None:
    """Nothing new there, and an eviction of each pod that is there."""
    field.space.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    for pod in field.space.pods(fieldSelector=f"spec.nodeName={node}"):
        name = pod["metadata"]["name"]
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        field.space.api.post(f"{field.space.path}/pods/{name}/eviction", body)


def _kill_the_worker(field: Field, run: Run) -> None:
    """The pods do not feel it, and the next worker goes on with the same attempt."""
    field.until_step(run, WORKER_DIES_AT)
    assert set(field.places(run.id)) == set(REAL_NODES)
    (before,), starts = (attempt.token for attempt in run.attempts()), field.worker.starts
    field.worker.kill()
    eventually(lambda: field.worker.starts > starts, 60, "another worker")
    field.until_step(run, KUBELET_STOPS_AT)
    assert [attempt.token for attempt in run.attempts()] == [before]
    _its_loss_is_told(run, KUBELET_STOPS_AT)


def _stop_a_kubelet(field: Field, run: Run) -> None:
    """The node of rank 1 falls silent, for longer than the patience with it: its pod is seen by nobody and runs on, so
    the gang does, and the same attempt is there when the node is heard again."""
    (before,) = (attempt.token for attempt in run.attempts())
    _, node = field.places(run.id)
    with paused(field.cluster, node):
        eventually(lambda: node not in kwok.ready_nodes(field.cluster.api), 60, f"{node} is not Ready")
        field.until_step(run, field.step(run.id) + SILENT_STEPS)
    assert [attempt.token for attempt in run.attempts()] == [before]


def _delete_a_pod(field: Field, run: Run) -> int:
    """Returns the step that had been reached."""
    reached = field.until_step(run, POD_DIES_AT, BETWEEN)
    pod = field.pods(run.id)[1]["metadata"]["name"]
    field.space.api.delete(f"{field.space.path}/pods/{pod}", gracePeriodSeconds="0")
    field.until_attempt(run, 2)
    return reached


def _look_at_attempts(run: Run, killed_at: int) -> None:
    first, second = run.attempts()
    assert (first.failure, second.failure) == ("evicted", None), first.reason
    start, reached = second.from_step or 0, max(first.reached_step or 0, killed_at)
    assert 0 < start < STEPS
    assert 0 <= reached - start <= SAVE_EVERY


def _its_loss_is_told(run: Run, reached: int) -> None:
    """From the first step to this one: by its pods while it runs, and by what was kept afterwards."""
    (loss,) = (each for each in run.metrics() if each.name == "loss")
    steps = [point.step for point in loss.points]
    assert steps[0] <= 1
    assert steps[-1] >= reached


def _look_at_what_is_left(field: Field, run: Run) -> None:
    auditor = ClusterAuditor(field.cluster, field.space)
    assert auditor.attempts("digits") == [1, 2]
    assert auditor.pods_made("digits") == {1: 2, 2: 2}
    _nothing_is_left(auditor, run)
    assert len(field.claims(run.id)) == 1
    for attempt in run.attempts():
        for rank in range(2) if attempt.from_step is not None else ():
            first = _log(field, run.id, attempt.number, rank)[0]
            assert first == f"rank {rank} resumes after step {attempt.from_step}", attempt.number
    assert "test accuracy" in _log(field, run.id, 2, 0)[-1]


def _nothing_is_left(auditor: ClusterAuditor, run: Run) -> None:
    """Of its attempts, nor of a look at the checkpoints in which a worker was killed: the next one ends its keeper."""
    eventually(lambda: auditor.strays(run.id) == [], MUCH, "nothing of an attempt is left")


def _log(field: Field, job: str, attempt: int, rank: int) -> list[str]:
    which = {"attempt": attempt, "rank": rank, "limit": 10000}
    page = field.stack.ask("GET", f"/jobs/{job}/logs", params=which).json()
    return [line["text"] for line in page["items"]]
