"""The earliest start of a gang by trying every moment, for tiny clusters and gangs of one role."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from policies.scheduling.model import Node, Request
from tests.policies.scheduling.recount import FOREVER, Placed, capacity, path, suits, used


def earliest(
    nodes: Sequence[Node],
    levels: Sequence[str],
    placed: Sequence[Placed],
    request: Request,
    length: int | None,
    now: int,
    last: int,
) -> int | None:
    """The first moment from `now` until `last` at which it fits until its end; room comes only when something ends."""
    moments = {now} | {int(row.over) for row in placed if now < row.over <= last}
    for moment in sorted(moments):
        over = FOREVER if length is None else moment + length
        room = {node.name: _room(node, placed, request, moment, over) for node in nodes}
        if any(_fits(request, levels, group, room) for group in _groups(nodes, levels, request)):
            return moment
    return None


def _room(node: Node, placed: Sequence[Placed], request: Request, start: float, over: float) -> int:
    """How many pods of its only role the node holds from `start` until `over`."""
    role = request.roles[0]
    meanwhile = [row for row in placed if row.start < over and row.over > start]
    words = {row.request.apart for row in meanwhile if any(pod.node == node.name for pod in row.pods)}
    if not node.open or not suits(node, role.shape) or (request.apart and request.apart in words):
        return 0
    peak: Counter[tuple[str, object]] = Counter()
    for moment in {start, *(row.start for row in meanwhile if row.start > start)}:
        here = [row for row in meanwhile if row.start <= moment < row.over]
        peak |= used((row.request, pod) for row in here for pod in row.pods if pod.node == node.name)
    left = {what: amount - peak[what] for what, amount in capacity(node).items()}
    asked: list[tuple[str, str | None, int]] = [("cpu", None, role.shape.cpu), ("memory", None, role.shape.memory)]
    asked += [("slice", profile, count) for profile, count in role.shape.slices]
    found = [left.get((kind, name), 0) // amount for kind, name, amount in asked if amount]
    if role.shape.gpus:
        parts = sum(amount // role.shape.share for (kind, _), amount in left.items() if kind == "gpu")
        found.append(parts // role.shape.gpus)
    return max(0, min([*found, 1 if role.spread else role.count]))


def _groups(nodes: Sequence[Node], levels: Sequence[str], request: Request) -> Iterable[list[Node]]:
    """Nodes that the whole gang may be on together."""
    groups: dict[object, list[Node]] = defaultdict(list)
    for node in nodes:
        required = (request.near.required, request.roles[0].near.required)
        paths = [path(node, levels, level) for level in required if level is not None]
        if None not in paths:
            groups[tuple(paths)].append(node)
    return groups.values()


def _fits(request: Request, levels: Sequence[str], group: Sequence[Node], room: dict[str, int]) -> bool:
    role = request.roles[0]
    if not role.near.slice_size or role.near.slice_level is None:
        return sum(room[node.name] for node in group) >= role.count
    parts: Counter[object] = Counter()
    for node in group:
        inner = path(node, levels, role.near.slice_level)
        if inner is not None:
            parts[inner] += room[node.name]
    whole, rest = divmod(role.count, role.near.slice_size)
    slices = sum(part // role.near.slice_size for part in parts.values())
    spare = max((part % role.near.slice_size for part in parts.values()), default=0)
    return slices > whole or (slices == whole and spare >= rest)
