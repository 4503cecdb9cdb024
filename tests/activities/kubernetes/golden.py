"""Launches and the objects that they become. Rewrite the files with `python -m tests.activities.kubernetes.golden`."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import yaml

from activities.adapters.kubernetes.objects import render
from activities.adapters.kubernetes.objects.keeper import keeper
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.cluster import ClusterSettings, NetworkRule
from definitions.job_resources import Network
from definitions.places import PlacedPod, Placement
from definitions.pod_needs import PodMount, PodNeeds, PodToleration, PodVolume, RunStorage
from definitions.states import Mode

FOLDER = Path(__file__).with_name("golden")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
GIB = 1024**3
REF = AttemptRef(tenant="acme", project="vision", job="job-0123456789ab", number=2, token="ab" * 16)
SETTINGS = ClusterSettings(image="train:1", agent_image="perdure:1")


PLACES = Placement(pool="north", decision=7, pods=(PlacedPod(node="node-5"), PlacedPod(node="node-2")))


class Case(NamedTuple):
    launch: AttemptLaunch
    settings: ClusterSettings = SETTINGS
    seed: str | None = None


def launch(needs: PodNeeds | None = None, **changes: object) -> AttemptLaunch:
    given = {"ref": REF, "name": "Résumé 2: fine-tune", "owner": "ann", "argv": ("python", "train.py"), "pod": needs}
    return AttemptLaunch.model_validate(given | changes)


GPUS = PodNeeds(
    image="nvcr.io/train:2",
    image_pull_policy="Always",
    cpu_millis=8500,
    memory=64 * GIB,
    ephemeral_storage=20 * GIB,
    shared_memory=16 * GIB,
    gpus=8,
    gpu_type="NVIDIA-H100-80GB-HBM3",
    gpu_memory=80 * GIB,
    storage=RunStorage(class_name="fast", bytes=100 * GIB),
    volumes=(PodVolume(name="data", source={"persistentVolumeClaim": {"claimName": "imagenet"}}),),
    mounts=(PodMount(name="data", mount_path="/data", sub_path="train", read_only=True),),
    network=Network.RDMA,
    node_selector={"zone": "a"},
    tolerations=(PodToleration(key="gpu", operator="Exists", effect="NoSchedule"),),
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["1"]}]},
                    {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["2"]}]},
                ]
            }
        }
    },
    spread=True,
    nodes=("node-1", "node-2"),
    priority_class="high",
    save_command=("./save", "--now"),
    save_directory="/data/checkpoints",
    save_grace=timedelta(minutes=3),
)
CASES: Mapping[str, Case] = {
    "plain": Case(launch()),
    "gpus": Case(
        launch(
            GPUS,
            nodes=2,
            processes_per_node=8,
            deadline=NOW + timedelta(hours=4),
            checkpoint_every=timedelta(minutes=30),
            avoid_nodes=("node-9", "node-8"),
        ),
        SETTINGS.model_copy(
            update={
                "labels": {"team": "vision"},
                "image_pull_secrets": ("registry",),
                "service_account": "jobs",
                "networks": {
                    Network.RDMA: NetworkRule(
                        annotations={"k8s.v1.cni.cncf.io/networks": "rdma-network"},
                        node_selector={"rdma": "yes"},
                        resources={"rdma/hca": "1"},
                    )
                },
            }
        ),
        seed="other-0123456789ab-data",
    ),
    "mig": Case(launch(PodNeeds(gpus=1, gpu_type="mig-1g.5gb"))),
    "without-storage": Case(launch(nodes=4), SETTINGS.model_copy(update={"storage_bytes": None})),
    "storage-of-one-node": Case(launch(nodes=2), SETTINGS.model_copy(update={"shared_storage": False})),
    "placed": Case(launch(PodNeeds(nodes=("node-2", "node-5")), nodes=2, placement=PLACES)),
    "service": Case(launch(mode=Mode.SERVICE)),
}


def rendered(case: Case) -> str:
    """All objects of a launch as YAML documents, with what a keeper would be."""
    made = render.attempt_objects(case.launch, case.settings, {"launch.json": "{}"}, case.seed, NOW)
    found = [made.secret, made.claim, made.job, render.service_for(case.launch, case.settings, render.UNKNOWN_UID)]
    needs, claim = case.launch.pod or PodNeeds(), render.claim_for(case.launch, case.settings)
    if claim is not None:
        base = made.job["metadata"]["name"]
        found.append(keeper(REF, needs, case.settings, f"{base}-keep-c", secret=base, claim=claim))
    plain = json.loads(json.dumps([each for each in found if each is not None]))  # parts that are shared are told twice
    return yaml.safe_dump_all(plain, sort_keys=False, width=110)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, case in CASES.items():
        (FOLDER / f"{name}.yaml").write_text(rendered(case))
