"""Ranks are told of the places that the scheduler gave them."""

import pytest

from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.places import PlacedPod, Placement
from policies.places import absent, device_environment, misfit, place_of

REF = AttemptRef(tenant="t", project="p", job="j", number=1, token="a" * 32)
REAL, MADE_UP = PlacedPod(node="here", devices=(2, 3)), PlacedPod(node="sim-1", devices=(0,), simulated=True)


def launch(*pods: PlacedPod, nodes: int = 2) -> AttemptLaunch:
    placement = Placement(pool="local", decision=7, pods=pods)
    return AttemptLaunch(
        ref=REF, name="train", owner="me", argv=("true",), nodes=nodes, processes_per_node=2, placement=placement
    )


def test_the_ranks_of_a_node_have_the_place_of_its_number() -> None:
    placed = launch(MADE_UP, REAL)
    assert [place_of(placed, rank) for rank in range(4)] == [MADE_UP, MADE_UP, REAL, REAL]
    assert place_of(placed.model_copy(update={"placement": None}), 3) is None


@pytest.mark.parametrize(
    ("place", "visible", "told"),
    [
        (REAL, "2,3", {"PERDURE_DEVICES": "2,3", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
        (PlacedPod(node="here"), "", {"PERDURE_DEVICES": "", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
        (MADE_UP, "", {"PERDURE_DEVICES": "0", "PERDURE_SIMULATED": "1"}),
    ],
    ids=["devices", "no devices", "simulated devices"],
)
def test_a_rank_sees_the_devices_of_its_place_and_no_others(
    place: PlacedPod, visible: str, told: dict[str, str]
) -> None:
    both = {"CUDA_VISIBLE_DEVICES": visible, "NVIDIA_VISIBLE_DEVICES": visible}
    assert device_environment(place) == told | both


def test_a_rank_without_a_place_sees_what_the_machine_has() -> None:
    assert device_environment(None) == {}


@pytest.mark.parametrize("pods", [(), (REAL,), (REAL, REAL, MADE_UP)], ids=len)
def test_places_for_another_number_of_nodes_name_their_decision(pods: tuple[PlacedPod, ...]) -> None:
    assert misfit(launch(*pods)) == f"decision 7 has {len(pods)} places for 2 nodes"


@pytest.mark.parametrize("pods", [(REAL, REAL), (MADE_UP, REAL), (MADE_UP, MADE_UP)])
def test_a_machine_is_its_own_node_and_any_simulated_one(pods: tuple[PlacedPod, ...]) -> None:
    assert (misfit(launch(*pods)), absent(launch(*pods), "here")) == ("", "")


def test_a_machine_is_no_other_node() -> None:
    assert absent(launch(MADE_UP, REAL), "there") == "node here is not this machine, which is there"


def test_an_attempt_without_places_fits_everywhere() -> None:
    free = launch().model_copy(update={"placement": None})
    assert (misfit(free), absent(free, "there")) == ("", "")
