"""A gang as placing sees it: parts of equal pods, levels as rows of the topology, and which domains can hold them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.masks import Mask
from policies.scheduling.model import Near, Request, Shape
from policies.scheduling.nodes import Ints, Nodes
from policies.scheduling.topology import Topology

ALL = -1  # in place of a level: all nodes as one domain


@dataclass(frozen=True, slots=True)
class Part:
    """Pods of one role. Levels are rows of the topology. `size` is that of a slice, 0 without slices."""

    role: int
    shape: Shape
    count: int
    spread: bool
    required: int | None
    preferred: int | None
    slices: int | None
    size: int

    @property
    def weight(self) -> tuple[int, ...]:
        """The larger, the harder to find room for."""
        shape = self.shape
        return shape.gpus * shape.share, sum(count for _, count in shape.slices), shape.cpu, shape.memory

    @property
    def bound(self) -> bool:
        """Whether its pods must be close together."""
        return self.required is not None or self.slices is not None


@dataclass(frozen=True, slots=True)
class Gang:
    """What is to be placed, hardest part first. `missing`: a level that must be kept and that there is not."""

    parts: tuple[Part, ...]
    required: int | None
    preferred: int | None
    missing: str

    @property
    def pods(self) -> int:
        return sum(part.count for part in self.parts)

    @property
    def bound(self) -> bool:
        return self.required is not None or any(part.bound for part in self.parts)

    @property
    def near(self) -> bool:
        """Whether closeness plays any part."""
        preferred = self.preferred is not None or any(part.preferred is not None for part in self.parts)
        return preferred or self.bound


def gang(request: Request, sizes: tuple[int, ...], topology: Topology) -> Gang:
    """The request with `sizes` pods of each role; roles without pods are left out."""
    kept = [near for near in (request.near, *(role.near for role in request.roles))]
    wanted = [level for near in kept for level in (near.required, near.slice_level if near.slice_size else None)]
    missing = next((level for level in wanted if level is not None and topology.level(level) is None), "")
    parts = [
        Part(number, role.shape, sizes[number], role.spread, *_levels(_slices_of(request.near, role.near), topology))
        for number, role in enumerate(request.roles)
        if sizes[number] > 0
    ]
    parts.sort(key=lambda part: (part.weight, -part.role), reverse=True)
    required, preferred, _, _ = _levels(request.near, topology)
    return Gang(tuple(parts), required, preferred, missing)


def room(nodes: Nodes, part: Part, where: Mask | None) -> Ints:
    """int64[N]: how many pods of the part each node can take now."""
    found = nodes.room(part.shape)
    if part.spread:
        np.minimum(found, 1, out=found)
    if where is not None:
        found *= where
    return found


def attempts(required: int | None, preferred: int | None) -> list[int]:
    """Levels to try one after the other: from the preferred one outwards, and last the one that must be kept."""
    last = ALL if required is None else required
    return list(range(last if preferred is None else max(preferred, last), last - 1, -1))


def by_domain(topology: Topology, values: Ints, level: int) -> Ints:
    """int64[D]: sums over the nodes of each domain."""
    if level == ALL:
        return np.array([values.sum()], np.int64)
    row = topology.domains[level]
    inside = row >= 0
    return np.bincount(row[inside], values[inside], len(topology.names[level])).astype(np.int64)


def inside(topology: Topology, level: int, domain: int, where: Mask) -> Mask:
    """bool[N]: the nodes of `where` that are in this domain; always a copy."""
    return where.copy() if level == ALL else where & (topology.domains[level] == domain)


def can_hold(topology: Topology, part: Part, free: Ints, level: int) -> NDArray[np.bool_]:
    """bool[D]: which domains of a level have room for the whole part, by counts of pods (`free`: int64[N]).

    Exact if the part is alone: each of its pods takes one place, whichever it is.
    """
    if part.required is not None and part.required > level:
        held = _holds(topology, part, free, part.required)
        return by_parent(topology, held.astype(np.int64), part.required, level) > 0
    return _holds(topology, part, free, level)


def by_parent(topology: Topology, values: Ints, inner: int, outer: int) -> Ints:
    """int64[D]: sums over the inner domains of each outer one."""
    if outer == ALL:
        return np.array([values.sum()], np.int64)
    return np.bincount(_parents(topology, inner, outer), values, len(topology.names[outer])).astype(np.int64)


def _holds(topology: Topology, part: Part, free: Ints, level: int) -> NDArray[np.bool_]:
    if part.slices is None or part.slices <= level:
        return by_domain(topology, free, level) >= part.count
    full, rest = np.divmod(by_domain(topology, free, part.slices), part.size)
    needed, remainder = divmod(part.count, part.size)
    slices = by_parent(topology, full, part.slices, level)
    fits = by_parent(topology, (rest >= remainder).astype(np.int64), part.slices, level) > 0
    enough: NDArray[np.bool_] = (slices > needed) | ((slices == needed) & (fits | (remainder == 0)))
    return enough


def _parents(topology: Topology, inner: int, outer: int) -> Ints:
    """int64[D]: the outer domain of each inner one."""
    found = np.zeros(len(topology.names[inner]), np.int64)
    row = topology.domains[inner]
    found[row[row >= 0]] = topology.domains[outer][row >= 0]
    return found


def _levels(near: Near, topology: Topology) -> tuple[int | None, int | None, int | None, int]:
    row = [None if name is None else topology.level(name) for name in (near.required, near.preferred, near.slice_level)]
    sliced = row[2] is not None and near.slice_size > 0
    return row[0], row[1], row[2] if sliced else None, near.slice_size if sliced else 0


def _slices_of(gang: Near, role: Near) -> Near:
    """Slices that the gang asks for hold for each role that says nothing of its own."""
    if role.slice_level or not gang.slice_level:
        return role
    return Near(role.required, role.preferred, gang.slice_level, gang.slice_size)
