"""Real pods on two real nodes: they find each other, die of real causes, and leave nothing on the machine."""

import os
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from deploy.testcluster import cgroups, cluster, kwok, leftovers, network, node_files, nodes
from deploy.testcluster.cluster import Cluster
from deploy.testcluster.images import BASE, Image, write
from deploy.testcluster.layout import REAL_NODES
from deploy.testcluster.progress import to_stderr
from tests.support.cluster import Namespace, TestCluster
from tests.support.polling import eventually

pytestmark = pytest.mark.pods
NODE_A, NODE_B = REAL_NODES
ANYBODY = {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000}
# The first pod says a word to whoever calls; the second calls it by its name, as soon as the name is known.
GANG = """
echo here > /data/$JOB_COMPLETION_INDEX
if [ $JOB_COMPLETION_INDEX = 0 ]; then echo word | nc -l -p 5000; exit; fi
until nc gang-0.gang 5000 < /dev/null 2> /dev/null; do sleep 0.2; done
"""


def pod(name: str, command: list[str], **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": BASE, "command": command, **spec.pop("main", {})}
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {**spec, "containers": [container]}}


def once(name: str, command: list[str], **spec: Any) -> dict[str, Any]:
    return pod(name, command, restartPolicy="Never", **spec)


def ended(space: Namespace, name: str) -> dict[str, Any]:
    """How the container of a pod ended, once it has."""

    def terminated() -> dict[str, Any] | None:
        statuses = space.pod(name)["status"].get("containerStatuses", [])
        state: dict[str, Any] | None = statuses[0]["state"].get("terminated") if statuses else None
        return state

    return eventually(terminated, 60, f"the end of {name}")


def create(space: Namespace, body: dict[str, Any]) -> None:
    space.api.post(f"{space.path}/pods", body)


def test_a_gang_over_two_nodes_shares_names_connections_and_a_volume(kube_nodes: TestCluster) -> None:
    with kube_nodes.namespace() as space:
        create_gang(space)
        pods = eventually(lambda: done(space), 60, "the gang's end")
        assert {one["spec"]["nodeName"] for one in pods} == set(REAL_NODES)
        assert {one["status"]["phase"] for one in pods} == {"Succeeded"}
        assert (
            space.log(next(one["metadata"]["name"] for one in pods if "gang-1" in one["metadata"]["name"])) == "word\n"
        )
        create(space, once("look", ["ls", "/data"], volumes=[DATA], main={"volumeMounts": [MOUNT]}))
        assert ended(space, "look")["exitCode"] == 0
        assert space.log("look").split() == ["0", "1"]


DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
MOUNT = {"name": "data", "mountPath": "/data"}


def create_gang(space: Namespace) -> None:
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    space.api.post(f"{space.path}/persistentvolumeclaims", {"metadata": {"name": "data"}, "spec": claim})
    names = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"app": "gang"}}
    space.api.post(f"{space.path}/services", {"metadata": {"name": "gang"}, "spec": names})
    apart = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "gang"}},
    }
    body = once(
        "gang",
        ["sh", "-c", GANG],
        subdomain="gang",
        securityContext=ANYBODY,
        topologySpreadConstraints=[apart],
        volumes=[DATA],
        main={"volumeMounts": [MOUNT]},
    )
    template = {"metadata": {"labels": {"app": "gang"}}, "spec": body["spec"]}
    two = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": 0}
    space.api.post(space.jobs, {"metadata": {"name": "gang"}, "spec": {**two, "template": template}})


def done(space: Namespace) -> list[dict[str, Any]]:
    pods = space.pods(labelSelector="app=gang")
    return pods if pods and all(one["status"]["phase"] in ("Succeeded", "Failed") for one in pods) else []


@pytest.mark.parametrize(
    ("command", "main", "code", "reason"),
    [
        pytest.param(["true"], {}, 0, "Completed", id="exit 0"),
        pytest.param(["sh", "-c", "exit 42"], {}, 42, "Error", id="exit 42"),
        pytest.param(
            ["dd", "if=/dev/zero", "of=/dev/null", "bs=256M", "count=1"],
            {"resources": {"limits": {"memory": "32Mi"}}},
            137,
            "OOMKilled",
            id="out of memory",
        ),
        pytest.param(["/nowhere"], {}, 128, "StartError", id="no such program"),
    ],
)
def test_the_kubelet_says_how_a_container_ended(
    kube_nodes: TestCluster, command: list[str], main: dict[str, Any], code: int, reason: str
) -> None:
    with kube_nodes.namespace() as space:
        create(space, once("one", command, main=main))
        state = ended(space, "one")
        assert (state["exitCode"], state["reason"]) == (code, reason)


