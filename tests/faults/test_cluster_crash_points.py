"""SIGKILL to a cluster's worker at every place to which only it comes: the same end, one Job per attempt, nothing left.

The API server, its controllers and its scheduler are real, and so is the worker; nodes and pods are simulated, and a
test says when its pods end. The worker is started again as a service manager would do it. What happened is read from
the API server and its audit log.
"""

import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cluster import Namespace, TestCluster
from tests.support.cluster_audit import ClusterAuditor
from tests.support.cluster_worker import ClusterWorker, account, add_simulated_cluster, running_worker
from tests.support.effects import HOOK_SIDES, cluster_hooks, effect_names, hooks
from tests.support.placed_jobs import placed_job
from tests.support.polling import eventually
from tests.support.stack import FINAL, Stack, running_stack, wait_for

NAME = "north-1"
PLACE = "perdure.test/place"
MARK = "perdure.test/mark"
CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
RUN_FOR = "fake.perdure.dev/run-for"
NOTICE = {"key": "ToBeDeletedByClusterAutoscaler", "value": "soon", "effect": "NoSchedule"}
PATIENCE = 180.0  # seconds for a worker to die, be missed, and come back; a busy machine takes many of them
TIMING = {"PERDURE_HEARTBEAT": "3s", "PERDURE_SAFETY_POLL": "2s"}
# Steps with a volume, which a simulated pod cannot have: tests/faults/test_digits_on_pods.py comes to them.
ON_REAL_PODS = ("kube-launch:volume", "kube-keeper:made")


