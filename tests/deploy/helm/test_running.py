"""The chart with real pods: an installation serves through its Service, and a job that it is given runs to its end."""

import base64
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
import yaml

from store.tokens import new_key
from tests.deploy.helm.conftest import CHART, Helm
from tests.support.cluster import Namespace, TestCluster
from tests.support.debian_postgres import running_debian_postgres
from tests.support.images import Images, built_images, load_images
from tests.support.minio import running_minio
from tests.support.polling import eventually
from tests.support.production import make_engine_databases, running_engine
from tests.support.relay import reached_at

pytestmark = [pytest.mark.pods, pytest.mark.timeout(900)]

READY_WITHIN = 300.0
ENDS_WITHIN = 180.0


class Installation:
    """A release that serves, and a client of its API through its Service."""

    def __init__(self, space: Namespace, client: httpx.Client) -> None:
        self.space = space
        self.client = client

    def submit(self, spec: dict[str, Any]) -> str:
        name = f"job-{secrets.token_hex(4)}"
        document = {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
        answer = self.client.post(
            "/v1/jobs", json={"document": document}, headers={"Idempotency-Key": secrets.token_hex(8)}
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def until_over(self, job: str) -> dict[str, Any]:
        def over() -> dict[str, Any] | None:
            view: dict[str, Any] = self.client.get(f"/v1/jobs/{job}").json()
            return view if view["phase"] in ("Succeeded", "Failed", "Cancelled") else None

        return eventually(over, ENDS_WITHIN, f"end of job {job}")


@pytest.fixture(scope="module")
def images(kube_nodes: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Images:
    return load_images(kube_nodes, built_images(tmp_path_factory.mktemp("images")))


@pytest.fixture(scope="module")
def installation(
    kube_nodes: TestCluster, images: Images, helm: Helm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """Engine, database and object store are this machine's; all else is what the chart makes."""
    folder = tmp_path_factory.mktemp("installation")
    host = kube_nodes.host_address
    with ExitStack() as stack:
        postgres = stack.enter_context(running_debian_postgres())
        databases = make_engine_databases(postgres, "engine")
        engine = stack.enter_context(running_engine(folder / "engine", postgres, databases))
        minio = stack.enter_context(running_minio(folder / "objects", host))
        engine_port = stack.enter_context(reached_at(host, int(engine.address.rpartition(":")[2])))
        postgres_port = stack.enter_context(reached_at(host, postgres.port))
        space = stack.enter_context(kube_nodes.namespace({"pod-security.kubernetes.io/enforce": "restricted"}))
        database = postgres.create("perdure").replace("+psycopg", "").replace("127.0.0.1", host)
        key = new_key()
        given = {
            "database": {"url": database.replace(f":{postgres.port}/", f":{postgres_port}/")},
            "keys": {"secrets": base64.b64encode(secrets.token_bytes(32)).decode()},
            "admin": {"token": key},
            "objects": {"accessKeyId": minio.user, "secretAccessKey": minio.password},
        }
        for name, values in given.items():
            body = {"metadata": {"name": name}, "type": "Opaque", "stringData": values}
            space.api.post(f"{space.path}/secrets", body)
        repository, _, tag = images.perdure.rpartition(":")
        cluster = {
            "name": "here",
            "namespace": space.name,
            "settings": {"image": images.training, "imagePullPolicy": "Never", "storage": {"size": "1Gi"}},
        }
        chosen = {
            "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
            "secrets": {name: name for name in given},
            "temporal": {"address": f"{host}:{engine_port}", "namespace": "perdure"},
            "objects": {"url": f"s3://{minio.bucket()}", "endpoint": minio.endpoint},
            "api": {"replicas": 2},
            "worker": {"replicas": 1},
            "clusters": [cluster],
        }
        (folder / "values.yaml").write_text(yaml.safe_dump(chosen))
        place = ("--kubeconfig", kube_nodes.kubeconfig, "--namespace", space.name)
        wait = ("--wait", "--timeout", f"{READY_WITHIN:.0f}s")
        stack.callback(helm, "uninstall", "x", *place, "--no-hooks", "--wait", "--cascade", "foreground", check=False)
        try:
            helm("install", "x", CHART, *place, "--values", folder / "values.yaml", *wait)
        except AssertionError:
            print(told(space))
            raise
        service = space.api.get(f"{space.path}/services/x-perdure-api")
        client = stack.enter_context(
            httpx.Client(
                base_url=f"http://{service['spec']['clusterIP']}:8642",
                headers={"Authorization": f"Bearer {key}", "Host": "x-perdure-api"},
                timeout=30,
                trust_env=False,
            )
        )
        yield Installation(space, client)


def told(space: Namespace) -> str:
    """What the pods say of themselves, for a test that fails."""
    lines = []
    for pod in space.pods():
        status = pod["status"]
        lines.append(
            f"--- {pod['metadata']['name']} {status.get('phase')} {json.dumps(status.get('containerStatuses'))}"
        )
        try:
            lines.append(space.log(pod["metadata"]["name"])[-2000:])
        except Exception as error:  # a pod that has not begun has no log
            lines.append(str(error)[:300])
    return "\n".join(lines)


def test_a_request_through_the_service_makes_a_job_that_a_real_pod_runs(installation: Installation) -> None:
    code = "import os; print('hello from', os.environ['PERDURE_JOB'])"
    job = installation.submit({"command": ["python3", "-c", code], "workdir": {"mode": "none"}, "timeout": "10m"})
    over = installation.until_over(job)
    assert (over["phase"], over["exitCode"]) == ("Succeeded", 0), f"{over['reason']}\n{told(installation.space)}"
    logs = installation.client.get(f"/v1/jobs/{job}/logs")
    assert f"hello from {job}" in logs.text


def test_every_replica_of_the_api_serves(installation: Installation) -> None:
    pods = [
        pod
        for pod in installation.space.pods()
        if pod["metadata"]["labels"].get("app.kubernetes.io/component") == "api"
    ]
    assert len(pods) == 2
    for pod in pods:
        address = f"http://{pod['status']['podIP']}:8642/v1/health"
        assert httpx.get(address, headers={"Host": "x-perdure-api"}, trust_env=False).status_code == 200


def test_what_the_clusters_worker_asked_of_the_api_is_within_its_rights(
    installation: Installation, kube_nodes: TestCluster
) -> None:
    """By the API server's own audit log: nothing was refused."""
    asked = kube_nodes.audit(installation.space.name, "x-perdure-cluster-here")
    assert asked
    refused = [event for event in asked if event.get("responseStatus", {}).get("code") == 403]
    assert refused == []


def test_an_upgrade_drains_and_jobs_go_on(installation: Installation) -> None:
    job = installation.submit({"command": ["sleep", "20"], "workdir": {"mode": "none"}, "timeout": "10m"})
    wait_for(lambda: installation.client.get(f"/v1/jobs/{job}").json()["phase"] == "Running")
    restart(installation.space)
    over = installation.until_over(job)
    assert (over["phase"], over["attempt"]) == ("Succeeded", 1), over["reason"]


def restart(space: Namespace) -> None:
    """As a change of the pods' template does."""
    for item in space.api.items(f"/apis/apps/v1/namespaces/{space.name}/deployments"):
        note = {"example.org/restarted": str(time.time())}
        change = {"spec": {"template": {"metadata": {"annotations": note}}}}
        space.api.patch(f"/apis/apps/v1/namespaces/{space.name}/deployments/{item['metadata']['name']}", change)


def wait_for(holds: Callable[[], bool]) -> None:
    eventually(holds, ENDS_WITHIN, "the job runs")
