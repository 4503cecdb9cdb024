"""Runtime contract: an attempt with places runs at them and nowhere else."""

import json

import pytest

from activities.ports import PortError
from definitions.attempt import AttemptLaunch
from definitions.places import PlacedPod, Placement
from tests.activities.runtime_world import World, launch_of, python, run, text_of, until_ended

TELL = "print(json.dumps([os.environ['PERDURE_NODE'], os.environ.get('PERDURE_SIMULATED')]), flush=True)"


def placed(*pods: PlacedPod, nodes: int, code: str = TELL) -> AttemptLaunch:
    placement = Placement(pool="pool", decision=3, pods=pods)
    return launch_of(python(code), nodes=nodes, processes_per_node=2, placement=placement)


class PlacesContract:
    """Places of the scheduler's: exactly those, in their order."""

    @pytest.mark.parametrize("order", [(1, 0), (0, 0)], ids=["in another order", "both on one node"])
    def test_the_ranks_of_each_node_run_at_its_place(self, world: World, order: tuple[int, ...]) -> None:
        pods = [world.places[number] for number in order]
        launch = placed(*pods, nodes=2)
        assert [rank.exit_code for rank in run(world, launch).ranks] == [0] * 4
        collected = world.runtime.collect(launch)
        seen = [(rank.node, rank.simulated) for rank in collected.observation.ranks]
        assert seen == [(pod.node, pod.simulated) for pod in pods for _ in range(2)]
        for rank in range(4):
            (line,) = text_of(world, launch.ref, rank)
            assert json.loads(line) == [pods[rank // 2].node, "1" if pods[rank // 2].simulated else None]

    def test_an_attempt_that_is_launched_again_stays_at_its_places(self, world: World) -> None:
        launch = placed(world.places[1], nodes=1)
        world.runtime.launch(launch)
        again = launch.placement.model_copy(update={"pods": (world.places[0],)}) if launch.placement else None
        world.runtime.launch(launch.model_copy(update={"placement": again}))
        assert {rank.node for rank in until_ended(world, launch.ref).ranks} == {world.places[1].node}

    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_places_for_another_number_of_nodes_are_refused_for_good(self, world: World, count: int) -> None:
        launch = placed(*[world.places[0]] * count, nodes=2)
        with pytest.raises(PortError) as refused:
            world.runtime.launch(launch)
        assert (refused.value.permanent, refused.value.code) == (True, "PD-3030")
        assert not world.runtime.observe(launch.ref).exists
