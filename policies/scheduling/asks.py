"""What gangs ask of time, registered once per kind, in the arrays that the compiled search reads.

Two gangs are of one kind if they differ in nothing but how long they run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policies.scheduling.extendable import Extendable
from policies.scheduling.kernels_asks import Kinds
from policies.scheduling.kernels_time import Ints
from policies.scheduling.model import Near, Request, Role, Shape
from policies.scheduling.nodes import Nodes

KIND_WORDS, ROLE_WORDS = 7, 9  # columns of `Kinds`, without the amounts


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
        self._arrays = self._empty()

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
        if self._width != self.columns:
            self._arrays = self._empty()
        if len(self._kind_rows) < len(self.kinds):
            self._arrays = self._with_new(self.kinds[len(self._kind_rows) :])
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

    def _empty(self) -> Kinds:
        """Arrays for as many amounts as there are, without kinds."""
        self._width = self.columns
        self._kind_rows, self._role_rows = Extendable((KIND_WORDS,)), Extendable((ROLE_WORDS + self.columns,))
        self._mask_rows = Extendable((len(self.nodes.names),), np.bool_)
        self._masks: dict[Shape, int] = {}
        windows = [(self._owner(each.reservation), each.start, each.end) for each in self.claims if each.reservation]
        return Kinds(
            kind=self._kind_rows.rows,
            role=self._role_rows.rows,
            masks=self._mask_rows.rows,
            windows=np.array(windows, np.int64).reshape(len(windows), 3),
        )

    def _with_new(self, kinds: Sequence[Kind]) -> Kinds:
        asks = [ask for kind in kinds for ask in kind.asks]
        ends = np.cumsum([len(kind.asks) for kind in kinds]) + len(self._role_rows)
        self._kind_rows.add([_kind_row(kind, end) for kind, end in zip(kinds, ends.tolist(), strict=True)])
        self._role_rows.add([self._role_row(ask, self._mask(ask.of.shape)) for ask in asks])
        kind, role, masks = self._kind_rows.rows, self._role_rows.rows, self._mask_rows.rows
        return self._arrays._replace(kind=kind, role=role, masks=masks)

    def _mask(self, shape: Shape) -> int:
        found = self._masks.get(shape)
        if found is None:
            found = self._masks[shape] = len(self._mask_rows)
            self._mask_rows.add([self.nodes.mask(shape)])
        return found

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
