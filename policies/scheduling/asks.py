"""What gangs ask of time, registered once per kind, in the arrays that the compiled search reads.

Two gangs are of one kind if they differ in nothing but how long they run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policies.scheduling.kernels_room import Kinds
from policies.scheduling.model import Near, Request, Role, Shape
from policies.scheduling.nodes import Nodes


@dataclass(frozen=True, slots=True)
class Claim:
    """Nodes that belong to one reservation from `start` until `end`, or to nobody: a drain."""

    nodes: tuple[str, ...]
    start: int
    end: int
    reservation: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """One role of a kind: its number in the request, how many pods, and the role."""

    role: int
    pods: int
    of: Role


@dataclass(frozen=True, slots=True)
class Kind:
    """Roles with the largest pods first, and rows of the topology: 0 none, -1 a level that there is not."""

    asks: tuple[Ask, ...]
    near: tuple[int, int]  # required, preferred
    outer: int
    plain: bool
    word: int
    owner: int

    @property
    def pods(self) -> int:
        return sum(ask.pods for ask in self.asks)


class Asks:
    """The kinds seen so far. `columns`: amounts counted by node, which are cpu, memory, MIG profiles and words."""

    def __init__(self, nodes: Nodes, claims: Sequence[Claim]) -> None:
        self.nodes = nodes
        self.kinds: list[Kind] = []
        self.columns = 2 + len(nodes.profiles)
        named = dict.fromkeys(claim.reservation for claim in claims if claim.reservation is not None)
        self.owners = {name: number for number, name in enumerate(named, 1)}
        self.claims = claims
        self._numbers: dict[object, int] = {}
        self._words: dict[str, int] = {}
        self._arrays: Kinds | None = None

    def number(self, request: Request, sizes: Sequence[int] | None = None) -> int:
        """The kind of a request, with that many pods of each role, or as many as it counts."""
        sizes = tuple(role.count for role in request.roles) if sizes is None else tuple(sizes)
        key = (request.roles, request.near, request.apart, request.reservation, sizes)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.kinds)
            self.kinds.append(self._kind(request, sizes))
            self._arrays = None
        return found

    def arrays(self) -> Kinds:
        """All kinds as arrays, as of now."""
        if self._arrays is None:
            self._arrays = self._built()
        return self._arrays

    def too_large(self, kind: int) -> bool:
        """Whether some role would not fit, all its pods within one domain if required, even if nothing else were
        there."""
        found = self.kinds[kind].outer < 0
        for ask in self.kinds[kind].asks:
            room = np.minimum(self.nodes.most(ask.of.shape), 1 if ask.of.spread else ask.pods)
            row = max(self.kinds[kind].near[0], self.row(ask.of.near.required))
            domain = np.zeros(len(room), np.int64) if row <= 0 else self.nodes.domains[row - 1]
            held = np.bincount(domain[domain >= 0], room[domain >= 0], 1)
            found |= bool(held.max() < ask.pods)
        return found

    def row(self, level: str | None) -> int:
        """A level's row among the domains: 0 for none, -1 if there is no such level."""
        if level is None:
            return 0
        found = self.nodes.topology.level(level)
        return -1 if found is None else 1 + found

    def _kind(self, request: Request, sizes: tuple[int, ...]) -> Kind:
        asks = [Ask(number, size, request.roles[number]) for number, size in enumerate(sizes) if size > 0]
        asks.sort(key=lambda ask: (-ask.of.shape.gpus * ask.of.shape.share, -ask.of.shape.cpu, ask.role))
        near = (self.row(request.near.required), self.row(request.near.preferred))
        alone = len(asks) == 1
        required = [self.row(ask.of.near.required) for ask in asks]
        slices = [self._slice_row(ask.of.near) for ask in asks]
        outer = max(near[0], required[0]) if alone else near[0]
        plain = alone and slices[0] <= outer
        if -1 in (near[0], *required, *slices):
            outer = -1
        return Kind(tuple(asks), near, outer, plain, self._word(request.apart), self._owner(request.reservation))

    def _word(self, word: str) -> int:
        if not word:
            return -1
        if word not in self._words:
            self._words[word] = self.columns
            self.columns += 1
        return self._words[word]

    def _owner(self, reservation: str | None) -> int:
        """A reservation without a window is an owner of nothing."""
        return 0 if reservation is None else self.owners.setdefault(reservation, len(self.owners) + 1)

    def _slice_row(self, near: Near) -> int:
        return self.row(near.slice_level) if near.slice_size else 0

    def _built(self) -> Kinds:
        kinds, asks = self.kinds, [ask for kind in self.kinds for ask in kind.asks]
        roles = [ask.of for ask in asks]
        shapes = {shape: number for number, shape in enumerate(dict.fromkeys(role.shape for role in roles))}
        masks = [self.nodes.mask(shape) for shape in shapes]
        windows = [(self._owner(each.reservation), each.start, each.end) for each in self.claims if each.reservation]
        return Kinds(
            first=np.cumsum([0, *(len(kind.asks) for kind in kinds)], dtype=np.int64),
            owner=np.array([kind.owner for kind in kinds], np.int64),
            word=np.array([kind.word for kind in kinds], np.int64),
            outer=np.array([kind.outer for kind in kinds], np.int64),
            preferred=np.array([kind.near[1] for kind in kinds], np.int64),
            plain=np.array([kind.plain for kind in kinds], np.int64),
            pods=np.array([ask.pods for ask in asks], np.int64),
            gpus=np.array([role.shape.gpus for role in roles], np.int64),
            share=np.array([role.shape.share for role in roles], np.int64),
            asks=np.array([self._amounts(role.shape) for role in roles], np.int64).reshape(len(roles), self.columns),
            mask=np.array([shapes[role.shape] for role in roles], np.int64),
            spread=np.array([role.spread for role in roles], np.int64),
            near=np.array([self._near(role.near) for role in roles], np.int64).reshape(len(roles), 3),
            slice=np.array([role.near.slice_size for role in roles], np.int64),
            masks=np.array(masks, np.bool_).reshape(len(masks), len(self.nodes.names)),
            windows=np.array(windows, np.int64).reshape(len(windows), 3),
        )

    def _near(self, near: Near) -> tuple[int, int, int]:
        return self.row(near.required), self.row(near.preferred), self._slice_row(near)

    def _amounts(self, shape: Shape) -> list[int]:
        slices = dict(shape.slices)
        found = [shape.cpu, shape.memory, *(slices.get(profile, 0) for profile in self.nodes.profiles)]
        return found + [0] * (self.columns - len(found))
