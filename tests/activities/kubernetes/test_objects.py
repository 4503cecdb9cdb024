"""What a launch becomes in a cluster: whole objects against files, and what must hold for all of them."""

from typing import Any

import pytest
import yaml

from activities.adapters.kubernetes.objects import render
from activities.adapters.kubernetes.objects.placement import is_gated, narrowed, placement
from activities.adapters.kubernetes.objects.resources import mig_profile
from activities.ports import PortError
from definitions.cluster import ClusterSettings, NetworkRule
from definitions.job_resources import Network
from definitions.places import PlacedPod, Placement
from definitions.pod_needs import PodMount, PodNeeds, PodVolume, RunStorage
from tests.activities.kubernetes.golden import CASES, FOLDER, NOW, SETTINGS, launch, rendered

CLAIM = PodVolume(name="data", source={"persistentVolumeClaim": {"claimName": "c"}})


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(rendered(CASES[name])))


def pod_specs(name: str) -> list[dict[str, Any]]:
    """Of the Job's pods and of the keeper."""
    found = documents(name)
    jobs = [each["spec"]["template"]["spec"] for each in found if each["kind"] == "Job"]
    return jobs + [each["spec"] for each in found if each["kind"] == "Pod"]


@pytest.mark.parametrize("name", CASES)
def test_a_launch_becomes_these_objects(name: str) -> None:
    assert rendered(CASES[name]) == (FOLDER / f"{name}.yaml").read_text()


