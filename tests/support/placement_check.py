"""A second opinion on places: counts what is free from nothing but the nodes and the pods on them, one by one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from policies.scheduling.model import WHOLE, Node, Pod, Request, Running, Shape


class Books:
    """What is left on each node, with the gangs that are on it."""

    def __init__(self, nodes: Sequence[Node], levels: Sequence[str], running: Iterable[Running]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.levels = levels
        self.cpu = {node.name: node.cpu for node in nodes}
        self.memory = {node.name: node.memory for node in nodes}
        self.gpu = {node.name: [WHOLE] * node.gpus for node in nodes}
        self.words: dict[str, set[str]] = defaultdict(set)
        for gang in running:
            for pod in gang.pods:
                self.put(gang.request.roles[pod.role].shape, pod)
                self.words[pod.node].add(gang.request.apart)

    def put(self, shape: Shape, pod: Pod, sign: int = 1) -> None:
        self.cpu[pod.node] -= sign * shape.cpu
        self.memory[pod.node] -= sign * shape.memory
        for device in pod.devices:
            self.gpu[pod.node][device] -= sign * shape.share

    def overbooked(self) -> list[str]:
        return [
            name
            for name in self.nodes
            if self.cpu[name] < 0 or self.memory[name] < 0 or any(left < 0 for left in self.gpu[name])
        ]

    def complaints(self, request: Request, pods: Sequence[Pod], sizes: Sequence[int]) -> list[str]:
        """Why the gang cannot be exactly there."""
        for pod in pods:
            self.put(request.roles[pod.role].shape, pod)
        found = [f"{name} is overbooked" for name in self.overbooked()]
        for pod in pods:
            self.put(request.roles[pod.role].shape, pod, -1)
        return found + self.broken(request, pods, sizes)

    def broken(self, request: Request, pods: Sequence[Pod], sizes: Sequence[int]) -> list[str]:
        """Rules other than amounts."""
        found = []
        for pod in pods:
            shape, node = request.roles[pod.role].shape, self.nodes[pod.node]
            if len(set(pod.devices)) != shape.gpus or not node.open:
                found.append(f"{pod} has the wrong devices or is on a closed node")
            if shape.gpus and shape.gpu_models and node.model not in shape.gpu_models:
                found.append(f"{pod} is on another model")
            if request.apart and request.apart in self.words[pod.node]:
                found.append(f"{pod} is beside a gang that it must be apart from")
        for number, role in enumerate(request.roles):
            own = [pod.node for pod in pods if pod.role == number]
            if len(own) != sizes[number]:
                found.append(f"{len(own)} pods of {role.name}, not {sizes[number]}")
            if role.spread and len(set(own)) < len(own):
                found.append(f"{role.name} is not spread")
            found += self._scattered(role.near.required, own)
            near = role.near if role.near.slice_level else request.near
            if near.slice_level:
                for start in range(0, len(own), near.slice_size):
                    found += self._scattered(near.slice_level, own[start : start + near.slice_size])
        return found + self._scattered(request.near.required, [pod.node for pod in pods])

    def places(self, request: Request, sizes: Sequence[int]) -> bool:
        """Whether there are places at all: every way is tried, so for a handful of pods and nodes only."""
        return self._placed(request, sizes, [number for number, size in enumerate(sizes) for _ in range(size)], [])

    def _placed(self, request: Request, sizes: Sequence[int], wanted: Sequence[int], pods: list[Pod]) -> bool:
        if len(pods) == len(wanted):
            return not self.broken(request, pods, sizes)
        role = wanted[len(pods)]
        shape = request.roles[role].shape
        for pod in self._ways(shape, role):
            self.put(shape, pod)
            placed = self._placed(request, sizes, wanted, [*pods, pod])
            self.put(shape, pod, -1)
            if placed:
                return True
        return False

    def _ways(self, shape: Shape, role: int) -> Iterator[Pod]:
        for name, devices in self.gpu.items():
            if self.cpu[name] < shape.cpu or self.memory[name] < shape.memory:
                continue
            able = [number for number, left in enumerate(devices) if left >= shape.share]
            if shape.share == WHOLE:
                able = able[: shape.gpus]  # free devices of one node are alike
            for chosen in combinations(able, shape.gpus):
                yield Pod(role, name, chosen)

    def _scattered(self, level: str | None, names: Sequence[str]) -> list[str]:
        if level is None or not names:
            return []
        path = self.levels[: self.levels.index(level) + 1]
        domains = {tuple(self.nodes[name].labels.get(each) for each in path) for name in names}
        missing = any(None in domain for domain in domains)
        return [f"{list(names)} are not within one {level}"] if len(domains) > 1 or missing else []
