"""The rights of a cluster's worker: those that `perdure clusters rbac` prints suffice for all that it does, and each of
them is used. What it asked for is read from the API server's audit log.

Nodes and pods are simulated: no container takes a command or has a log, so some answers are errors. That the worker may
ask is what counts here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from websockets.sync.client import connect

from activities.adapters.kubernetes import rbac
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.janitor import Janitor
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import ROLE
from activities.adapters.kubernetes.objects.keeper import keeper
from activities.adapters.kubernetes.objects.render import preview
from activities.adapters.objects_folder import FolderObjects
from definitions.attempt import AttemptLaunch
from definitions.cluster import ClusterSettings
from definitions.pod_needs import PodNeeds
from tests.activities.runtime_world import launch_of
from tests.support.cluster import Namespace, TestCluster
from tests.support.cluster_worker import add_simulated_cluster, least_account, running_worker
from tests.support.minio import Minio
from tests.support.placed_jobs import placed_job
from tests.support.polling import eventually
from tests.support.stack import Stack, running_stack

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]
MUCH = 240.0  # seconds
NAME = "north-1"
PLACE = "perdure.test/place"
CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110"}
RUN_FOR = "fake.perdure.dev/run-for"
HOUR = timedelta(hours=1)
Right = tuple[str, str, str]  # verb, group, resource with its part; of what is no resource: verb, "", path

# What the API server lets everybody do who is known to it.
EVERYBODYS: set[Right] = {("create", "authorization.k8s.io", "selfsubjectaccessreviews"), ("get", "", "/version")}
# Rights that no audit log shows: from version 1.35 on the server asks for them as well when a session opens.
ASKED_ALONG: set[Right] = {("create", "", "pods/exec"), ("create", "", "pods/portforward")}


@dataclass(frozen=True)
class Field:
    """A control plane with one cluster, whose worker has the least rights."""

    stack: Stack
    cluster: TestCluster
    space: Namespace
    kubeconfig: Path
    nodes: list[str]

    def submit(self, name: str, **spec: Any) -> str:
        body = {"command": ["train"], "cluster": NAME, "placement": {"nodeSelector": {PLACE: self.space.name}}}
        return self.stack.submit({**body, "gracePeriod": "1s", **spec}, name=name)

    def until_it_runs(self, job: str) -> dict[str, Any]:
        """Its pod."""
        self.stack.until(job, ("Running",), MUCH)
        (pod,) = self.space.pods(labelSelector=f"perdure.dev/job={job}")
        return pod

    def cancel(self, job: str) -> None:
        self.stack.ask("POST", f"/jobs/{job}:cancel", json={})
        assert self.stack.until(job, seconds=MUCH)["phase"] == "Cancelled"

    def get(self, path: str) -> dict[str, Any]:
        answer = self.stack.ask("GET", path, seconds=MUCH)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def asked(self) -> list[dict[str, Any]]:
        return self.cluster.audit(self.space.name, rbac.NAME)

    def rights(self) -> set[Right]:
        """Of what the worker has asked for until now."""
        return {right(event) for event in self.asked()}


@pytest.fixture(scope="module")
def field(kube_api: TestCluster, minio: Minio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("cluster")
    environment = {
        "PERDURE_OBJECT_STORE": f"s3://{minio.bucket()}",
        "PERDURE_S3_ENDPOINT": minio.endpoint,
        "PERDURE_SWEEP": "1s",
        **minio.environment,
    }
    with (
        running_stack(tmp_path_factory.mktemp("stack") / "home", **environment) as stack,
        kube_api.namespace() as space,
        kube_api.simulated_nodes(2, CAPACITY, {PLACE: space.name}) as nodes,
        least_account(kube_api, space, folder) as kubeconfig,
    ):
        add_simulated_cluster(stack, NAME, folder, space)
        with running_worker(stack, NAME, kubeconfig):
            yield Field(stack, kube_api, space, kubeconfig, nodes)


def test_every_right_of_the_worker_is_used_and_it_needs_no_other(field: Field) -> None:
    refused = field.submit("refused", nodes=2, priorityClass="no-such-class")  # its pods: the Job itself is taken
    check(field)
    with volume_by_hand(field) as storage:
        kept = field.submit("kept", storage=storage)
        look_into(field, kept, field.until_it_runs(kept))
        keep(field, kept)
        assert field.stack.ask("DELETE", f"/jobs/{kept}").status_code == 204
        eventually(lambda: is_forgotten(field, kept), MUCH, "its volumes are looked for, to be deleted")
    drain(field)
    with placed_job(field.cluster, field.space, field.nodes[1]) as places:
        eventually(lambda: places() == [field.nodes[1]], MUCH, "a pod is let to its node")
    eventually(lambda: "no-such-class" in field.get(f"/jobs/{refused}")["reason"], MUCH, "why it gets no pods is told")
    assert field.get(f"/jobs/{refused}/objects")["changes"] == []  # a Service among them: it has two pods
    field.cancel(refused)
    remove_strays(field)
    forbidden = [event for event in field.asked() if event["responseStatus"]["code"] == 403]
    assert forbidden == []
    granted = {(rule.verb, rule.kind.group, resource(rule.kind.plural, rule.subresource)) for rule in rbac.rules()}
    assert field.rights() - EVERYBODYS == granted - ASKED_ALONG


def check(field: Field) -> None:
    """The worker's own look at its rights and at the cluster."""
    answer = field.stack.ask("POST", f"/clusters/{NAME}:check", seconds=MUCH)  # it may not have begun yet
    assert answer.status_code == 200, answer.text
    told = {each["what"]: each for each in answer.json()["findings"]}
    for what in ("access", "namespace", "objects"):
        assert told[what]["ok"], told[what]


