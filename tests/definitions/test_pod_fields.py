"""Fields that only jobs on a cluster use: what is refused, under which code, and where."""

from typing import Any

import pytest

from definitions.job import Job
from definitions.spec_validation import check
from tests.definitions.test_job_model import issues, job

DATA = {"name": "data", "source": {"emptyDir": {}}}


@pytest.mark.parametrize(
    "name",
    [
        "python",
        "python:3.11",
        "library/python",
        "localhost:5000/a/b:1",
        "registry.example.org/team/train:1.4",
        "registry.example.org:5000/team/train@sha256:" + "0" * 64,
        "a/b:1@sha256:" + "f" * 64,
        "a__b/c-d.e",
    ],
)
def test_the_name_of_an_image_is_taken_as_registries_write_it(name: str) -> None:
    assert issues(cluster="north", image=name) == []


@pytest.mark.parametrize("name", ["A", "a b", "a:", "https://a/b", "a/B", "a@sha256:12", "/a", "a//b", "a:1:2", "-a"])
def test_what_no_registry_could_hold_is_no_image(name: str) -> None:
    (found,) = issues(cluster="north", image=name)
    assert (found.code, found.path) == ("PD-1118", "spec.image")


@pytest.mark.parametrize(
    "source",
    [
        {"persistentVolumeClaim": {"claimName": "datasets"}},
        {"secret": {"secretName": "hub"}},
        {"configMap": {"name": "settings"}},
        {"emptyDir": {"medium": "Memory"}},
        {"csi": {"driver": "nfs.csi.k8s.io", "volumeAttributes": {"server": "nas"}}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"downwardAPI": {"items": []}},
        {"projected": {"sources": [{"secret": {"name": "hub"}}, {"configMap": {"name": "a"}}]}},
    ],
)
def test_a_volume_is_what_a_restricted_pod_may_have(source: dict[str, Any]) -> None:
    assert issues(cluster="north", volumes=[{"name": "a", "source": source}]) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({}, "has no source"),
        ({"emptyDir": {}, "secret": {}}, "emptyDir and secret"),
        ({"hostPath": {"path": "/"}}, "do not see the disks of their nodes"),
        ({"nfs": {"server": "nas", "path": "/"}}, "may not name a server"),
        ({"gitRepo": {}}, "gitRepo is no kind of volume"),
        ({"secret": "hub"}, "secret needs a mapping"),
        ({"projected": {}}, "needs a list of sources"),
        ({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}, "no token of a service account"),
        ({"projected": {"sources": [{"podCertificate": {}}]}}, "podCertificate cannot be projected"),
        ({"secret": {"secretName": "digits-0123456789ab-1"}}, "how a job's own objects are called"),
        ({"persistentVolumeClaim": {"claimName": "digits-0123456789ab-data"}}, "how a job's own objects are called"),
        ({"projected": {"sources": [{"secret": {"name": "digits-0123456789ab-12"}}]}}, "a job's own objects"),
    ],
)
def test_any_other_volume_is_refused_with_what_to_do(source: dict[str, Any], words: str) -> None:
    (found,) = issues(cluster="north", volumes=[{"name": "a", "source": source}])
    assert (found.code, found.path) == ("PD-1119", "spec.volumes[0].source")
    assert words in found.what
    assert found.fix


@pytest.mark.parametrize("path", ["/data", "/data/sets", "/dev/shm", "/etc/app", "/home/ada/.cache", "/var/lib/x"])
def test_a_volume_may_appear_where_nothing_of_others_is(path: str) -> None:
    assert issues(cluster="north", volumes=[DATA], volumeMounts=[{"name": "data", "mountPath": path}]) == []


@pytest.mark.parametrize(
    "path",
    [
        *("data", "/", "/data/", "//data", "/a/../b", "/a/./b", "/a:b"),
        *("/perdure", "/perdure/data", "/proc", "/proc/1", "/sys/fs", "/dev", "/dev/sda", "/dev/shm/a", "/usr", "/etc"),
    ],
)
def test_a_volume_may_not_appear_where_the_platform_or_the_system_is(path: str) -> None:
    (found,) = issues(cluster="north", volumes=[DATA], volumeMounts=[{"name": "data", "mountPath": path}])
    assert (found.code, found.path) == ("PD-1120", "spec.volumeMounts[0].mountPath")