class Served:
    """A control plane with one cluster, its worker, and two simulated nodes."""

    def __init__(
        self,
        cluster: TestCluster,
        stack: Stack,
        worker: ClusterWorker,
        space: Namespace,
        nodes: list[str],
        place: str,
    ) -> None:
        self.cluster = cluster
        self.stack = stack
        self.worker = worker
        self.space = space
        self.nodes = nodes
        self._place = place

    def submit(self, name: str, **spec: Any) -> str:
        """A job whose pods run until `finish`."""
        body = {
            "command": ["python", "train.py"],
            "cluster": NAME,
            "placement": {"nodeSelector": {PLACE: self._place}},
            "retry": {"limit": 3, "backoff": {"initial": "1s"}},
            "gracePeriod": "1s",
        }
        return self.stack.submit({**body, **spec}, name=name)

    def pods(self, job: str) -> list[dict[str, Any]]:
        return self.space.pods(labelSelector=f"perdure.dev/job={job}")

    def until_pods_run(self, job: str, count: int = 1) -> list[str]:
        """The nodes of the job's pods once so many run, and the control plane knows it."""
        self.stack.until(job, ("Running",), PATIENCE)

        def placed() -> list[str] | None:
            running = [pod for pod in self.pods(job) if pod["status"]["phase"] == "Running"]
            return [pod["spec"]["nodeName"] for pod in running] if len(running) == count else None

        return eventually(placed, PATIENCE, f"{count} pods run")

    def finish(self, job: str, phase: str = "Succeeded") -> dict[str, Any]:
        """Let every pod of the job end well, until the job is over."""

        def over() -> dict[str, Any] | None:
            for pod in self.pods(job):
                if pod["status"]["phase"] == "Running" and RUN_FOR not in (pod["metadata"].get("annotations") or {}):
                    body = {"metadata": {"annotations": {RUN_FOR: "1ms"}}}
                    self.space.api.patch(f"{self.space.path}/pods/{pod['metadata']['name']}", body)
            view = self.stack.job(job)
            return view if view["phase"] in FINAL else None

        view = eventually(over, PATIENCE, f"end of {job}")
        assert view["phase"] == phase, view["reason"]
        return view

    def let_leave(self, job: str) -> None:
        """Have pods that were asked to leave end, as a kubelet has them: a Job lets go of no others."""
        for pod in self.pods(job):
            if pod["metadata"].get("deletionTimestamp") and pod["status"]["phase"] == "Running":
                ended = {"terminated": {"exitCode": 143, "reason": "Error"}}
                container = {
                    "name": "main",
                    "image": "",
                    "imageID": "",
                    "ready": False,
                    "restartCount": 0,
                    "state": ended,
                }
                path = f"{self.space.path}/pods/{pod['metadata']['name']}/status"
                self.space.api.patch(path, {"status": {"phase": "Failed", "containerStatuses": [container]}})

    def ask(self, *question: str) -> "subprocess.CompletedProcess[str]":
        """One try. While the worker is away it takes as long as a question may."""
        return self.stack.run(*question, check=False, timeout=PATIENCE)

    def cancel(self, job: str) -> None:
        self.stack.ask("POST", f"/jobs/{job}:cancel", json={"reason": "test"})
        view = self.stack.until(job, seconds=PATIENCE)
        assert view["phase"] == "Cancelled", view["reason"]

    def attempts(self, job: str) -> list[tuple[int, str]]:
        """Each attempt with how it ended."""
        page = self.stack.ask("GET", f"/jobs/{job}/attempts").json()
        return [(one["number"], one["reason"]) for one in page["items"]]

    def node(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.stack.ask("GET", f"/clusters/{NAME}/nodes/{name}").json()
        return found

    def put_back(self) -> None:
        """Both nodes serve, whatever a scene has done to them."""
        for node in self.nodes:
            path = f"/api/v1/nodes/{node}"
            self.space.api.patch(path, {"spec": {"taints": None}})
            self.stack.run("nodes", "uncordon", node)
        eventually(lambda: all(self.node(node)["schedulable"] for node in self.nodes), 60, "both nodes serve")


Played = tuple[str, dict[int, int]]  # the job that was played, and how many pods each of its attempts should have had
Scene = Callable[[Served, str, Path], Played]


@pytest.fixture(scope="module")
def served(kube_api: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder, place = tmp_path_factory.mktemp("cluster"), secrets.token_hex(4)
    with (
        running_stack(tmp_path_factory.mktemp("stack") / "home", **TIMING) as stack,
        kube_api.namespace() as space,
        kube_api.simulated_nodes(2, CAPACITY, {PLACE: place}) as nodes,
        account(kube_api, space, folder) as kubeconfig,
    ):
        add_simulated_cluster(stack, NAME, folder, space)
        with running_worker(stack, NAME, kubeconfig) as worker:
            made = Served(kube_api, stack, worker, space, nodes, place)
            eventually(lambda: all(made.node(node).get("ready") for node in nodes), 60, "the nodes are told of")
            yield made


@pytest.fixture(scope="module")
def auditor(kube_api: TestCluster, served: Served) -> ClusterAuditor:
    return ClusterAuditor(kube_api, served.space)


def plain(served: Served, name: str, fired: Path) -> Played:
    """A job of two pods that runs and succeeds."""
    job = served.submit(name, nodes=2)
    served.finish(job)
    return job, {1: 2}


def cancelled(served: Served, name: str, fired: Path) -> Played:
    job = served.submit(name, nodes=2)
    served.until_pods_run(job, 2)
    served.cancel(job)
    return job, {1: 2}


def beaten(served: Served, name: str, fired: Path) -> Played:
    """A job that runs on while the worker says that it is there, and dies over it."""
    job = served.submit(name)
    served.until_pods_run(job)
    wait_for(fired)
    served.finish(job)
    return job, {1: 1}


def reported(served: Served, name: str, fired: Path) -> Played:
    """A node that changes while a job runs on it is told of by the next worker."""
    job = served.submit(name)
    (node,) = served.until_pods_run(job)
    served.space.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {MARK: name}}})
    wait_for(fired)
    eventually(lambda: served.node(node)["labels"].get(MARK) == name, 60, "the change is told of")
    served.finish(job)
    return job, {1: 1}


def checked(served: Served, name: str, fired: Path) -> Played:
    return _asked(served, name, "clusters", "check", NAME, "--json")


def compared(served: Served, name: str, fired: Path) -> Played:
    return _asked(served, name, "jobs", "objects", name)


def rendered(served: Served, name: str, fired: Path) -> Played:
    document = {
        "apiVersion": "perdure/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"command": ["true"], "workdir": {"mode": "none"}},
    }
    file = served.stack.home.parent / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document))
    return _asked(served, name, "render", "-f", str(file), "--cluster", NAME)


def read(served: Served, name: str, fired: Path) -> Played:
    return _waiting(served, name, fired, "logs")


def measured(served: Served, name: str, fired: Path) -> Played:
    return _waiting(served, name, fired, "metrics")


