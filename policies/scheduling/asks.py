"""What gangs ask of time, registered once per kind, in the arrays that the compiled search reads.

Two gangs are of one kind if they differ in nothing but how long they run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policies.scheduling.kernels_asks import Kinds
from policies.scheduling.kernels_time import Ints
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
    roles: Ints  # of each pod, as a row of the arrays


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
        self._same: dict[object, int] = {}  # by identity: to compare roles costs more than all else of a gang
        self._alive: list[tuple[tuple[Role, ...], Near]] = []  # so that no identity is given again
        self._large: dict[int, bool] = {}
        self._words: dict[str, int] = {}
        self._roles = 0
        self._arrays: Kinds | None = None

    def number(self, request: Request, sizes: Sequence[int] | None = None) -> int:
        """The kind of a request, with that many pods of each role, or as many as it counts."""
        sizes = tuple([role.count for role in request.roles]) if sizes is None else tuple(sizes)
        same = (id(request.roles), id(request.near), request.apart, request.reservation, sizes)
        known = self._same.get(same)
        if known is None:
            known = self._same[same] = self._number(request, sizes)
            self._alive.append((request.roles, request.near))
        return known

    def arrays(self) -> Kinds:
        """All kinds as arrays, as of now."""
        if self._arrays is None:
            self._arrays = self._built()
        return self._arrays

    def too_large(self, kind: int) -> bool:
        """Whether some role would not fit, all its pods within one domain if required, even if nothing else were
        there."""
        if kind not in self._large:
            self._large[kind] = self._too_large(kind)
        return self._large[kind]

    def row(self, level: str | None) -> int:
        """A level's row among the domains: 0 for none, -1 if there is no such level."""
        if level is None:
            return 0
        found = self.nodes.topology.level(level)
        return -1 if found is None else 1 + found

    def _number(self, request: Request, sizes: tuple[int, ...]) -> int:
        key = (request.roles, request.near, request.apart, request.reservation, sizes)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.kinds)
            self.kinds.append(self._kind(request, sizes))
            self._arrays = None
        return found

    def _too_large(self, kind: int) -> bool:
        found = self.kinds[kind].outer < 0
        for ask in self.kinds[kind].asks:
            room = np.minimum(self.nodes.most(ask.of.shape), 1 if ask.of.spread else ask.pods)
            row = max(self.kinds[kind].near[0], self.row(ask.of.near.required))
            domain = np.zeros(len(room), np.int64) if row <= 0 else self.nodes.domains[row - 1]
            held = np.bincount(domain[domain >= 0], room[domain >= 0], 1)
            found |= bool(held.max() < ask.pods)
        return found

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
        roles = self._roles + np.repeat(np.arange(len(asks)), [ask.pods for ask in asks])
        self._roles += len(asks)
        word, owner = self._word(request.apart), self._owner(request.reservation)
        return Kind(tuple(asks), near, outer, plain, word, owner, roles.astype(np.int64))

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
        shapes = {shape: number for number, shape in enumerate(dict.fromkeys(ask.of.shape for ask in asks))}
        masks = [self.nodes.mask(shape) for shape in shapes]
        windows = [(self._owner(each.reservation), each.start, each.end) for each in self.claims if each.reservation]
        ends = np.cumsum([len(kind.asks) for kind in kinds]).tolist()
        return Kinds(
            kind=np.array([_kind_row(kind, end) for kind, end in zip(kinds, ends, strict=True)], np.int64),
            role=np.array([self._role_row(ask, shapes[ask.of.shape]) for ask in asks], np.int64),
            masks=np.array(masks, np.bool_),
            windows=np.array(windows, np.int64).reshape(len(windows), 3),
        )

    def _role_row(self, ask: Ask, mask: int) -> list[int]:
        """As `Kinds` says."""
        shape, near = ask.of.shape, ask.of.near
        rows = [self.row(near.required), self.row(near.preferred), self._slice_row(near)]
        return [ask.pods, shape.gpus, shape.share, mask, ask.of.spread, *rows, near.slice_size, *self._amounts(shape)]

    def _amounts(self, shape: Shape) -> list[int]:
        slices = dict(shape.slices)
        found = [shape.cpu, shape.memory, *(slices.get(profile, 0) for profile in self.nodes.profiles)]
        return found + [0] * (self.columns - len(found))


def _kind_row(kind: Kind, end: int) -> list[int]:
    return [end - len(kind.asks), end, kind.owner, kind.word, kind.outer, kind.near[1], kind.plain]
