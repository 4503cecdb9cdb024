"""Nodes as a struct of arrays: what they have, what is free of it, and which changed since somebody last looked.

Row n of every array is node n in the order given. Reading is free to everybody; what is free changes only through the
methods here, because whoever keeps something computed from it relies on `stamp` and `given`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.masks import Labels, Mask
from policies.scheduling.model import WHOLE, Node, Pod, Request, Shape
from policies.scheduling.topology import topology

Ints = NDArray[np.int64]
MOST_DEVICES = 62  # of one node: which of them a pod has is told in the bits of one number


@dataclass(frozen=True, slots=True)
class Free:
    """What was free at one moment, to return to."""

    cpu: Ints
    memory: Ints
    gpu: Ints
    slices: Ints
    words: dict[str, Ints]


class Nodes:
    """Nodes, their domains by `levels` (node labels, outermost first), and what is free on them.

    `stamp[n]`: the clock when node n last changed, 0 if it never did. `given`: counts how often something became free,
    so that what failed need not be tried again before. Raises ValueError for two nodes of one name and for a node with
    more than 62 GPUs.
    """

    def __init__(self, nodes: Sequence[Node], levels: Sequence[str] = ()) -> None:
        self.names = tuple(node.name for node in nodes)
        self.index = {name: number for number, name in enumerate(self.names)}
        size, widest = len(nodes), max((node.gpus for node in nodes), default=0)
        if len(self.index) < size or widest > MOST_DEVICES:
            raise ValueError(f"two nodes have one name, or one has more than {MOST_DEVICES} GPUs")
        self.cpu = _column(node.cpu for node in nodes)
        self.memory = _column(node.memory for node in nodes)
        self.gpus = _column(node.gpus for node in nodes)
        self.gpu_memory = _column(node.gpu_memory for node in nodes)
        self.models = tuple(dict.fromkeys(node.model for node in nodes))
        self.model = np.array([self.models.index(node.model) for node in nodes], np.int32)
        self.profiles = tuple(sorted({profile for node in nodes for profile in node.slices}))
        counts = [[node.slices.get(profile, 0) for profile in self.profiles] for node in nodes]
        self.slices: Ints = np.array(counts, np.int64).reshape(size, len(self.profiles))
        self.labels = Labels(nodes)
        self.topology = topology(self.labels, levels, size)
        self.open = np.array([node.open for node in nodes], np.bool_)
        self.free_cpu, self.free_memory, self.free_slices = self.cpu.copy(), self.memory.copy(), self.slices.copy()
        present = np.arange(widest) < self.gpus[:, None]
        self.free_gpu: Ints = np.where(present, WHOLE, -1).astype(np.int64)
        self.words: dict[str, Ints] = {}  # by word of `apart`: how many pods with it each node has
        self.stamp, self.clock, self.given = np.zeros(size, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
        # Of tuples of pods, by identity and order of roles: themselves, their nodes as numbers, their devices as bits.
        self.seats: dict[tuple[int, tuple[int, ...]], tuple[Sequence[Pod], Ints, Ints]] = {}
        self._masks: dict[Shape, Mask] = {}

    @property
    def domains(self) -> NDArray[np.int32]:
        """int32[L, N]: the domain of node n at level l, -1 without one."""
        return self.topology.domains

    def among(self, names: Iterable[str]) -> Mask:
        """bool[N]: nodes of these names; names of no node are passed over."""
        found = np.zeros(len(self.names), np.bool_)
        found[[self.index[name] for name in names if name in self.index]] = True
        return found

    def mask(self, shape: Shape) -> Mask:
        """bool[N], read-only: nodes that could hold such a pod if nothing else were there, open or not."""
        found = self._masks.get(shape)
        if found is None:
            found = self.admits(shape) & (self._empty_room(shape) > 0)
            found.setflags(write=False)
            self._masks[shape] = found
        return found

    def admits(self, shape: Shape) -> Mask:
        """bool[N]: nodes that such a pod may be on by labels, taints, names, model and memory of GPUs, of any size."""
        found = self.labels.mask(shape.where)
        if not (shape.gpus or shape.slices):
            return found
        if shape.gpu_memory:
            found = found & (self.gpu_memory >= shape.gpu_memory)
        if shape.gpu_models:
            found = found & np.array([model in shape.gpu_models for model in self.models], np.bool_)[self.model]
        return found

    def fits(self, shape: Shape) -> Mask:
        """bool[N]: nodes that can take one such pod now."""
        return self.room(shape) > 0

    def room(self, shape: Shape) -> Ints:
        """int64[N]: how many such pods each node can take now; 0 on closed nodes."""
        parts = self.free_gpu
        devices = np.where(parts > 0, parts // shape.share, 0).sum(1) if shape.gpus else parts[:, :0].sum(1)
        found = self._room(shape, self.free_cpu, self.free_memory, devices, self.free_slices)
        return np.where(self.mask(shape) & self.open, np.maximum(found, 0), 0)

    def most(self, shape: Shape) -> Ints:
        """int64[N]: how many such pods each node could take if it were open and nothing else were there."""
        return np.where(self.mask(shape), self._empty_room(shape), 0)

    def take(self, shape: Shape, node: int, devices: Sequence[int], word: str = "") -> None:
        """One pod of this shape is on node `node` from now on.

        Nothing is refused: what runs is a fact, and on a node that has shrunk since, less than nothing is free.
        """
        self._change(shape, node, devices, -1, word)

    def give(self, shape: Shape, node: int, devices: Sequence[int], word: str = "") -> None:
        """That pod is gone."""
        self._change(shape, node, devices, 1, word)
        self.given[0] += 1

    def take_back(self, shape: Shape, node: int, devices: Sequence[int]) -> None:
        """A pod that was only tried is gone again: nothing is free that was not before the trial."""
        self._change(shape, node, devices, 1, "")

    def mark(self, word: str, nodes: Sequence[int]) -> None:
        """A pod with this word of `apart` is on each of these nodes, whose room it has already."""
        np.add.at(self.words.setdefault(word, np.zeros(len(self.names), np.int64)), nodes, 1)

    def take_all(self, request: Request, pods: Sequence[Pod]) -> None:
        """A gang holds these places from now on."""
        for pod in pods:
            self.take(request.roles[pod.role].shape, self.index[pod.node], pod.devices, request.apart)

    def give_all(self, request: Request, pods: Sequence[Pod]) -> None:
        """The gang holds these places no longer."""
        for pod in pods:
            self.give(request.roles[pod.role].shape, self.index[pod.node], pod.devices, request.apart)

    def shut(self, node: int, open: bool = False) -> None:
        """Whether the node takes new pods."""
        self.open[node] = open
        self._touched(node)
        self.given[0] += open

    def copy_free(self) -> Free:
        """What is free now, for `restore`."""
        words = {word: counts.copy() for word, counts in self.words.items()}
        slices = self.free_slices.copy()
        return Free(self.free_cpu.copy(), self.free_memory.copy(), self.free_gpu.copy(), slices, words)

    def restore(self, free: Free) -> None:
        """Be as when `free` was copied. Only nodes that differ count as changed."""
        changed = (self.free_cpu != free.cpu) | (self.free_memory != free.memory)
        changed |= (self.free_gpu != free.gpu).any(1) | (self.free_slices != free.slices).any(1)
        self.words = {word: counts.copy() for word, counts in free.words.items()}
        self.free_cpu[:], self.free_memory[:] = free.cpu, free.memory
        self.free_gpu[:], self.free_slices[:] = free.gpu, free.slices
        self.clock[0] += 1
        self.stamp[changed] = self.clock[0]
        self.given[0] += 1

    def _empty_room(self, shape: Shape) -> Ints:
        return self._room(shape, self.cpu, self.memory, self.gpus * (WHOLE // shape.share), self.slices)

    def _room(self, shape: Shape, cpu: Ints, memory: Ints, devices: Ints, slices: Ints) -> Ints:
        """How many such pods fit by amounts alone; `devices`: how often their share of one is there. A shape that asks
        for nothing fits as often as any count."""
        found = np.full(len(self.names), np.iinfo(np.int32).max, np.int64)
        for asked, free in ((shape.cpu, cpu), (shape.memory, memory)):
            if asked:
                np.minimum(found, free // asked, out=found)
        if shape.gpus:
            np.minimum(found, devices // shape.gpus, out=found)
        for profile, asked in shape.slices:
            there = slices[:, self.profiles.index(profile)] if profile in self.profiles else np.zeros_like(found)
            np.minimum(found, there // asked, out=found)
        return found

    def _change(self, shape: Shape, node: int, devices: Sequence[int], sign: int, word: str) -> None:
        self.free_cpu[node] += sign * shape.cpu
        self.free_memory[node] += sign * shape.memory
        for device in devices:
            if device < self.free_gpu.shape[1]:  # else the node had more when the pod came
                self.free_gpu[node, device] += sign * shape.share
        for profile, asked in shape.slices:
            self.free_slices[node, self.profiles.index(profile)] += sign * asked
        if word:
            counts = self.words.setdefault(word, np.zeros(len(self.names), np.int64))
            counts[node] -= sign
        self._touched(node)

    def _touched(self, node: int) -> None:
        self.clock[0] += 1
        self.stamp[node] = self.clock[0]


def _column(values: object) -> Ints:
    return np.fromiter(values, np.int64)  # type: ignore[call-overload,no-any-return]
