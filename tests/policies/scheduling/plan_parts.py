"""A small pool for tests of whole rounds."""

from collections.abc import Sequence
from typing import Any

from policies.scheduling.model import Cause, Decision, Node, QueueRules, Request, Role, Shape
from policies.scheduling.plan import plan
from policies.scheduling.world import Settings, World

GPUS = 8  # of a node
LEVELS = ("rack",)


def machines(count: int, rack: int = 4) -> list[Node]:
    return [
        Node(f"n{number}", cpu=64_000, memory=1 << 39, gpus=GPUS, model="h", labels={"rack": f"r{number // rack}"})
        for number in range(count)
    ]


def gang(name: str, pods: int = 1, gpus: int = GPUS, queue: str = "default", **more: Any) -> Request:
    """A gang of one role; `role`: further fields of it."""
    role = Role("worker", pods, Shape(cpu=1000, gpus=gpus), **more.pop("role", {}))
    return Request(name, queue, (role,), **more)


def pool(nodes: int = 4, *queues: QueueRules, settings: Settings | None = None, **more: Any) -> World:
    return World(machines(nodes), LEVELS, queues, settings, **more)


def submitted(world: World, *requests: Request) -> World:
    for request in requests:
        world.submit(request)
    return world


def carried_out(world: World, now: int) -> Decision:
    """One round, decided and done."""
    decision = plan(world, now)
    world.apply(decision, now)
    return decision


def started(decision: Decision) -> list[str]:
    return [start.request for start in decision.starts]


def why(decision: Decision, name: str) -> Cause:
    return next(refusal.cause for refusal in decision.refusals if refusal.request == name)


def promised_start(decision: Decision, name: str) -> int:
    return next(promise.start for promise in decision.promises if promise.request == name)


def victims(decision: Decision) -> dict[str, str]:
    """Who leaves, and for whom."""
    return {eviction.victim: eviction.beneficiary for eviction in decision.evictions}


def nodes_of(world: World, names: Sequence[str]) -> set[str]:
    return {pod.node for name in names for pod in world.running[name].pods}