def test_an_image_that_is_loaded_runs_on_every_node_and_another_cannot_be_pulled(
    kube_nodes: TestCluster, tmp_path: Path
) -> None:
    name = "perdure.test/loaded:1"
    busybox = subprocess.run(["which", "busybox"], capture_output=True, text=True, check=True).stdout.strip()
    layer = tmp_path / "layer.tar"
    subprocess.run(["tar", "-C", Path(busybox).parent, "-cf", layer, "busybox"], check=True)
    write(tmp_path / "image.tar", [Image(name, [layer.read_bytes()], {"Entrypoint": ["/busybox", "echo", "loaded"]})])
    kube_nodes.load_image(tmp_path / "image.tar")
    with kube_nodes.namespace() as space:
        for node in REAL_NODES:
            container = {"name": "main", "image": name, "imagePullPolicy": "Never"}
            placed = {"nodeName": node, "restartPolicy": "Never", "containers": [container]}
            create(space, {"metadata": {"name": node}, "spec": placed})
        for node in REAL_NODES:
            assert ended(space, node)["exitCode"] == 0
            assert space.log(node) == "loaded\n"
        create(space, once("absent", ["true"], main={"image": "perdure.test/absent:1"}))
        waiting = eventually(lambda: waiting_for(space, "absent", "ErrImagePull"), 60, "the failed pull")
        assert "perdure.test/absent:1" in waiting["message"]


def waiting_for(space: Namespace, name: str, reason: str) -> dict[str, Any] | None:
    for status in space.pod(name)["status"].get("containerStatuses", []):
        state: dict[str, Any] = status["state"].get("waiting", {})
        if state.get("reason") == reason:
            return state
    return None


def test_pods_reach_services_the_api_server_and_this_machine(kube_nodes: TestCluster) -> None:
    script = """
    until nc greeter 80 < /dev/null 2> /dev/null; do sleep 0.2; done
    nc -w 5 kubernetes.default.svc 443 < /dev/null && echo api
    nc -w 5 "$HERE" "$PORT" < /dev/null
    """
    with kube_nodes.namespace() as space, speaking("machine", kube_nodes.host_address) as port:
        create(space, pod("greeter", ["sh", "-c", "while true; do echo service | nc -l -p 8080; done"]))
        service = {"selector": {"app": "greeter"}, "ports": [{"port": 80, "targetPort": 8080}]}
        space.api.post(f"{space.path}/services", {"metadata": {"name": "greeter"}, "spec": service})
        seen = [{"name": "HERE", "value": kube_nodes.host_address}, {"name": "PORT", "value": str(port)}]
        create(space, once("asker", ["sh", "-c", script], main={"env": seen}))
        assert ended(space, "asker")["exitCode"] == 0
        assert space.log("asker").split() == ["service", "api", "machine"]


