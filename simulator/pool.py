"""Free room on nodes, whole GPUs and parts of them, and the first place in it that a gang fits.

The event loop keeps one to check what planners decide, and each baseline keeps one to plan with. It knows sizes, GPU
models and memory; selectors, taints and topology are the scheduler's own business and are refused here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.model import ANYWHERE, WHOLE, Node, Pod, Request, Shape


class Overbooked(Exception):
    """More was placed on a node than is free there, or on a node that is gone: whoever decided that is wrong."""


class Pool:
    """Arrays over nodes, in the given order: free processors (1/1000), memory (bytes), and 1/1000 of each GPU.

    `gpus` is -1 where a node has fewer devices than the largest. `whole` counts devices that nobody uses.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.index = {node.name: row for row, node in enumerate(nodes)}
        widest = max((node.gpus for node in nodes), default=0)
        devices = np.arange(widest)[None, :]
        counts = np.array([node.gpus for node in nodes], dtype=np.int64)
        self.cpu = np.array([node.cpu for node in nodes], dtype=np.int64)
        self.memory = np.array([node.memory for node in nodes], dtype=np.int64)
        self.gpus = np.where(devices < counts[:, None], WHOLE, -1).astype(np.int64)
        self.whole = counts.copy()
        self.open = np.array([node.open for node in nodes], dtype=bool)
        self._masks: dict[tuple[object, ...], NDArray[np.bool_]] = {}

    def copy(self) -> "Pool":
        """A pool of the same nodes that can be tried out."""
        twin = object.__new__(Pool)
        twin.nodes, twin.index, twin._masks = self.nodes, self.index, self._masks
        twin.cpu, twin.memory, twin.whole = self.cpu.copy(), self.memory.copy(), self.whole.copy()
        twin.gpus, twin.open = self.gpus.copy(), self.open.copy()
        return twin

    def place(self, request: Request) -> tuple[Pod, ...] | None:
        """Put every pod of the gang on the first node that has room, and take that room; None when one has nowhere."""
        pods: list[Pod] = []
        for number, role in enumerate(request.roles):
            used: list[int] = []
            for _ in range(role.count):
                row = self._first(role.shape, used if role.spread else ())
                if row is None:
                    self.give(request, pods)
                    return None
                pod = Pod(number, self.nodes[row].name, self._devices(role.shape, row))
                self._add(role.shape, row, pod.devices, -1)
                used.append(row)
                pods.append(pod)
        return tuple(pods)

    def take(self, request: Request, pods: Iterable[Pod]) -> None:
        """Take the room of pods that somebody else placed. Raises Overbooked when it is not free."""
        for pod in pods:
            shape, row = request.roles[pod.role].shape, self.index[pod.node]
            if not self._free(shape, row, pod.devices):
                raise Overbooked(f"{request.id}: {pod.node} has no room for {shape} on devices {list(pod.devices)}")
            self._add(shape, row, pod.devices, -1)

    def give(self, request: Request, pods: Iterable[Pod]) -> None:
        """Give back the room of pods."""
        for pod in pods:
            self._add(request.roles[pod.role].shape, self.index[pod.node], pod.devices, 1)

    def could_ever(self, request: Request) -> bool:
        """Whether the gang fits when nothing else runs and every node is there."""
        return Pool([replace(node, open=True) for node in self.nodes]).place(request) is not None

    def fits(self, shape: Shape) -> NDArray[np.bool_]:
        """Nodes that have room for one such pod now."""
        room: NDArray[np.bool_] = (
            self._mask(shape) & self.open & (self.cpu >= shape.cpu) & (self.memory >= shape.memory)
        )
        if shape.gpus and shape.share < WHOLE:
            room &= (self.gpus >= shape.share).any(axis=1)
        else:
            room &= self.whole >= shape.gpus
        return room

    def _first(self, shape: Shape, without: Sequence[int]) -> int | None:
        room = self.fits(shape)
        if without:
            room[list(without)] = False
        row = int(room.argmax()) if len(room) else 0
        return row if len(room) and room[row] else None

    def _devices(self, shape: Shape, row: int) -> tuple[int, ...]:
        """Whole devices in their order; for a part of one, the device with least left that suffices."""
        free = self.gpus[row]
        if shape.gpus and shape.share < WHOLE:
            return (int(np.where(free >= shape.share, free, 2 * WHOLE).argmin()),)
        return tuple(int(device) for device in np.flatnonzero(free == WHOLE)[: shape.gpus])

    def _free(self, shape: Shape, row: int, devices: Sequence[int]) -> bool:
        enough = self.open[row] and self.cpu[row] >= shape.cpu and self.memory[row] >= shape.memory
        right = len(set(devices)) == len(devices) == shape.gpus and bool(self._mask(shape)[row])
        return bool(enough and right and (self.gpus[row, list(devices)] >= shape.share).all())

    def _add(self, shape: Shape, row: int, devices: Sequence[int], sign: int) -> None:
        self.cpu[row] += sign * shape.cpu
        self.memory[row] += sign * shape.memory
        if devices:
            self.gpus[row, list(devices)] += sign * shape.share
            self.whole[row] = (self.gpus[row] == WHOLE).sum()

    def _mask(self, shape: Shape) -> NDArray[np.bool_]:
        """Nodes that could hold the shape as far as kinds of hardware go."""
        if shape.where != ANYWHERE or shape.slices:
            raise ValueError("a pool places by size and GPU model only, not by labels, taints, names or MIG profiles")
        key = (shape.gpu_models, shape.gpu_memory, shape.gpus > 0)
        if key not in self._masks:
            self._masks[key] = np.array([_suits(node, shape) for node in self.nodes], dtype=bool)
        return self._masks[key]


def _suits(node: Node, shape: Shape) -> bool:
    if not shape.gpus:
        return True
    return (not shape.gpu_models or node.model in shape.gpu_models) and node.gpu_memory >= shape.gpu_memory
