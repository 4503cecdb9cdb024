"""What makes a cluster fit for jobs, and what counts as a difference between an object and what was made."""

from datetime import UTC, datetime
from typing import Any

import pytest

from definitions.cluster import ClusterSettings, NodeView
from policies import cluster_check as check
from policies.object_diff import object_differences

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def node(**changes: Any) -> NodeView:
    return NodeView.model_validate(
        {"cluster": "c", "name": "n", "ready": True, "schedulable": True, "seen_at": NOW} | changes
    )


@pytest.mark.parametrize(
    ("version", "ok"),
    [("v1.34.4", True), ("v1.29.0", True), ("v1.28.9", False), ("v2.0.0", True), ("1.31+", True), ("", False)],
)
def test_the_version_must_count_failures_by_index(version: str, ok: bool) -> None:
    found = check.version_finding(version)
    assert (found.ok, bool(found.fix)) == (ok, not ok)


CLASSES = {"fast": "ebs.csi.aws.com", "nfs": "nfs.csi.k8s.io"}


@pytest.mark.parametrize(
    ("settings", "classes", "default", "ok", "said"),
    [
        ({}, CLASSES, ["nfs"], True, "several nodes"),
        ({}, CLASSES, ["fast"], False, "one node at a time"),
        ({"shared_storage": False}, CLASSES, ["fast"], True, "one node at a time"),
        ({"storage_class": "nfs"}, CLASSES, [], True, "nfs.csi.k8s.io"),
        ({"storage_class": "gone"}, CLASSES, ["nfs"], False, "there are: fast, nfs"),
        ({}, CLASSES, [], False, "no storage class is the default"),
        ({}, {}, [], False, "no storage class is the default"),
        ({"storage_bytes": None}, {}, [], True, "go with their pods"),
    ],
)
def test_run_folders_need_a_class_that_can_be_mounted_as_asked(
    settings: dict[str, Any], classes: dict[str, str], default: list[str], ok: bool, said: str
) -> None:
    found = check.storage_finding(ClusterSettings.model_validate(settings), classes, default)
    assert found.ok == ok
    assert said in found.detail
    assert bool(found.fix) == (not ok)


def test_missing_rights_are_named_and_the_document_that_gives_them() -> None:
    assert check.access_finding([]).ok
    found = check.access_finding(["create jobs", "get pods/log"])
    assert not found.ok
    assert "create jobs, get pods/log" in found.detail
    assert "clusters rbac" in found.fix


def test_gpus_without_a_models_label_are_told_of_and_none_are_no_fault() -> None:
    settings = ClusterSettings()
    assert check.gpu_finding([node()], settings).ok
    assert check.gpu_finding([node(gpus=8, gpu_type="H100"), node()], settings).detail == "8 on 1 node: H100"
    assert not check.gpu_finding([node(gpus=8)], settings).ok


def test_a_cluster_needs_a_node_that_is_ready_and_in_service() -> None:
    assert check.node_finding([node(), node(ready=False)]).detail == "1 of 2 ready and in service"
    assert not check.node_finding([node(schedulable=False)]).ok
    assert not check.node_finding([]).ok


def test_networks_say_how_many_nodes_have_them() -> None:
    found = check.network_findings([node(labels={"perdure.dev/rdma": "true"})], ClusterSettings())
    assert {each.what: each.detail[:7] for each in found} == {"network rdma": "1 node", "network sriov": "no node"}


def test_an_image_that_only_our_own_machines_have_is_told_of() -> None:
    assert not check.agent_finding(ClusterSettings()).ok
    assert check.agent_finding(ClusterSettings(agent_image="registry.example.org/perdure:1")).ok


@pytest.mark.parametrize(
    ("made", "found", "paths"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": {"b": [1, {"c": "x"}]}}, {"a": {"b": [1, {"c": "y"}]}}, ["a.b[1].c"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a"]),
        ({"cpu": "1000m", "memory": "1024Mi"}, {"cpu": "1", "memory": "1Gi"}, []),
        ({"cpu": "1"}, {"cpu": "2"}, ["cpu"]),
        ({"a": {}, "b": [], "c": False, "d": ""}, {}, []),
        ({"a": "x"}, {}, ["a"]),
        ({"a": None}, {"a": 1}, ["a"]),
    ],
)
def test_only_what_was_made_is_compared(made: Any, found: Any, paths: list[str]) -> None:
    assert [path for path, _, _ in object_differences(made, found)] == paths
