"""The chart on a real API server: installed, upgraded, rolled back, removed, by the real helm."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.helm.conftest import CHART, Helm
from tests.support.cluster import Namespace, TestCluster

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

VALUES = Path(__file__).parent / "values" / "external.yaml"
KINDS = ("apps/v1/deployments", "v1/services", "batch/v1/jobs", "policy/v1/poddisruptionbudgets", "v1/configmaps")


@pytest.fixture
def space(kube_api: TestCluster) -> Iterator[Namespace]:
    """A namespace in which only restricted pods are let in, as everywhere where the chart is used with care."""
    with kube_api.namespace({"pod-security.kubernetes.io/enforce": "restricted"}) as made:
        yield made


def deployed(cluster: TestCluster, space: Namespace) -> dict[str, Any]:
    """What of the release there is, by kind and name."""
    found = {}
    for kind in KINDS:
        prefix = "/api" if kind.startswith("v1/") else "/apis"
        version, _, plural = kind.rpartition("/")
        for item in cluster.api.items(f"{prefix}/{version}/namespaces/{space.name}/{plural}"):
            if item["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "perdure":
                found[f"{plural}/{item['metadata']['name']}"] = item
    return found


def replicas(cluster: TestCluster, space: Namespace) -> int:
    return int(deployed(cluster, space)["deployments/x-perdure-api"]["spec"]["replicas"])


def test_a_release_is_installed_upgraded_rolled_back_and_leaves_nothing(
    kube_api: TestCluster, space: Namespace, helm: Helm, tmp_path: Path
) -> None:
    own = {"clusters": [{"name": "here", "namespace": space.name}]}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    place = ("--kubeconfig", kube_api.kubeconfig, "--namespace", space.name)
    chosen = ("--values", VALUES, "--values", tmp_path / "own.yaml", "--no-hooks")
    helm("install", "x", CHART, *place, *chosen)
    assert {"deployments/x-perdure-api", "deployments/x-perdure-worker", "deployments/x-perdure-cluster-here"} <= set(
        deployed(kube_api, space)
    )
    assert "jobs/x-perdure-migrate-1" in deployed(kube_api, space)
    helm("upgrade", "x", CHART, *place, *chosen, "--set", "api.replicas=3")
    assert replicas(kube_api, space) == 3
    jobs = {name for name in deployed(kube_api, space) if name.startswith("jobs/")}
    assert jobs == {"jobs/x-perdure-migrate-2", "jobs/x-perdure-cluster-here-add-2"}
    helm("rollback", "x", "1", *place, "--no-hooks")
    assert replicas(kube_api, space) == 2
    history = json.loads(helm("history", "x", *place, "--output", "json").stdout)
    assert [entry["status"] for entry in history] == ["superseded", "superseded", "deployed"]
    helm("uninstall", "x", *place, "--no-hooks", "--cascade", "foreground", "--wait")
    assert deployed(kube_api, space) == {}


def test_the_api_server_takes_every_object_of_every_set_of_values(
    kube_api: TestCluster, space: Namespace, helm: Helm, tmp_path: Path
) -> None:
    """In a dry run, which checks all but what would come of it; under a name that YAML might take for a truth value."""
    place = ("--kubeconfig", kube_api.kubeconfig, "--namespace", space.name)
    for values in sorted(VALUES.parent.glob("*.yaml")):
        given = yaml.safe_load(values.read_text())
        given["clusters"] = [
            {**each, "namespace": space.name, "createNamespace": False} for each in given.get("clusters", [])
        ]
        (tmp_path / values.name).write_text(yaml.safe_dump(given))
        helm("install", "y", CHART, *place, "--values", tmp_path / values.name, "--dry-run=server")
