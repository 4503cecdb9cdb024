"""Small clusters to displace gangs on, and an answer whose places a second opinion has checked."""

from collections.abc import Sequence
from typing import Any

from policies.scheduling.eligible import Rules, anybody
from policies.scheduling.model import Near, Node, Pod, QueueRules, Request, Role, Running, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.sizes import kept
from policies.scheduling.victims import NoVictims, Proof, carry_out, find_victims
from tests.support.placement_check import Books

NOW = 100_000
QUEUES = {"a": QueueRules("a"), "b": QueueRules("b"), "c": QueueRules("c")}
RULES = Rules(QUEUES)
LEVELS = ("zone", "rack")
G1, G2, G4, G8 = (Shape(cpu=1000, memory=1, gpus=count) for count in (1, 2, 4, 8))
HALF = Shape(cpu=1000, memory=1, gpus=1, share=500)
CPU = Shape(cpu=6000, memory=1)


def node(name: str, gpus: int = 4, rack: str = "r0", **changes: Any) -> Node:
    labels = {"zone": "z", "rack": rack}
    return Node(name, 8000, 100, gpus, "H" if gpus else "", 80, labels=labels, **changes)


def gang(name: str, shape: Shape, *places: tuple[str, Sequence[int]], since: int = 0, **changes: Any) -> Running:
    """One role with a pod at each place. Options of the request, `least`, and of the running gang."""
    extra = {key: changes.pop(key) for key in ("saved", "leaving") if key in changes}
    least = changes.pop("least", None)
    values: dict[str, Any] = {"queue": "a", "priority": 0, **changes}
    request = Request(name, roles=(Role("w", len(places), shape, least=least),), **values)
    pods = tuple(Pod(0, where, tuple(devices)) for where, devices in places)
    return Running(request, pods, since, **extra)


def full(name: str, *nodes: str, **changes: Any) -> Running:
    """A gang that fills nodes of four GPUs."""
    return gang(name, G4, *((one, range(4)) for one in nodes), **changes)


def new(shape: Shape, count: int = 1, near: Near | None = None, spread: bool = False, **changes: Any) -> Request:
    role = Role("w", count, shape, near=near or Near(), spread=spread)
    values: dict[str, Any] = {"queue": "a", "submitted": 50_000, "priority": 5, **changes}
    return Request("new", roles=(role,), **values)


def cluster(nodes: Sequence[Node], running: Sequence[Running]) -> Nodes:
    found = Nodes(nodes, LEVELS)
    for one in running:
        found.take_all(one.request, one.pods)
    return found


def found(
    nodes: Sequence[Node], running: Sequence[Running], request: Request, rules: Rules = RULES
) -> Proof | NoVictims:
    """The answer, with its places checked by a second opinion, and the nodes seen to be as before."""
    arrays = cluster(nodes, running)
    before = arrays.copy_free()
    answer = find_victims(arrays, None, request, running, anybody, NOW, rules)
    for array, was in (
        (arrays.free_cpu, before.cpu),
        (arrays.free_memory, before.memory),
        (arrays.free_gpu, before.gpu),
    ):
        assert (array == was).all()
    if isinstance(answer, Proof):
        sizes = [role.count for role in request.roles]
        assert Books(nodes, LEVELS, staying(running, answer)).complaints(request, answer.pods, sizes) == []
        carry_out(arrays, running, request, answer)
    return answer


def staying(running: Sequence[Running], proof: Proof) -> list[Running]:
    """What still runs once the victims have gone."""
    gone = {eviction.victim: eviction.keep for eviction in proof.evictions}
    left = []
    for one in running:
        if one.request.id not in gone:
            left.append(one)
        elif (keep := gone[one.request.id]) is not None:
            left.append(Running(one.request, kept(one, keep), one.since, one.saved))
    return left


def victims(answer: Proof | NoVictims) -> list[str]:
    assert isinstance(answer, Proof), answer
    return sorted(eviction.victim for eviction in answer.evictions)