@pytest.mark.parametrize(
    ("affinity", "words"),
    [
        ({"node": {}}, "node is no kind of affinity"),
        ({"nodeAffinity": []}, "nodeAffinity does not hold rules"),
        ({"podAffinity": {"required": []}}, "podAffinity does not hold rules"),
    ],
)
def test_affinity_has_the_clusters_own_shape(affinity: dict[str, Any], words: str) -> None:
    (found,) = issues(cluster="north", placement={"affinity": affinity})
    assert (found.code, found.path) == ("PD-1121", "spec.placement.affinity")
    assert words in found.what


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        ({"volumes": [DATA, DATA]}, "spec.volumes[1].name", "two volumes are called data"),
        (
            {"volumes": [{"name": "perdure-run", "source": {"emptyDir": {}}}]},
            "spec.volumes[0].name",
            "begin with perdure-",
        ),
        (
            {"volumes": [DATA], "volumeMounts": [{"name": "date", "mountPath": "/a"}]},
            "spec.volumeMounts[0].name",
            "there is no volume date",
        ),
        (
            {
                "volumes": [DATA],
                "volumeMounts": [{"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/a"}],
            },
            "spec.volumeMounts[1].mountPath",
            "two volumes appear as /a",
        ),
        (
            {
                "resources": {"sharedMemory": "1Gi"},
                "volumes": [DATA],
                "volumeMounts": [{"name": "data", "mountPath": "/dev/shm"}],
            },
            "spec.volumeMounts[0].mountPath",
            "resources.sharedMemory makes",
        ),
        (
            {"resources": {"sharedMemory": "2Gi", "memory": "1Gi"}},
            "spec.resources.sharedMemory",
            "more than memory",
        ),
        ({"checkpoints": {"directory": "saves"}}, "spec.checkpoints.directory", "there is no command"),
        (
            {"checkpoints": {"command": ["./save"], "directory": "/data/saves"}},
            "spec.checkpoints.directory",
            "would be gone with the pod",
        ),
        (
            {
                "checkpoints": {"command": ["./save"], "directory": "/data/saves"},
                "volumes": [DATA],
                "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
            },
            "spec.checkpoints.directory",
            "no volume that the job may write",
        ),
        (
            {"checkpoints": {"command": ["./save"], "directory": "../saves"}},
            "spec.checkpoints.directory",
            "not a plain path",
        ),
        ({"checkpoints": {"command": [""]}}, "spec.checkpoints.command", "program's name is empty"),
        ({"checkpoints": {"command": ["a", "b" * 4096]}}, "spec.checkpoints.command", "more than 4096 bytes"),
        (
            {"placement": {"tolerations": [{"value": "x"}]}},
            "spec.placement.tolerations[0].operator",
            "nothing to be equal",
        ),
        (
            {"placement": {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]}},
            "spec.placement.tolerations[0].value",
            "compares no value",
        ),
        (
            {"placement": {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 1}]}},
            "spec.placement.tolerations[0].tolerationSeconds",
            "NoExecute",
        ),
    ],
)
def test_fields_that_do_not_go_together_are_named_with_their_place(spec: dict[str, Any], path: str, words: str) -> None:
    (found,) = issues(cluster="north", **spec)
    assert (found.code, found.path) == ("PD-1112", path)
    assert words in found.what


@pytest.mark.parametrize("directory", ["saves", "/data", "/data/saves"])
def test_a_save_command_may_write_into_the_run_folder_or_onto_a_volume_of_the_jobs(directory: str) -> None:
    beside = {"volumes": [DATA], "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    assert issues(cluster="north", checkpoints={"command": ["./save"], "directory": directory}, **beside) == []


@pytest.mark.parametrize(("cluster", "pods"), [(None, False), ("local", False), ("north", True)])
def test_only_a_cluster_other_than_local_means_pods(cluster: str | None, pods: bool) -> None:
    made, _ = check(Job, job(**({"cluster": cluster} if cluster else {})))
    assert isinstance(made, Job)
    assert made.spec.on_cluster == pods
