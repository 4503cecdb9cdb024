"""Ending a rank whose job, or whose disk, is in the way of asking it to save first."""

from datetime import timedelta

from definitions.attempt import RankState, StoppedBy, StopRequest
from tests.activities.local.world import LocalWorld
from tests.activities.runtime_world import launch_of, python, until_ended, until_logged


def test_a_request_that_cannot_be_written_costs_the_save_and_nothing_else(world: LocalWorld) -> None:
    launch = launch_of(python("os.mkdir(run + '/control.json')\nprint('up')\ntime.sleep(600)"))
    world.runtime.launch(launch)
    until_logged(world, launch.ref, "up")
    ask = StopRequest(reason="suspended", checkpoint_first=True, checkpoint_within=timedelta(seconds=1))
    world.runtime.stop(launch.ref, ask)
    (rank,) = until_ended(world, launch.ref).ranks
    assert (rank.state, rank.signal, rank.stopped_by) == (RankState.EXITED, 15, StoppedBy.REQUEST)
    assert not list((world.home / "runs" / "t" / "p" / launch.ref.job / "run").glob("*.tmp"))
    world.runtime.collect(launch)
