"""A real control plane beside a real cluster's API, whose nodes are simulated: from adding it to a job's end."""

import json
import re
import secrets
import signal
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from definitions.protocol import ARRAY_INDEX
from tests.arch.docs_source import blocks
from tests.support.cluster import Namespace, TestCluster
from tests.support.polling import eventually
from tests.support.stack import PERDURE, Stack

pytestmark = pytest.mark.kube
PAGE = Path("docs/jobs-on-kubernetes.md")
PLACE = "perdure.test/place"
CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
LABELS = {"nvidia.com/gpu.product": "H100", "nvidia.com/gpu.memory": "81559"}


class Served:
    """A cluster `north-1` of the control plane, with a worker and two nodes of its own."""

    def __init__(self, stack: Stack, space: Namespace, nodes: list[str], place: str) -> None:
        self.stack = stack
        self.space = space
        self.nodes = nodes
        self.place = place

    def ask(self, *arguments: str, check: bool = True) -> Any:
        """The JSON that a command prints."""
        return json.loads(self.stack.run(*arguments, "--json", check=check).stdout)

    def document(self, name: str, **spec: Any) -> dict[str, Any]:
        body = {
            "command": ["python", "train.py"],
            "workdir": {"mode": "none"},
            "cluster": "north-1",
            "placement": {"nodeSelector": {PLACE: self.place}},
        }
        return {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": name}, "spec": body | spec}

    def submit(self, name: str, **spec: Any) -> str:
        response = self.stack.ask("POST", "/jobs", json={"document": self.document(name, **spec)})
        assert response.status_code == 201, response.text
        identity: str = response.json()["id"]
        return identity

    def node(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.stack.ask("GET", f"/clusters/north-1/nodes/{name}").json()
        return found


@contextmanager
def worker(stack: Stack, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """`perdure clusters worker` in the foreground, stopped as Ctrl-C does; its log is shown when the test fails."""
    log = stack.home.parent / "cluster-worker.log"
    with log.open("ab") as file:
        process = subprocess.Popen(
            [PERDURE, "clusters", "worker", *arguments],
            env=stack.environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield process
    except BaseException:
        print(log.read_text()[-8000:])
        raise
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.fixture(scope="module")
def served(stack: Stack, kube_api: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = secrets.token_hex(4)
    labels = {PLACE: place, **LABELS}
    with kube_api.namespace() as space, kube_api.simulated_nodes(2, CAPACITY, labels) as nodes:
        file = tmp_path_factory.mktemp("cluster") / "north.yaml"
        file.write_text(yaml.safe_dump(cluster_document(space)))
        stack.run("clusters", "add", "north-1", "-f", str(file))
        with worker(stack, "north-1", "--kubeconfig", str(kube_api.kubeconfig)):
            made = Served(stack, space, nodes, place)
            eventually(lambda: made.ask("clusters", "show", "north-1")["worker"] == "up", 60, "the worker is there")
            eventually(lambda: set(nodes) <= node_names(made), 30, "the nodes are told of")
            yield made


def cluster_document(space: Namespace, run_for: str = "2s") -> dict[str, Any]:
    spec = {
        "namespace": space.name,
        "image": "perdure.test/train:1",
        "agentImage": "perdure.test/perdure:1",
        "storage": {"enabled": False},
        "pods": {"labels": {"fake.perdure.dev/run-for": run_for}},
    }
    return {"apiVersion": "perdure/v1", "kind": "Cluster", "metadata": {"name": "north-1"}, "spec": spec}


def node_names(served: Served) -> set[str]:
    return {each["name"] for each in served.ask("nodes", "list", "--cluster", "north-1", "--all")["items"]}


def test_a_job_runs_there_to_its_end_and_leaves_nothing(served: Served) -> None:
    job = served.submit("digits", nodes=2)
    ended = served.stack.until(job, seconds=90)
    assert (ended["phase"], ended["cluster"]) == ("Succeeded", "north-1"), ended["reason"]
    (attempt,) = served.stack.items(job, "attempts")
    assert set(attempt["nodes"]) <= set(served.nodes)
    eventually(lambda: not served.space.pods(), 30, "no pod is left")
    listed = served.ask("jobs", "list", "--cluster", "north-1")
    assert job in {each["id"] for each in listed["items"]}


def test_jobs_of_an_array_are_pods_that_know_their_index_and_who_waits_for_it_comes_after(served: Served) -> None:
    array = served.submit("sweep", array={"first": 3, "last": 7, "step": 2, "limit": 2})
    report = served.submit("report", after=[{"job": "sweep"}])
    told: set[str] = set()

    def all_are_over() -> bool:
        found = served.space.api.items(f"{served.space.path}/secrets")
        files = [b64decode(data).decode() for each in found for data in (each.get("data") or {}).values()]
        told.update(index for text in files for index in re.findall(rf'"{ARRAY_INDEX}": ?"(\d+)"', text))
        return bool(served.stack.job(report)["phase"] == "Succeeded")

    eventually(all_are_over, 120, "the array and who waits for it are over")
    assert told == {"3", "5", "7"}
    children = served.stack.items(array, "children")
    assert {(child["arrayIndex"], child["phase"]) for child in children} == {(n, "Succeeded") for n in (3, 5, 7)}
    assert served.stack.job(report)["startedAt"] >= served.stack.job(array)["endedAt"]
    eventually(lambda: not served.space.pods(), 30, "no pod is left")


def test_run_names_a_cluster_with_a_flag_and_waits(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(served.document("flagged")))
    served.stack.run("apply", "-f", str(file), "--wait", timeout=120)
    plan = served.stack.run("run", "--dry-run", "--workdir", "none", "--cluster", "north-1", "--", "true").stdout
    assert "perdure.test/train:1" in plan
    assert "north-1" in plan


def test_the_very_objects_are_what_the_cluster_would_take(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    document = served.document("looked-at", nodes=2, resources={"gpus": 4})
    file.write_text(yaml.safe_dump(document))
    text = served.stack.run("render", "-f", str(file), "--cluster", "north-1").stdout
    made = list(yaml.safe_load_all(text))
    assert [each["kind"] for each in made] == ["Secret", "Job", "Service"]
    limits = made[1]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/gpu"] in (4, "4")
    assert served.space.pods() == []


@pytest.mark.parametrize("body", [pytest.param(block.body, id=block.where) for block in blocks("yaml", PAGE)])
def test_a_document_of_the_page_is_what_the_cluster_would_take(served: Served, tmp_path: Path, body: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(body)
    made = list(yaml.safe_load_all(served.stack.run("render", "-f", str(file), "--cluster", "north-1").stdout))
    kinds = {each["kind"]: each for each in made}
    assert {"Secret", "Job"} <= kinds.keys()
    assert ("Service" in kinds) == (kinds["Job"]["spec"]["completions"] > 1), "names are for those who look for others"


def test_the_job_of_the_page_waits_in_the_words_of_the_scheduler(served: Served) -> None:
    """It asks for another model of GPU than these nodes have."""
    wanted = yaml.safe_load(next(blocks("yaml", PAGE)).body)["spec"]
    job = served.submit("digits-of-the-page", **wanted)
    eventually(lambda: "nodes are available" in served.stack.job(job)["reason"], 60, "the reason is told")
    told = served.stack.run("jobs", "why", job).stdout
    assert "Starting: waits" in told
    assert "nodes are available" in told
    served.stack.run("jobs", "cancel", job, "-y")
    served.stack.until(job, seconds=60)


def test_a_check_finds_what_is_missing(served: Served) -> None:
    found = served.ask("clusters", "check", "north-1", check=False)
    told = {each["what"]: each for each in found["findings"]}
    assert found["version"].startswith("v1.")
    assert told["access"]["ok"]
    assert told["namespace"]["ok"]
    assert told["objects"]["ok"], told["objects"]
    assert not told["object store"]["ok"]  # a folder of this machine, which no pod reads
    assert "kind: ClusterRole" in found["rbac"]
    assert served.stack.run("clusters", "rbac", "north-1").stdout == found["rbac"]


def test_nodes_show_what_they_have_and_who_runs_there(served: Served) -> None:
    node = served.node(served.nodes[0])
    assert (node["gpus"], node["gpuType"], node["cpus"], node["ready"]) == (8, "H100", 32.0, True)
    with lasting(served):
        job = served.submit("busy", resources={"gpus": 8})
        served.stack.until(job, ["Running"], 60)
        place = eventually(lambda: [n for n in served.nodes if served.node(n)["jobs"]], 60, "a node tells of the job")
        assert served.node(place[0])["jobs"][0]["job"] == job
        served.stack.run("jobs", "cancel", job, "-y")
        served.stack.until(job, seconds=60)


def test_a_drained_node_says_why_asks_pods_to_leave_and_is_put_back(served: Served) -> None:
    with lasting(served):
        job = served.submit("drained", retry={"limit": 0})
        served.stack.until(job, ["Running"], 60)
        (pod,) = served.space.pods()
        there = pod["spec"]["nodeName"]
        served.stack.run("nodes", "drain", there, "--reason", "new kernel")
        eventually(lambda: not served.node(there)["schedulable"], 30, "the node is out of service")
        assert "new kernel (local-admin)" in served.node(there)["cordonReason"]
        eventually(lambda: asked_to_leave(served), 30, "the pod is asked to leave")
        served.stack.run("nodes", "uncordon", there)
        eventually(lambda: served.node(there)["schedulable"], 30, "the node is back")
        assert served.node(there)["cordonReason"] == ""
        served.stack.run("jobs", "cancel", job, "-y", check=False)  # where its pod has not left by itself
        served.stack.until(job, seconds=60)


def asked_to_leave(served: Served) -> bool:
    """Whether every pod is gone or on its way out."""
    return all("deletionTimestamp" in pod["metadata"] for pod in served.space.pods())


def test_a_cluster_is_kept_while_jobs_run_there_and_an_unknown_one_is_refused(served: Served) -> None:
    with lasting(served):
        job = served.submit("holding")
        served.stack.until(job, ["Running"], 60)
        refused = served.stack.run("clusters", "remove", "north-1", "-y", check=False)
        assert refused.returncode == 6
        assert "PD-2102" in refused.stderr
        changed = served.stack.run("jobs", "objects", job).stdout
        assert "everything is as it was made" in changed, changed
        served.stack.run("jobs", "cancel", job, "-y")
        served.stack.until(job, seconds=60)
    unknown = served.stack.ask("POST", "/jobs", json={"document": served.document("lost", cluster="south-1")})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "PD-2101")
    assert "north-1" in unknown.json()["detail"]


@contextmanager
def lasting(served: Served) -> Iterator[None]:
    """Pods run for an hour meanwhile: the worker begins anew with such a description, and back again."""
    _describe(served, "1h")
    try:
        yield
    finally:
        _describe(served, "2s")


def _describe(served: Served, run_for: str) -> None:
    began = _rounds(served)
    document = cluster_document(served.space, run_for)
    response = served.stack.ask("PUT", "/clusters/north-1", json={"document": document})
    assert response.status_code == 200, response.text
    eventually(lambda: _rounds(served) > began, 60, "the worker has begun anew")


def _rounds(served: Served) -> int:
    """How often the worker has begun to serve."""
    log = (served.stack.home.parent / "cluster-worker.log").read_text()
    return log.count("working on cluster-north-1")