@pytest.mark.parametrize("name", CASES)
def test_every_pod_is_restricted_and_has_no_token_of_an_account(name: str) -> None:
    for spec in pod_specs(name):
        assert spec["automountServiceAccountToken"] is False
        context = spec["securityContext"]
        assert (context["runAsNonRoot"], context["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
        for container in spec.get("initContainers", []) + spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }


@pytest.mark.parametrize("name", CASES)
def test_the_jobs_volume_is_owned_by_nothing_and_everything_else_says_whose_it_is(name: str) -> None:
    for each in documents(name):
        assert each["metadata"]["annotations"]["perdure.dev/ref"]
        if each["kind"] == "PersistentVolumeClaim":
            assert "ownerReferences" not in each["metadata"]
            assert "perdure.dev/attempt" not in each["metadata"]["labels"]
        else:
            assert each["metadata"]["labels"]["perdure.dev/token"] == "ab" * 16


@pytest.mark.parametrize("name", CASES)
def test_a_job_is_made_suspended_and_never_makes_a_pod_again(name: str) -> None:
    (spec,) = (each["spec"] for each in documents(name) if each["kind"] == "Job")
    assert spec["suspend"] is True
    assert (spec["backoffLimitPerIndex"], spec["maxFailedIndexes"]) == (0, spec["completions"])
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


REFUSED: dict[str, tuple[PodNeeds, ClusterSettings, str]] = {
    "no image": (PodNeeds(), SETTINGS.model_copy(update={"image": None}), "PD-3155"),
    "selectors": (PodNeeds(gpu_type="a", gpus=1, node_selector={SETTINGS.gpu_type_label: "b"}), SETTINGS, "PD-3151"),
    "unknown mount": (PodNeeds(mounts=(PodMount(name="x", mount_path="/x"),)), SETTINGS, "PD-3152"),
    "our folders": (
        PodNeeds(volumes=(CLAIM,), mounts=(PodMount(name="data", mount_path="/perdure/bin"),)),
        SETTINGS,
        "PD-3152",
    ),
    "our name": (PodNeeds(volumes=(CLAIM.model_copy(update={"name": "perdure-bin"}),)), SETTINGS, "PD-3152"),
    "not shared": (
        PodNeeds(storage=RunStorage(bytes=1)),
        SETTINGS.model_copy(update={"shared_storage": False}),
        "PD-3153",
    ),
    "network": (PodNeeds(network=Network.RDMA), SETTINGS.model_copy(update={"networks": {}}), "PD-3154"),
}


@pytest.mark.parametrize(("needs", "settings", "code"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_a_pod_is_refused_for_good(needs: PodNeeds, settings: ClusterSettings, code: str) -> None:
    with pytest.raises(PortError) as refused:
        render.preview(launch(needs, nodes=2), settings, NOW)
    assert (refused.value.code, refused.value.permanent) == (code, True)


def test_more_than_a_secret_can_hold_is_refused() -> None:
    with pytest.raises(PortError) as refused:
        render.attempt_objects(launch(), SETTINGS, {"launch.json": "x" * 1024**2}, None, NOW)
    assert (refused.value.code, refused.value.permanent) == ("PD-3156", True)


@pytest.mark.parametrize(
    ("gpu_type", "profile"),
    [
        ("mig-1g.5gb", "mig-1g.5gb"),
        ("MIG-3g.20gb", "mig-3g.20gb"),
        ("nvidia.com/mig-1g.10gb.me", "mig-1g.10gb.me"),
        ("mig-1g.5gb+me", "mig-1g.5gb.me"),
        ("NVIDIA-A100-SXM4-80GB", None),
        ("any", None),
        (None, None),
    ],
)
def test_a_gpu_type_may_be_a_part_of_a_gpu(gpu_type: str | None, profile: str | None) -> None:
    assert mig_profile(gpu_type) == profile


AT_HOME = {"key": "metadata.name", "operator": "In", "values": ["home"]}
GATE, OTHER = {"name": "perdure.dev/places"}, {"name": "example.org/quota"}
RACK = {"key": "rack", "operator": "Exists"}
AVOIDED = {"key": "metadata.name", "operator": "NotIn", "values": ["bad"]}


@pytest.mark.parametrize(
    ("terms", "narrowed_to"),
    [
        ([], [{"matchFields": [AT_HOME]}]),
        (
            [{"matchExpressions": [RACK]}, {"matchFields": [AVOIDED]}],
            [{"matchExpressions": [RACK], "matchFields": [AT_HOME]}, {"matchFields": [AVOIDED, AT_HOME]}],
        ),
    ],
    ids=["no wishes", "either of two wishes"],
)
@pytest.mark.parametrize(("gates", "left"), [([GATE], None), ([OTHER, GATE], [OTHER])], ids=["ours", "another's too"])
def test_a_gated_pod_is_narrowed_to_its_node_beside_what_it_asks_for(
    terms: list[Any], narrowed_to: list[Any], gates: list[Any], left: list[Any] | None
) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = {"schedulingGates": gates, **({"affinity": {"nodeAffinity": required}} if terms else {})}
    change = narrowed(spec, "home")
    assert change["affinity"]["nodeAffinity"] == {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": narrowed_to}
    }
    assert change["schedulingGates"] == left
    assert is_gated({"spec": spec})
    assert not is_gated({"spec": {**spec, "schedulingGates": left}})


def test_pods_with_places_do_not_ask_again_for_what_the_scheduler_saw_to() -> None:
    """It knows a model by further names than the node's label, and a node to avoid is none that it gives."""
    needs = PodNeeds(image="train:1", gpus=1, gpu_type="H100", gpu_memory=80 * 1024**3, node_selector={"zone": "a"})
    free = launch(needs, avoid_nodes=("bad",))
    pods = (PlacedPod(node="home", devices=(0,)),)
    held = free.model_copy(update={"placement": Placement(pool="north", decision=1, pods=pods)})
    asks = [placement(each, needs, SETTINGS, NetworkRule()) for each in (free, held)]
    assert asks[0]["nodeSelector"] == {"zone": "a", SETTINGS.gpu_type_label: "H100"}
    (term,) = asks[0]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert sorted(term) == ["matchExpressions", "matchFields"]
    assert asks[1] == {"nodeSelector": {"zone": "a"}}


def test_a_preview_holds_no_value_of_a_secret() -> None:
    secret, *_ = render.preview(launch(), SETTINGS, NOW)
    assert (secret["kind"], secret["data"]) == ("Secret", {})