def _waiting(served: Served, name: str, fired: Path, what: str) -> Played:
    """What a job that waits for room has written is asked of the cluster, and is nothing yet."""
    job = served.submit(name, resources={"gpus": 64})
    eventually(lambda: served.pods(job), 60, "its pod waits")
    served.ask("jobs", what, name)
    wait_for(fired)
    eventually(lambda: served.ask("jobs", what, name).returncode == 0, PATIENCE, "an answer")
    served.cancel(job)
    return job, {1: 1}


def cordoned(served: Served, name: str, fired: Path) -> Played:
    """A node is taken out of service while its job runs on, and put back."""
    job = served.submit(name)
    (node,) = served.until_pods_run(job)
    served.stack.run("nodes", "cordon", node, "--reason", "test")
    eventually(lambda: not served.node(node)["schedulable"], 60, "the node is out of service")
    served.put_back()
    served.finish(job)
    return job, {1: 1}


def drained(served: Served, name: str, fired: Path) -> Played:
    job = served.submit(name)
    (node,) = served.until_pods_run(job)
    served.stack.run("nodes", "drain", node, "--reason", "test")
    return _moved(served, job, node)


def noticed(served: Served, name: str, fired: Path) -> Played:
    """A node says that it is about to go."""
    job = served.submit(name)
    (node,) = served.until_pods_run(job)
    served.space.api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": [NOTICE]}})
    return _moved(served, job, node)


def _moved(served: Served, job: str, node: str) -> Played:
    """The job's second attempt runs on the other node."""
    (other,) = (each for each in served.nodes if each != node)

    def there() -> bool:
        served.let_leave(job)
        places = {pod["spec"].get("nodeName") for pod in served.pods(job)}
        return served.stack.job(job)["attempt"] == 2 and places == {other}

    eventually(there, PATIENCE, f"the job has moved to {other}")
    served.finish(job)
    served.put_back()
    return job, {1: 1, 2: 1}


def _asked(served: Served, name: str, *question: str) -> Played:
    """A question about the cluster while a job runs: the asker may be told to ask again, and is answered then."""
    job = served.submit(name)
    served.until_pods_run(job)
    eventually(lambda: served.ask(*question).stdout.strip(), PATIENCE, "an answer")
    served.finish(job)
    return job, {1: 1}


def gated(served: Served, name: str, fired: Path) -> Played:
    """Beside a job whose worker dies, pods wait for somebody to let them to their nodes."""
    job = served.submit(name)
    served.until_pods_run(job)
    order = list(reversed(served.nodes))
    with placed_job(served.cluster, served.space, *order) as places:
        wait_for(fired)
        eventually(lambda: places() == order, PATIENCE, "each pod is at its own node")
    served.finish(job)
    return job, {1: 1}


SCENES: dict[str, Scene] = {
    "kube-launch": plain,
    "kube-collect": plain,
    "kube-stop": cancelled,
    "kube-gate": gated,
    "cluster-beat": beaten,
    "cluster-nodes": reported,
    "cluster-check": checked,
    "cluster-render": rendered,
    "cluster-compare": compared,
    "cluster-logs": read,
    "cluster-metrics": measured,
    "node-cordon": cordoned,
    "node-uncordon": cordoned,
    "node-pods": drained,
    "node-evict": drained,
    "heed-notice": noticed,
}


@pytest.mark.kube
@pytest.mark.timeout(600)  # several times that patience
@pytest.mark.parametrize("hook", [hook for hook in cluster_hooks() if hook not in ON_REAL_PODS])
def test_a_clusters_worker_that_dies_at(hook: str, served: Served, auditor: ClusterAuditor) -> None:
    name = f"{hook.replace(':', '-')}"[:17]
    starts, fired = served.worker.starts, served.worker.arm(hook)
    job, pods = SCENES[hook.split(":")[0]](served, name, fired)
    assert fired.exists(), "the scene never came to the hook"
    assert served.worker.starts > starts
    assert auditor.attempts(name) == sorted(pods), f"one Job was made for each attempt: {served.attempts(job)}"
    assert auditor.pods_made(name) == pods
    eventually(lambda: not auditor.strays(job), 60, f"nothing is left of {name}")


def test_every_hook_is_armed_in_one_of_the_tables() -> None:
    own = set(cluster_hooks())
    assert own & set(hooks()) == set()
    everywhere = {f"{effect}:{side}" for effect in effect_names() for side in HOOK_SIDES}
    assert everywhere <= own | set(hooks())
    assert {hook.split(":")[0] for hook in own - set(ON_REAL_PODS)} == set(SCENES)
    assert set(ON_REAL_PODS) <= own
