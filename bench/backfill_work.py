"""A cluster that is full, a queue behind it, and what really happens to them when nobody changes a promise."""

import heapq
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from policies.scheduling.model import FAR, Near, Node, Pod, Request, Role, Running, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.profile import Profile
from policies.scheduling.promises import promised

LEVELS = ("rack",)
RACK = 40  # nodes
GPUS = 8  # of a node
DAY = 86_400
PARTS = {1: 40, 2: 25, 4: 20, 8: 15}  # GPUs of a running gang, and in how many of a hundred
NODES = (1, 1, 2, 2, 4, 8, 16)  # of a waiting gang that takes whole ones


@dataclass(frozen=True, slots=True)
class Work:
    nodes: Sequence[Node]
    running: Sequence[Running]
    waiting: Sequence[Request]

    def profile(self) -> Profile:
        """With everything that runs, at second 0."""
        return Profile(Nodes(self.nodes, LEVELS), 0, self.running)


def work(nodes: int, waiting: int, seed: int) -> Work:
    """Nodes filled by gangs of at most a node; of those that wait, 40 % ask for less than a node, and half of those
    with several nodes for one rack. Limits are between ten minutes and three days, most of them hours."""
    chance = random.Random(seed)
    machines = [
        Node(f"n{number:04}", 128_000, 2**40, GPUS, "h", 80 * 2**30, labels={"rack": f"r{number // RACK:03}"})
        for number in range(nodes)
    ]
    shapes = {gpus: Shape(cpu=12_000 * gpus, memory=gpus * 2**36, gpus=gpus) for gpus in (1, 2, 4, 8)}
    running = _running(chance, machines, shapes)
    return Work(machines, running, [_waiting(chance, f"w{number}", shapes) for number in range(waiting)])


def lived(work: Work) -> dict[str, int]:
    """When each waiting gang starts, if each runs exactly as long as its limit and a round follows every early end.

    Lived through on a cluster of its own, which knows of nothing that was promised before.
    """
    profile, waiting, started = work.profile(), {each.id: each for each in work.waiting}, dict[str, int]()
    ends = [(gang.since + (gang.request.limit or 0), gang.request.id) for gang in work.running]
    due = _due(profile, waiting.values())
    heapq.heapify(ends)
    while due:
        now = due[0][0] if not ends else min(due[0][0], ends[0][0])
        gone = []
        while ends and ends[0][0] <= now:
            gone.append(heapq.heappop(ends)[1])
        profile.end(gone, now)
        profile.advance(now)
        if profile.freed or profile.unseated:
            due = _due(profile, waiting.values())
        begun = []
        while due and due[0][0] <= now:
            request = waiting.pop(heapq.heappop(due)[1])
            begun.append(Running(request, profile.promise(profile.pins[request.id]).pods, now))
            started[request.id] = now
            heapq.heappush(ends, (now + (request.limit or 0), request.id))
        profile.run(begun)
    return started


def error(promises: Mapping[str, int], starts: Mapping[str, int]) -> float:
    """Median of how far promises are from true starts, in parts of the wait since second 0. None is wholly wrong."""
    wrong = []
    for name, start in starts.items():
        if start > 0:
            wrong.append(abs(promises[name] - start) / start if name in promises else 1.0)
    wrong.sort()
    return wrong[len(wrong) // 2]


def _due(profile: Profile, waiting: Iterable[Request]) -> list[tuple[int, str]]:
    found = promised(profile, list(waiting))
    due = [(each.promise.start, each.request.id) for each in found if each.promise is not None]
    heapq.heapify(due)
    return due


def _running(chance: random.Random, machines: Sequence[Node], shapes: Mapping[int, Shape]) -> list[Running]:
    """Until a gang finds no node with room any more."""
    found: list[Running] = []
    free = {node.name: list(range(node.gpus)) for node in machines}
    open_nodes = list(free)
    chance.shuffle(open_nodes)
    while True:
        gpus = chance.choices(list(PARTS), list(PARTS.values()))[0]
        node = next((name for name in open_nodes if len(free[name]) >= gpus), None)
        if node is None:
            return found
        devices = tuple(free[node].pop() for _ in range(gpus))
        if not free[node]:
            open_nodes.remove(node)
        request = Request(f"r{len(found)}", "q", (Role("w", 1, shapes[gpus]),), limit=_limit(chance))
        found.append(Running(request, (Pod(0, node, devices),), -chance.randrange(request.limit or 1)))


def _waiting(chance: random.Random, name: str, shapes: Mapping[int, Shape]) -> Request:
    request = Request(name, "q", (), limit=_limit(chance))
    if chance.random() < 0.4:
        return replace(request, roles=(Role("w", 1, shapes[chance.choice((1, 2, 4))]),))
    count = chance.choice(NODES)
    near = Near(required="rack") if count > 1 and chance.random() < 0.5 else FAR
    return replace(request, roles=(Role("w", count, shapes[GPUS]),), near=near)


def _limit(chance: random.Random) -> int:
    return int(min(3 * DAY, max(600, chance.lognormvariate(9.2, 1.2))))
