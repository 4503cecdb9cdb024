"""Places of the scheduler's on this machine: devices, and other machines."""

import json

import pytest

from activities.ports import PortError
from definitions.places import PlacedPod, Placement
from tests.activities.local.world import LocalWorld
from tests.activities.runtime_world import launch_of, python, run, text_of

NAMES = ("PERDURE_DEVICES", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
TELL = f"print(json.dumps([os.environ.get(name) for name in {NAMES}]))"
ORDER = "PCI_BUS_ID"


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ({"devices": (1, 3)}, ["1,3", "1,3", "1,3", ORDER]),
        ({}, ["", "", "", ORDER]),
        ({"node": "sim-1", "devices": (1, 3), "simulated": True}, ["1,3", "", "", None]),
        (None, [None, "7", None, None]),
    ],
    ids=["devices", "no devices", "simulated devices", "no place"],
)
def test_a_job_sees_the_devices_that_it_was_given_whatever_it_asks_for(
    world: LocalWorld, place: dict[str, object] | None, told: list[str | None]
) -> None:
    here = {"node": world.settings.node}
    pods = None if place is None else (PlacedPod.model_validate(here | place),)
    placement = None if pods is None else Placement(pool="local", decision=1, pods=pods)
    launch = launch_of(python(TELL), env={"CUDA_VISIBLE_DEVICES": "7"}, placement=placement)
    assert [rank.exit_code for rank in run(world, launch).ranks] == [0]
    assert json.loads(text_of(world, launch.ref)[0]) == told
    world.runtime.collect(launch)


def test_a_place_on_another_machine_is_refused_for_good(world: LocalWorld) -> None:
    placement = Placement(pool="local", decision=1, pods=(PlacedPod(node="another-machine"),))
    launch = launch_of(python("open(run + '/ran', 'w')"), placement=placement)
    with pytest.raises(PortError, match="another-machine is not this machine") as refused:
        world.runtime.launch(launch)
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3031")
    assert not world.attempt(launch.ref).exists()
