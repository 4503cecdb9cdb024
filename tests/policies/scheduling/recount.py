"""A slow second opinion on plans: counts every node again at every moment, with none of the scheduler's own code.

Used by tests and by the backfill benchmark.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from policies.scheduling.model import Node, Operator, Pod, Request, Role, Shape

FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class Placed:
    """A gang on its nodes from `start` until `end`; None: for ever."""

    request: Request
    pods: tuple[Pod, ...]
    start: int
    end: int | None

    @property
    def over(self) -> float:
        return FOREVER if self.end is None else self.end


def faults(nodes: Sequence[Node], levels: Sequence[str], placed: Iterable[Placed]) -> list[str]:
    """Everything that cannot be so: overbooked nodes at any moment, and gangs that break their own rules."""
    by_name, rows = {node.name: node for node in nodes}, list(placed)
    found = [text for row in rows for text in _broken(by_name, levels, row)]
    on: dict[str, list[tuple[Placed, Pod]]] = defaultdict(list)
    for row in rows:
        for pod in row.pods:
            on[pod.node].append((row, pod))
    for name, held in on.items():
        found += _overbooked(by_name[name], held)
    return found


def path(node: Node, levels: Sequence[str], level: str) -> tuple[str, ...] | None:
    """The node's domain at a level: its labels down to it. None without one of them."""
    if level not in levels:
        return None
    labels = [node.labels.get(each) for each in levels[: levels.index(level) + 1]]
    return None if None in labels else tuple(str(label) for label in labels)


def suits(node: Node, shape: Shape) -> bool:
    """Whether the node is one that the shape allows, were it empty."""
    for expression in shape.where.expressions:
        value = node.labels.get(expression.key)
        among = value in expression.values
        holds = {
            Operator.IN: value is not None and among,
            Operator.NOT_IN: value is None or not among,
            Operator.EXISTS: value is not None,
            Operator.DOES_NOT_EXIST: value is None,
        }
        if not holds[expression.operator]:
            return False
    if shape.where.nodes and node.name not in shape.where.nodes:
        return False
    if shape.gpus and shape.gpu_models and node.model not in shape.gpu_models:
        return False
    return not shape.gpus or node.gpu_memory >= shape.gpu_memory


def used(held: Iterable[tuple[Request, Pod]]) -> Counter[tuple[str, object]]:
    """What pods take of their node: cpu, memory, slices, parts by device."""
    total: Counter[tuple[str, object]] = Counter()
    for request, pod in held:
        shape = request.roles[pod.role].shape
        total["cpu", None] += shape.cpu
        total["memory", None] += shape.memory
        for profile, count in shape.slices:
            total["slice", profile] += count
        for device in pod.devices:
            total["gpu", device] += shape.share
    return total


def capacity(node: Node) -> dict[tuple[str, object], int]:
    found: dict[tuple[str, object], int] = {("cpu", None): node.cpu, ("memory", None): node.memory}
    found |= {("slice", profile): count for profile, count in node.slices.items()}
    return found | {("gpu", device): 1000 for device in range(node.gpus)}


def _overbooked(node: Node, held: Sequence[tuple[Placed, Pod]]) -> Iterator[str]:
    """One node, from one moment at which something starts to the next."""
    most = capacity(node)
    live: list[tuple[Placed, Pod]] = []
    by_start = sorted(held, key=lambda each: each[0].start)
    for number, (row, pod) in enumerate(by_start):
        live = [each for each in live if each[0].over > row.start]
        live.append((row, pod))
        if number + 1 < len(by_start) and by_start[number + 1][0].start == row.start:
            continue
        for what, amount in used((each.request, its) for each, its in live).items():
            if amount > most.get(what, 0):
                yield f"{node.name} at {row.start}: {amount} of {most.get(what, 0)} {what}"
        words: Mapping[str, set[str]] = defaultdict(set)
        for each, _ in live:
            words[each.request.apart].add(each.request.id)
        yield from (
            f"{node.name} at {row.start}: {ids} share it" for word, ids in words.items() if word and len(ids) > 1
        )


def _broken(nodes: Mapping[str, Node], levels: Sequence[str], row: Placed) -> Iterator[str]:
    yield from _apart(nodes, levels, row, row.request.near.required, row.pods)
    for number, role in enumerate(row.request.roles):
        pods = [pod for pod in row.pods if pod.role == number]
        if not role.fewest <= len(pods) <= (role.most or role.count):
            yield f"{row.request.id} has {len(pods)} pods of {role.name}"
        yield from _apart(nodes, levels, row, role.near.required, pods)
        if role.near.slice_size:
            for first in range(0, len(pods), role.near.slice_size):
                part = pods[first : first + role.near.slice_size]
                yield from _apart(nodes, levels, row, role.near.slice_level, part)
        if role.spread and len({pod.node for pod in pods}) < len(pods):
            yield f"{row.request.id} has two pods of {role.name} on one node"
        yield from (text for pod in pods for text in _unsuited(nodes[pod.node], row, role, pod))


def _apart(
    nodes: Mapping[str, Node], levels: Sequence[str], row: Placed, level: str | None, pods: Sequence[Pod]
) -> Iterator[str]:
    if level is not None:
        domains = {path(nodes[pod.node], levels, level) for pod in pods}
        if len(domains) > 1 or None in domains:
            yield f"{row.request.id} is in {len(domains)} domains of {level}"


def _unsuited(node: Node, row: Placed, role: Role, pod: Pod) -> Iterator[str]:
    if not suits(node, role.shape):
        yield f"{row.request.id} may not be on {node.name}"
    if len(set(pod.devices)) != role.shape.gpus:
        yield f"{row.request.id} has devices {pod.devices} of {node.name}"
