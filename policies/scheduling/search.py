"""The exact search: a place for a gang if there is one, for the few gangs that placing by score leaves out.

Parts of different shapes can be in each other's way, and which way around they fit is a bin packing problem. So the
search goes through the possible places, depth first, and gives up after `VISITS` looks at nodes: a gang that it then
leaves out waits, and is tried again when something has become free.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policies.scheduling.masks import Mask
from policies.scheduling.nodes import Nodes
from policies.scheduling.parts import ALL, Gang, Part
from policies.scheduling.trials import Spot

VISITS = 50_000  # some tens of milliseconds
DEEPEST = 300  # pods: the search calls itself once for each


class GaveUp(Exception):
    """There may be a place."""


@dataclass(frozen=True, slots=True)
class _Pod:
    part: Part
    slice: int
    groups: tuple[tuple[int, object], ...]  # (level, name): pods of one group are in one domain of the level


def search(nodes: Nodes, gang: Gang, where: Mask | None) -> list[Spot] | None:
    """Spots of all pods, part by part; nothing is taken. None: there is no place, or it gave up."""
    if gang.pods > DEEPEST:
        return None
    try:
        return _Search(nodes, gang, where).run()
    except GaveUp:
        return None


class _Search:
    def __init__(self, nodes: Nodes, gang: Gang, where: Mask | None) -> None:
        self._pods = list(_pods(gang))
        self._masks = [self._mask(nodes, part, where) for part in gang.parts]
        self._row = {part.role: number for number, part in enumerate(gang.parts)}
        self._cpu, self._memory = nodes.free_cpu.tolist(), nodes.free_memory.tolist()
        self._gpu, self._slices = nodes.free_gpu.tolist(), nodes.free_slices.tolist()
        self._profiles = nodes.profiles
        self._domains = nodes.domains.tolist()
        self._closed: dict[tuple[int, object], int] = {}  # group -> its domain
        self._left = VISITS
        self._spots: list[Spot] = []
        self._kinds = [self._kind(n) for n in range(len(nodes.names))]

    def run(self) -> list[Spot] | None:
        return self._spots if self._descend(0, 0) else None

    def _descend(self, depth: int, first: int) -> bool:
        """Places the pods from `depth` on, the next of them on a node not before `first`."""
        if depth == len(self._pods):
            return True
        pod, seen = self._pods[depth], set[object]()
        for node in self._candidates(pod, first):
            if self._kinds[node] in seen:
                continue  # what failed on a node fails on its twin
            seen.add(self._kinds[node])
            opened = [group for group in pod.groups if group not in self._closed]
            self._closed |= {group: self._domains[group[0]][node] for group in opened}
            for devices in self._devices(pod.part, node):
                self._change(pod.part, node, devices, -1)
                self._spots.append(Spot(pod.part, node, devices))
                if self._descend(depth + 1, self._next(depth, node)):
                    return True
                self._spots.pop()
                self._change(pod.part, node, devices, 1)
            for group in opened:
                del self._closed[group]
        return False

    def _next(self, depth: int, node: int) -> int:
        """Equal pods are placed in the order of nodes: any other order would be the same place again."""
        if depth + 1 == len(self._pods):
            return 0
        now, then = self._pods[depth], self._pods[depth + 1]
        alike = now.part is then.part and now.slice == then.slice
        return node + now.part.spread if alike else 0

    def _candidates(self, pod: _Pod, first: int) -> Iterator[int]:
        mask = self._masks[self._row[pod.part.role]]
        taken = {spot.node for spot in self._spots if spot.part is pod.part} if pod.part.spread else ()
        for node in range(first, len(mask)):
            self._left -= 1
            if self._left < 0:
                raise GaveUp
            if mask[node] and node not in taken and self._near(pod, node) and self._holds(pod.part, node):
                yield node

    def _near(self, pod: _Pod, node: int) -> bool:
        domains = ((group, self._domains[group[0]][node]) for group in pod.groups)
        return all(domain >= 0 and self._closed.get(group, domain) == domain for group, domain in domains)

    def _holds(self, part: Part, node: int) -> bool:
        shape, slices = part.shape, self._slices[node]
        return (
            (not shape.cpu or self._cpu[node] >= shape.cpu)
            and (not shape.memory or self._memory[node] >= shape.memory)
            and sum(free >= shape.share for free in self._gpu[node]) >= shape.gpus
            and all(slices[self._profiles.index(profile)] >= count for profile, count in shape.slices)
        )

    def _devices(self, part: Part, node: int) -> Iterator[tuple[int, ...]]:
        """Ways to take its devices: of devices with as much free, the first stands for all."""
        shape = part.shape
        able = [device for device, free in enumerate(self._gpu[node]) if free >= shape.share]
        if shape.gpus == 1:
            yield from ((device,) for device in {self._gpu[node][device]: device for device in reversed(able)}.values())
        else:
            yield tuple(able[: shape.gpus])

    def _change(self, part: Part, node: int, devices: Sequence[int], sign: int) -> None:
        self._cpu[node] += sign * part.shape.cpu
        self._memory[node] += sign * part.shape.memory
        for device in devices:
            self._gpu[node][device] += sign * part.shape.share
        for profile, count in part.shape.slices:
            self._slices[node][self._profiles.index(profile)] += sign * count
        self._kinds[node] = self._kind(node)

    def _kind(self, node: int) -> object:
        """Nodes of one kind are the same to the pods that are still to be placed."""
        return (
            self._cpu[node],
            self._memory[node],
            tuple(sorted(self._gpu[node])),
            tuple(self._slices[node]),
            tuple(mask[node] for mask in self._masks),
            tuple(row[node] for row in self._domains),
            tuple(spot.part.role for spot in self._spots if spot.node == node),
        )

    @staticmethod
    def _mask(nodes: Nodes, part: Part, where: Mask | None) -> list[bool]:
        found = nodes.mask(part.shape) & nodes.open
        return list((found if where is None else found & where).tolist())


def _pods(gang: Gang) -> Iterator[_Pod]:
    for part in gang.parts:
        for number in range(part.count):
            piece = number // part.size if part.size else 0
            levels = (
                (gang.required, "gang"),
                (part.required, part.role),
                (part.slices, (part.role, piece)),
            )
            yield _Pod(
                part, piece, tuple((level, name) for level, name in levels if level is not None and level != ALL)
            )
