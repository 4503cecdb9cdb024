"""The agent as PID 1 of real containers, on two nodes: what a drain does to a gang."""

from datetime import UTC, datetime, timedelta

import pytest

from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import TOKEN
from definitions.attempt import AttemptLaunch, StoppedBy
from definitions.pod_needs import PodNeeds
from tests.activities.kubernetes.agent.test_one_pod import SAVES
from tests.activities.kubernetes.pods_world import PodsWorld
from tests.activities.runtime_world import launch_of, python, text_of, until_ended, until_logged, until_running

pytestmark = [pytest.mark.pods, pytest.mark.timeout(400)]
GRACE = timedelta(seconds=5)
SOON = timedelta(seconds=10)  # of the two minutes that there are for saving


def pod_names(world: PodsWorld, launch: AttemptLaunch) -> list[str]:
    pods = world.client.list(Kind.POD, labels=f"{TOKEN}={launch.ref.token}")
    return sorted(str(pod["metadata"]["name"]) for pod in pods)


@pytest.mark.parametrize("leaving", [0, 1], ids=["first", "another"])
def test_a_pod_that_is_deleted_with_grace_has_its_gang_save_first(world: PodsWorld, leaving: int) -> None:
    needs = PodNeeds(spread=True, nodes=("node-a", "node-b"))
    launch = launch_of(python(SAVES), nodes=2, pod=needs, grace=GRACE, checkpoint_every=timedelta(minutes=10))
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    for rank in range(2):
        until_logged(world, launch.ref, "begun", rank)
    begun = datetime.now(UTC)
    assert world.client.evict(pod_names(world, launch)[leaving])
    seen = until_ended(world, launch.ref, world.patience)
    assert seen.ranks[leaving].stopped_by is StoppedBy.SHUTDOWN
    assert seen.ranks[1 - leaving].stopped_by is StoppedBy.GANG
    assert [rank.ended_at is not None and rank.ended_at - begun < SOON for rank in seen.ranks] == [True, True]
    world.runtime.collect(launch)
    assert [text_of(world, launch.ref, rank) for rank in range(2)] == [["begun", "saved"]] * 2