@contextmanager
def volume_by_hand(field: Field) -> Iterator[dict[str, str]]:
    """A volume that the next claim of this class gets: here is nobody else who would make one."""
    name = f"by-hand-{field.space.name}"
    spec = {
        "storageClassName": name,
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "hostPath": {"path": "/nowhere"},
    }
    field.cluster.api.post("/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": spec})
    try:
        yield {"className": name, "request": "1Gi"}
    finally:
        field.cluster.api.delete(f"/api/v1/persistentvolumes/{name}")


def look_into(field: Field, job: str, pod: dict[str, Any]) -> None:
    """What a person may want of a running job: its objects, its log, a program beside it, a port of it."""
    assert field.get(f"/jobs/{job}/objects")["changes"] == []
    field.stack.ask("GET", f"/jobs/{job}/logs")
    for path in (f"exec?{urlencode({'argv': 'true'})}", "forward/8080"):
        session(field, f"/v1/jobs/{job}/{path}")
    for part in ("log", "exec", "portforward"):
        eventually(lambda part=part: ("get", "", f"pods/{part}") in field.rights(), MUCH, f"{part} of the pod")  # type: ignore[misc]


def session(field: Field, path: str) -> None:
    """Open one, and stay until it is over."""
    token = (field.stack.home / "admin.token").read_text().strip()
    address = f"ws://127.0.0.1:{field.stack.ports['API']}{path}"
    with connect(address, additional_headers={"Authorization": f"Bearer {token}"}) as socket:
        for _ in socket:
            pass


def keep(field: Field, job: str) -> None:
    """Let the job end. The pod that keeps what is on its volume is taken away, and the volume with it: the worker
    looks for the pod, and then does without the volume."""
    end(field, job)
    kept = {"labelSelector": f"perdure.dev/job={job},{ROLE}=keeper"}
    (pod,) = eventually(lambda: field.space.pods(**kept), MUCH, "the keeper")
    (claim,) = field.space.api.items(claims := f"{field.space.path}/persistentvolumeclaims")
    field.space.api.delete(f"{claims}/{claim['metadata']['name']}")
    field.space.api.delete(f"{field.space.path}/pods/{pod['metadata']['name']}", gracePeriodSeconds="0")
    view = field.stack.until(job, seconds=MUCH)
    assert view["phase"] == "Succeeded", view["reason"]


def is_forgotten(field: Field, job: str) -> bool:
    paths = [event["requestURI"] for event in field.asked() if event["verb"] == "list"]
    return any("/persistentvolumeclaims?" in path and job in path for path in paths)


def end(field: Field, job: str) -> None:
    for pod in field.space.pods(labelSelector=f"perdure.dev/job={job}"):
        path = f"{field.space.path}/pods/{pod['metadata']['name']}"
        field.space.api.patch(path, {"metadata": {"annotations": {RUN_FOR: "1ms"}}})


def drain(field: Field) -> None:
    job = field.submit("drained")
    node = field.until_it_runs(job)["spec"]["nodeName"]
    field.stack.ask("POST", f"/clusters/{NAME}/nodes/{node}:drain", json={"reason": "test"})
    eventually(lambda: ("create", "", "pods/eviction") in field.rights(), MUCH, "its pod is asked to leave")
    field.stack.ask("POST", f"/clusters/{NAME}/nodes/{node}:uncordon", json={})
    field.cancel(job)


def remove_strays(field: Field) -> None:
    """Objects of a job that nobody knows go when somebody says so. The janitor's clock is an hour ahead: it spares what
    is young."""
    settings = ClusterSettings(namespace=field.space.name, image="train:1")
    launch = launch_of(("true",), nodes=2, pod=PodNeeds())  # with a Service
    administrator = KubeClient(Connection(field.cluster.kubeconfig, namespace=field.space.name))
    worker = KubeClient(Connection(field.kubeconfig, namespace=field.space.name))
    try:
        made = stray_objects(launch, settings)
        for thing in made:
            administrator.create(next(kind for kind in Kind if kind.value.name == thing["kind"]), thing)
        objects = FolderObjects(field.kubeconfig.parent / "objects")
        janitor = Janitor(worker, objects, lambda ref: ref.job != launch.ref.job, lambda: datetime.now(UTC) + HOUR)
        removed = {each.kind for each in janitor.sweep(told=True) if each.deleted}
    finally:
        administrator.close()
        worker.close()
    assert removed == {thing["kind"] for thing in made}


def stray_objects(launch: AttemptLaunch, settings: ClusterSettings) -> list[dict[str, Any]]:
    """One of each kind that an attempt can leave."""
    made = list(preview(launch, settings, datetime.now(UTC)))
    for thing in made:
        thing["metadata"].pop("ownerReferences", None)  # else the Service went with its owner
    return [*made, keeper(launch.ref, PodNeeds(), settings, "stray-keeper", secret="none", claim="none")]


def right(event: dict[str, Any]) -> Right:
    thing = event.get("objectRef")
    if thing is None:
        return event["verb"], "", event["requestURI"]
    return event["verb"], thing.get("apiGroup", ""), resource(thing["resource"], thing.get("subresource", ""))


def resource(plural: str, part: str) -> str:
    return f"{plural}/{part}" if part else plural