@contextmanager
def speaking(word: str, address: str) -> Iterator[int]:
    """A server of this machine that says a word to whoever connects."""

    class Speaker(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(f"{word}\n".encode())

    with socketserver.ThreadingTCPServer((address, 0), Speaker) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_node_whose_kubelet_stands_still_is_not_ready_until_it_goes_on(kube_nodes: TestCluster) -> None:
    servers = kube_nodes.cluster.servers
    nodes.pause_kubelet(servers, NODE_B)
    try:
        eventually(lambda: NODE_B not in kwok.ready_nodes(kube_nodes.api), 60, "node-b is not Ready")
        assert NODE_A in kwok.ready_nodes(kube_nodes.api)
    finally:
        nodes.continue_kubelet(servers, NODE_B)
    eventually(lambda: NODE_B in kwok.ready_nodes(kube_nodes.api), 60, "node-b is Ready")


def test_pods_outlive_a_kubelet_that_is_ended_and_started_again(kube_nodes: TestCluster) -> None:
    layout, servers = kube_nodes.cluster.layout, kube_nodes.cluster.servers
    with kube_nodes.namespace() as space:
        create(space, pod("lasting", ["sleep", "600"], nodeName=NODE_A))
        before = eventually(lambda: running_since(space, "lasting"), 60, "the pod runs")
        nodes.stop_kubelet(servers, NODE_A)
        try:
            eventually(lambda: NODE_A not in kwok.ready_nodes(kube_nodes.api), 60, "node-a is not Ready")
        finally:
            nodes.start_kubelet(layout, servers, NODE_A, to_stderr)
        eventually(lambda: NODE_A in kwok.ready_nodes(kube_nodes.api), 60, "node-a is Ready")
        assert eventually(lambda: running_since(space, "lasting"), 60, "the pod runs still") == before


def running_since(space: Namespace, name: str) -> str | None:
    statuses = space.pod(name)["status"].get("containerStatuses", [])
    since: str | None = statuses[0]["state"].get("running", {}).get("startedAt") if statuses else None
    return since


def test_simulated_gpus_are_counted_by_the_scheduler(kube_nodes: TestCluster) -> None:
    nodes.simulate_gpus(kube_nodes.cluster.layout, NODE_A, 1)
    with kube_nodes.namespace() as space:
        one = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
        for name in ("first", "second"):
            create(space, pod(name, ["sleep", "60"], main=one))
        placed = eventually(
            lambda: [one for one in space.pods() if one["spec"].get("nodeName")], 30, "a pod on the GPU"
        )
        refused = next(one for one in space.pods() if one["metadata"]["name"] != placed[0]["metadata"]["name"])
        sentence = eventually(lambda: unschedulable(space, refused["metadata"]["name"]), 30, "the scheduler's sentence")
        assert placed[0]["spec"]["nodeName"] == NODE_A
        assert "Insufficient nvidia.com/gpu" in sentence


def unschedulable(space: Namespace, name: str) -> str:
    conditions = space.pod(name)["status"].get("conditions", [])
    return next((item["message"] for item in conditions if item.get("reason") == "Unschedulable"), "")


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room for the names of sockets, which pytest's own do not."""
    with tempfile.TemporaryDirectory(prefix="perdure-") as folder:
        yield Path(folder)


def test_a_cluster_that_is_ended_with_pods_on_it_leaves_nothing(kube_nodes: TestCluster, short_path: Path) -> None:
    started = cluster.up(short_path / "state", real=True)
    seen = TestCluster(started, started.api())
    space = Namespace("default", seen.api)
    for node in REAL_NODES:
        secret = {"name": "memory", "emptyDir": {"medium": "Memory"}}
        mounted = {"volumeMounts": [{"name": "memory", "mountPath": "/memory"}]}
        create(space, pod(node, ["sleep", "600"], nodeName=node, volumes=[secret], main=mounted))
    eventually(lambda: all(one["status"]["phase"] == "Running" for one in space.pods()), 60, "pods run")
    pods = leftovers_of(started)
    assert all(pods.values()), pods
    seen.api.close()
    cluster.down(short_path / "state")
    assert leftovers_of(started) == {kind: [] for kind in pods}
    assert list(short_path.iterdir()) == []


def leftovers_of(started: Cluster) -> dict[str, list[str]]:
    """What a cluster has on this machine, by kind."""
    layout = started.layout
    arguments = (str(layout.run), str(layout.folder))
    return {
        "processes": [
            " ".join(process.info["cmdline"])
            for process in psutil.process_iter(["cmdline"])
            if any(argument in word for word in process.info["cmdline"] or () for argument in arguments)
        ],
        "mounts": [str(path) for folder in (layout.run, layout.folder) for path in leftovers.mounts_below(folder)],
        "control groups": [path for path, _, _ in os.walk(cgroups.ROOT) if Path(path).name == layout.cgroup],
        "namespaces": [str(path) for path in network.NAMESPACES.glob(layout.netns)],
        "links": [name for name in psutil.net_if_addrs() if name == layout.host_link],
        "plug-ins' notes": [str(path) for path in leftovers.PLUGIN_RESULTS.glob(f"*{layout.id}*")],
        "log links": [
            str(path)
            for path in leftovers.LEGACY_LOGS.glob("*.log")
            if os.readlink(path).startswith(str(layout.folder))
        ],
        "folders": [str(path) for path in (layout.run, node_files.folder(layout, NODE_A)) if path.exists()],
    }
