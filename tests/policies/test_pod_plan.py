"""From documents of jobs on a cluster to what each of their pods needs."""

from datetime import timedelta
from typing import Any

import pytest

from definitions.job import Job
from definitions.job_resources import Network
from definitions.pod_needs import PodMount, PodNeeds, PodToleration, PodVolume, RunStorage
from policies.job_plan import initial_state
from policies.pod_plan import pod_needs
from tests.policies.test_job_plan import HERE, IDS, job

CLAIM = {"persistentVolumeClaim": {"claimName": "datasets"}}
VOLUMES = [{"name": "data", "source": CLAIM}]
AFFINITY: dict[str, Any] = {
    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
}


def needs(**spec: Any) -> PodNeeds:
    found = pod_needs(job(cluster="north", **spec).spec)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("spec", "field", "wanted"),
    [
        ({"image": "registry.example.org/train:1"}, "image", "registry.example.org/train:1"),
        ({}, "image", None),
        ({"imagePullPolicy": "Always"}, "image_pull_policy", "Always"),
        ({"resources": {"gpus": 8}}, "gpus", 8),
        ({"resources": {"gpuType": "H100"}}, "gpu_type", "H100"),
        ({"resources": {"gpuMemory": "80Gi"}}, "gpu_memory", 80 * 1024**3),
        ({"resources": {"cpus": "500m"}}, "cpu_millis", 500),
        ({"resources": {"cpus": 8}}, "cpu_millis", 8000),
        ({"resources": {"memory": "2Gi"}}, "memory", 2 * 1024**3),
        ({"resources": {"ephemeralStorage": "1Gi"}}, "ephemeral_storage", 1024**3),
        ({"resources": {"sharedMemory": "1Gi"}}, "shared_memory", 1024**3),
        ({"storage": {"className": "fast", "request": "1Gi"}}, "storage", RunStorage(class_name="fast", bytes=1024**3)),
        ({"storage": {}}, "storage", RunStorage(bytes=100 * 1024**3)),
        ({}, "storage", None),
        ({"volumes": VOLUMES}, "volumes", (PodVolume(name="data", source=CLAIM),)),
        (
            {
                "volumes": VOLUMES,
                "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "a/b", "readOnly": True}],
            },
            "mounts",
            (PodMount(name="data", mount_path="/data", sub_path="a/b", read_only=True),),
        ),
        ({"network": "rdma"}, "network", Network.RDMA),
        ({"network": "sriov"}, "network", Network.SRIOV),
        ({"placement": {"nodeSelector": {"zone": "north"}}}, "node_selector", {"zone": "north"}),
        (
            {"placement": {"tolerations": [{"key": "dedicated", "value": "train", "effect": "NoSchedule"}]}},
            "tolerations",
            (PodToleration(key="dedicated", operator="Equal", value="train", effect="NoSchedule"),),
        ),
        (
            {
                "placement": {
                    "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
                }
            },
            "tolerations",
            (PodToleration(operator="Exists", effect="NoExecute", toleration_seconds=30),),
        ),
        ({"placement": {"affinity": AFFINITY}}, "affinity", AFFINITY),
        ({"placement": {"spread": True}}, "spread", True),
        ({"placement": {"pin": True}}, "nodes", ()),
        ({"priorityClass": "production"}, "priority_class", "production"),
        ({"checkpoints": {"command": ["./save", "--now"]}}, "save_command", ("./save", "--now")),
        ({"checkpoints": {"command": ["./save"], "directory": "saves"}}, "save_directory", "saves"),
        ({"checkpoints": {"grace": "5m"}}, "save_grace", timedelta(minutes=5)),
        ({}, "save_grace", timedelta(minutes=2)),
    ],
)
def test_a_field_of_the_document_is_what_each_of_its_pods_gets(spec: dict[str, Any], field: str, wanted: Any) -> None:
    assert getattr(needs(**spec), field) == wanted
    made = initial_state(job(cluster="north", **spec), IDS, HERE)
    assert made.launch.pod is not None
    assert getattr(made.launch.pod, field) == wanted


@pytest.mark.parametrize(("spec", "pods"), [({}, False), ({"cluster": "local"}, False), ({"cluster": "north"}, True)])
def test_only_a_job_that_names_a_cluster_runs_in_pods(spec: dict[str, Any], pods: bool) -> None:
    assert (initial_state(job(**spec), IDS, HERE).launch.pod is not None) == pods


def test_what_a_pod_needs_is_the_same_after_the_document_was_stored() -> None:
    accepted = job(cluster="north", volumes=VOLUMES, resources={"cpus": 0.5, "memory": "1Gi"}, network="rdma")
    stored = Job.model_validate(accepted.model_dump(mode="json", by_alias=True, exclude_none=True))
    assert pod_needs(stored.spec) == pod_needs(accepted.spec)
    kept = pod_needs(accepted.spec)
    assert kept is not None
    assert PodNeeds.model_validate_json(kept.model_dump_json()) == kept
