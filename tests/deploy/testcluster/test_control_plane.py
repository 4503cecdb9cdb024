"""The API is a real one, and what KWOK plays on it goes as the pods' annotations say."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from deploy.testcluster import cluster, kwok, storage, tools
from deploy.testcluster.api import Api
from deploy.testcluster.errors import ClusterError
from tests.support.cluster import Namespace, TestCluster
from tests.support.polling import eventually
from tests.support.processes import matching

pytestmark = pytest.mark.kube
ROOMY = {"cpu": "96", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": "8"}
PODS = 4


def job(name: str, marks: dict[str, str], where: str = "annotations") -> dict[str, Any]:
    container = {"name": "main", "image": "perdure.test/none:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    template = {"metadata": {where: marks}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    gang = {"completions": PODS, "parallelism": PODS, "completionMode": "Indexed", "backoffLimit": 0}
    return {"metadata": {"name": name}, "spec": {**gang, "template": template}}


def finished(space: Namespace, name: str) -> dict[str, Any] | None:
    status: dict[str, Any] = space.api.get(f"{space.jobs}/{name}")["status"]
    over = {item["type"] for item in status.get("conditions", []) if item["status"] == "True"} & {"Complete", "Failed"}
    return status if over else None


def test_the_api_server_is_of_the_pinned_version(kube_api: TestCluster) -> None:
    kubernetes = next(module for module in tools.MODULES if module.name == "kubernetes")
    assert kube_api.api.get("/version")["gitVersion"] == kubernetes.version


def test_only_the_owner_reads_the_kubeconfig(kube_api: TestCluster) -> None:
    assert kube_api.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert kube_api.token in kube_api.kubeconfig.read_text()


def test_simulated_nodes_become_ready_with_what_they_are_said_to_have(kube_api: TestCluster) -> None:
    taint = {"key": "spot", "value": "soon", "effect": "NoSchedule"}
    with kube_api.simulated_nodes(50, ROOMY, {"zone": "a"}, [taint]) as names:
        nodes = kube_api.api.items("/api/v1/nodes", labelSelector="zone=a")
        assert {node["metadata"]["name"] for node in nodes} == set(names)
        assert all(node["status"]["allocatable"]["nvidia.com/gpu"] == "8" for node in nodes)
        assert all(taint in node["spec"]["taints"] for node in nodes)


def test_a_node_that_is_not_marked_as_simulated_is_left_alone(kube_api: TestCluster) -> None:
    kube_api.api.post("/api/v1/nodes", {"metadata": {"name": "real"}, "status": {"capacity": ROOMY}})
    try:
        with kube_api.simulated_nodes(1, ROOMY) as names:
            assert kwok.ready_nodes(kube_api.api) & {"real", *names} == set(names)
    finally:
        kube_api.api.delete("/api/v1/nodes/real")


@pytest.mark.parametrize("where", ["annotations", "labels"])
@pytest.mark.parametrize(
    ("marks", "counts", "codes"),
    [
        pytest.param({"run-for": "100ms"}, {"succeeded": PODS}, {0}, id="succeed"),
        pytest.param({"run-for": "100ms", "fail-percent": "100"}, {"failed": PODS}, {1}, id="fail"),
        pytest.param(
            {"run-for": "100ms", "fail-percent": "100", "exit-code": "7"}, {"failed": PODS}, {7}, id="fail with a code"
        ),
    ],
)
def test_simulated_pods_end_as_they_are_told(
    kube_api: TestCluster, where: str, marks: dict[str, str], counts: dict[str, int], codes: set[int]
) -> None:
    marks = {f"fake.perdure.dev/{name}": value for name, value in marks.items()}
    with kube_api.simulated_nodes(1, ROOMY), kube_api.namespace() as space:
        kube_api.api.post(space.jobs, job("gang", marks, where))
        status = eventually(lambda: finished(space, "gang"), 30)
        ended = [pod["status"]["containerStatuses"][0]["state"]["terminated"] for pod in space.pods()]
        assert {kind: status.get(kind) for kind in counts} == counts
        assert {state["exitCode"] for state in ended} == codes


def test_a_simulated_pod_leaves_the_message_it_was_given(kube_api: TestCluster) -> None:
    marks = {"fake.perdure.dev/run-for": "100ms", "fake.perdure.dev/message": '{"left": "a word"}'}
    with kube_api.simulated_nodes(1, ROOMY), kube_api.namespace() as space:
        kube_api.api.post(space.jobs, job("gang", marks))
        eventually(lambda: finished(space, "gang"), 30)
        states = [pod["status"]["containerStatuses"][0]["state"]["terminated"] for pod in space.pods()]
        assert {state["message"] for state in states} == {'{"left": "a word"}'}


def test_a_claim_gets_a_folder_that_all_may_write_and_loses_it_with_its_namespace(kube_api: TestCluster) -> None:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    with kube_api.namespace() as space:
        for name, named in (("default", {}), ("named", {"storageClassName": storage.OTHER_CLASS})):
            body = {"metadata": {"name": name}, "spec": {**spec, **named}}
            kube_api.api.post(f"{space.path}/persistentvolumeclaims", body)
        claims = eventually(lambda: bound(space), 20)
        assert [claim["spec"]["storageClassName"] for claim in claims] == [storage.DEFAULT_CLASS, storage.OTHER_CLASS]
        folders = [folder_of(kube_api, claim["spec"]["volumeName"]) for claim in claims]
        assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o777, 0o777]
    assert not any(folder.exists() for folder in folders)


def bound(space: Namespace) -> list[dict[str, Any]]:
    claims = space.api.items(f"{space.path}/persistentvolumeclaims")
    return claims if all(claim["status"]["phase"] == "Bound" for claim in claims) else []


def folder_of(kube_api: TestCluster, volume: str) -> Path:
    return Path(kube_api.api.get(f"/api/v1/persistentvolumes/{volume}")["spec"]["hostPath"]["path"])


def test_what_a_service_account_asks_is_written_down(kube_api: TestCluster) -> None:
    with kube_api.namespace() as space:
        token = space.api.post(f"{space.path}/serviceaccounts/default/token", {"spec": {}})["status"]["token"]
        theirs = Api(kube_api.url, kube_api.certificate, token)
        with pytest.raises(httpx.HTTPStatusError, match="403"):
            theirs.items(f"{space.path}/pods")
        theirs.close()
        asked = kube_api.audit(space.name, "default")
        assert [(event["verb"], event["objectRef"]["resource"]) for event in asked] == [("list", "pods")]
        assert asked[0]["responseStatus"]["code"] == 403


def test_a_cluster_that_is_ended_leaves_no_process_and_no_file(kube_api: TestCluster, tmp_path: Path) -> None:
    said: list[str] = []
    started = cluster.up(tmp_path / "state", real=False, say=said.append)
    servers = started.servers.all()
    assert all(server.alive() for server in servers)
    assert {server.name for server in servers} >= {"etcd", "kube-apiserver", "kwok", storage.COMPANION}
    cluster.down(tmp_path / "state", said.append)
    assert not any(server.alive() for server in servers)
    assert list(tmp_path.iterdir()) == []
    cluster.down(tmp_path / "state", said.append)
    assert said[-1] == f"no cluster in {tmp_path / 'state'}"


def test_a_start_that_fails_ends_what_it_had_started_and_keeps_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "assets" / "kube-apiserver"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho no room for me; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv(tools.ASSETS, str(broken.parent))
    state = tmp_path / "state"
    with pytest.raises(ClusterError, match=r"kube-apiserver has ended; its last words:\nno room for me"):
        cluster.up(state, real=False)
    assert [path.name for path in state.iterdir()] == ["logs"]
    assert not matching(lambda process: any(str(state) in word for word in process.cmdline()))
