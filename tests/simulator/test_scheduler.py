"""The scheduler as a planner of the simulation decides what a round of it would, also where no round is made."""

from collections.abc import Callable

import pytest

from policies.scheduling.model import Decision, Pod, QueueRules, Request, Role, Running, Shape, Stop
from policies.scheduling.plan import plan
from simulator.scheduler import Scheduler
from tests.simulator.small import cluster

LATER = 100_000  # long after a gang that began at 0 may change its size
PLAIN, ELASTIC = Role("worker", 1, Shape(gpus=1)), Role("worker", 1, Shape(gpus=1), least=1, most=2)


@pytest.mark.parametrize(
    ("role", "stop", "decided"),
    [
        (PLAIN, Stop.NONE, lambda found: found == Decision()),
        (ELASTIC, Stop.NONE, lambda found: [len(growth.pods) for growth in found.growths] == [2]),
        (PLAIN, Stop.DRAIN, lambda found: [each.victim for each in found.evictions] == ["a"]),
    ],
    ids=["nothing can happen", "a gang can grow", "its queue is emptied"],
)
def test_while_nobody_waits_those_that_run_are_looked_at_if_anything_could_become_of_them(
    role: Role, stop: Stop, decided: Callable[[Decision], bool]
) -> None:
    rules = QueueRules("q", stop=stop)
    scheduler = Scheduler(cluster(2), (), (rules,))
    scheduler.world.adopt(Running(Request("a", "q", (role,)), (Pod(0, "n0", (0,)),), since=0), 0)
    found = scheduler.plan(LATER)
    assert found == plan(scheduler.world, LATER)
    assert decided(found)
