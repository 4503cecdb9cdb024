"""What queues have over time, in whole rounds and with gangs that end: their guarantees, and by weight what is left."""

from collections import Counter
from collections.abc import Mapping

import pytest

from policies.scheduling.model import Node, QueueRules, Quota, Request, Role, Shape
from policies.scheduling.world import Settings, World
from tests.policies.scheduling.plan_parts import carried_out, submitted

MINUTE = 60
STEP, LAST = 5 * MINUTE, 240 * MINUTE
LENGTHS = (10 * MINUTE, 15 * MINUTE, 20 * MINUTE)


def one_node(depth: int | None, guarantees: Mapping[str, Mapping[str, Quota]], weights: Mapping[str, float]) -> World:
    """Ten GPUs of one model."""
    rules = [QueueRules(name, weight=weights[name], quotas=quotas) for name, quotas in guarantees.items()]
    node = Node("n0", cpu=640_000, memory=1 << 40, gpus=10, model="h")
    return World([node], (), rules, Settings(depth=depth))


def task(name: str, queue: str, seconds: int) -> Request:
    role = Role("worker", 1, Shape(cpu=1000, gpus=1))
    return Request(name, queue, (role,), limit=seconds, preemptible=False)


def held(world: World, tasks: int) -> list[dict[str, int]]:
    """GPUs that each queue holds, every five minutes, while each has tasks that wait."""
    for number in range(tasks):
        for queue in ("a", "b"):
            submitted(world, task(f"{queue}{number}", queue, LENGTHS[number % 3]))
    found = []
    for now in range(0, LAST + 1, STEP):
        for name, gang in list(world.running.items()):
            if gang.since + (gang.request.limit or 0) <= now:
                world.ended(name, now)
        carried_out(world, now)
        found.append(dict(Counter(gang.request.queue for gang in world.running.values())))
    assert {world.waiting.request(number).queue for number in world.waiting.index.values()} == {"a", "b"}
    return found


@pytest.mark.parametrize("resource", ["gpu", "gpu/h"], ids=["of all models", "of one model"])
@pytest.mark.parametrize("depth", [0, 1, None], ids=["no promises", "one promise", "all are promised"])
def test_two_queues_have_their_guarantees_and_by_weight_what_is_left(resource: str, depth: int) -> None:
    """Guaranteed 4 and 2 of 10 with weights 1 and 3: the 4 that are left go 1 to 3. GPUs of a model are not counted
    beside GPUs, as if they were something that nobody guarantees."""
    guarantees = {name: {resource: Quota(guarantee=parts)} for name, parts in (("a", 4000), ("b", 2000))}
    world = one_node(depth, guarantees, {"a": 1.0, "b": 3.0})
    assert held(world, 150) == [{"a": 5, "b": 5}] * (LAST // STEP + 1)
