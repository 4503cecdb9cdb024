"""What the chart makes of its values, by the real helm."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from activities.adapters.kubernetes.rbac import CLUSTER_WIDE, NAMESPACED, Grant
from tests.deploy.helm.conftest import CHART, Helm
from workers.settings import Settings, variable

pytestmark = pytest.mark.kube

FOLDER = Path(__file__).parent
SETS = sorted(path.stem for path in (FOLDER / "values").glob("*.yaml"))
MONITORING = ("monitoring.coreos.com/v1/ServiceMonitor", "monitoring.coreos.com/v1/PodMonitor")
TRIAL_SECRET = "x-perdure-trial"  # its values are random
FOREIGN = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "POD_IP", "PERDURE_SECRETS_KEY")
CLIENTS = ("PERDURE_API_URL",)  # what the command line reads


def rendered(helm: Helm, name: str) -> str:
    versions = [word for version in MONITORING if name == "everything" for word in ("--api-versions", version)]
    values = FOLDER / "values" / f"{name}.yaml"
    return helm(
        "template", "x", CHART, "--namespace", "perdure", "--kube-version", "1.34.0", "--values", values, *versions
    ).stdout


def objects(helm: Helm, name: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(rendered(helm, name)) if document]


def pods(found: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in found:
        if one["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield one["metadata"]["name"], one["spec"]["template"]["spec"]


def shown(found: list[dict[str, Any]]) -> str:
    """Without what is random."""
    for one in found:
        if one["kind"] == "Secret" and one["metadata"]["name"] == TRIAL_SECRET:
            one["stringData"] = {key: "random" for key in one["stringData"]}
    return "---\n".join(yaml.safe_dump(one, sort_keys=True, width=120) for one in found)


@pytest.mark.parametrize("name", SETS)
def test_the_objects_are_those_that_were_agreed(helm: Helm, name: str) -> None:
    assert shown(objects(helm, name)) == (FOLDER / "golden" / f"{name}.yaml").read_text()


@pytest.mark.parametrize("name", SETS)
def test_helm_finds_no_fault(helm: Helm, name: str) -> None:
    done = helm("lint", "--strict", "--kube-version", "1.34.0", CHART, "--values", FOLDER / "values" / f"{name}.yaml")
    assert "0 chart(s) failed" in done.stdout


@pytest.mark.parametrize("name", SETS)
def test_every_pod_is_restricted_and_only_a_clusters_worker_has_a_token(helm: Helm, name: str) -> None:
    for owner, pod in pods(objects(helm, name)):
        assert pod["securityContext"]["runAsNonRoot"] is True, owner
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, owner
        inside = "cluster-" in owner and "-add-" not in owner and "north-1" not in owner
        assert pod["automountServiceAccountToken"] is inside, owner
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("name", SETS)
def test_every_variable_is_a_setting_that_there_is(helm: Helm, name: str) -> None:
    known = {variable(setting) for setting in Settings.model_fields} | {*FOREIGN, *CLIENTS}
    for owner, pod in pods(objects(helm, name)):
        if "trial" in owner:
            continue
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            given = [entry["name"] for entry in container.get("env", [])]
            assert set(given) <= known, owner
            assert len(given) == len(set(given)), owner


@pytest.mark.parametrize("name", SETS)
def test_nothing_secret_stands_in_the_objects(helm: Helm, name: str) -> None:
    found = [one for one in objects(helm, name) if one["metadata"]["name"] != TRIAL_SECRET]
    assert not [one for one in found if one["kind"] == "Secret"]
    text = json.dumps(found)
    assert "postgresql://" not in text


@pytest.mark.parametrize(("kind", "grants"), [("Role", NAMESPACED), ("ClusterRole", CLUSTER_WIDE)])
def test_a_clusters_worker_may_do_what_the_runtime_does_and_no_more(
    helm: Helm, kind: str, grants: tuple[Grant, ...]
) -> None:
    (role,) = [one for one in objects(helm, "external") if one["kind"] == kind]
    given = {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert given == {(grant.kind.group, grant.resource, verb) for grant in grants for verb in grant.verbs}


def test_monitors_are_made_only_where_the_cluster_knows_them(helm: Helm) -> None:
    kinds = {one["kind"] for one in objects(helm, "external")}
    assert not kinds & {"ServiceMonitor", "PodMonitor"}
    assert {"ServiceMonitor", "PodMonitor"} <= {one["kind"] for one in objects(helm, "everything")}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"secrets": {"database": ""}}, "secrets.database names the secret"),
        ({"secrets": {"admin": ""}}, "perdure serve new-key makes one"),
        ({"secrets": {"keys": ""}}, "keys that seal secrets"),
        ({"temporal": {"address": ""}}, "temporal.address is the engine's host:port"),
        ({"objects": {"url": ""}}, "objects.url is where"),
        ({"objects": {"url": "/a/folder"}}, "pattern"),
        ({"temporal": {"address": "no-port"}}, "pattern"),
        ({"api": {"replicas": 0}}, "minimum"),
        ({"api": {"replicaz": 2}}, "replicaz"),
        ({"settings": {"SAFETY_POLL": "1m"}}, "SAFETY_POLL"),
        ({"clusters": [{"name": "local"}]}, "clusters"),
        ({"clusters": [{"name": "North"}]}, "clusters"),
        ({"api": {"ingress": {"enabled": True}}}, "api.ingress.host"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(
    helm: Helm, tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(changed))
    values = ("--values", FOLDER / "values" / "external.yaml", "--values", tmp_path / "wrong.yaml")
    done = helm("template", "x", CHART, "--kube-version", "1.34.0", *values, check=False)
    assert done.returncode != 0
    assert words in done.stderr


def test_an_older_cluster_is_refused(helm: Helm) -> None:
    values = FOLDER / "values" / "external.yaml"
    done = helm("template", "x", CHART, "--kube-version", "1.28.9", "--values", values, check=False)
    assert "kubeVersion" in done.stderr
