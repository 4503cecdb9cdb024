"""Where the pods of a beneficiary may be, what fits there now, and what would if some of those who run had gone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.model import Pod, Request, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.victim_room import Field, Room, Unit

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a whole gang must be: one domain, or anywhere."""

    name: str
    rows: Mask


@dataclass(frozen=True, slots=True)
class Ask:
    """What one role needs. `inner`: the row of a level; the role must be in one of its domains in the scope."""

    role: int
    shape: Shape
    need: int
    spread: bool
    inner: int | None
    size: int  # of a slice, 0 without
    level: int  # of the slices
    usable: Mask
    base: NDArray[np.int64]  # pods that fit now, by row


Put = tuple[Ask, int, tuple[int, ...]]  # a pod on a row, with its devices


def scopes_of(nodes: Nodes, request: Request, allowed: Mask | None) -> list[Scope]:
    """The domains in one of which the whole gang must be; none if there is no such level."""
    rows = np.ones(len(nodes.names), np.bool_) if allowed is None else allowed
    levels = [request.near.required, *(role.near.required for role in request.roles if len(request.roles) == 1)]
    named = [level for level in levels if level is not None]
    if not named:
        return [Scope("", rows)]
    depths = [nodes.topology.level(level) for level in named]
    if None in depths:
        return []
    deepest = max(depth for depth in depths if depth is not None)
    column, names = nodes.domains[deepest], nodes.topology.names[deepest]
    return [Scope(names[domain], rows & (column == domain)) for domain in np.unique(column[rows & (column >= 0)])]


def asks_of(nodes: Nodes, request: Request, sizes: Sequence[int], allowed: Mask | None) -> list[Ask] | None:
    """What each role needs, the hardest to place first; None if a level that it names does not exist."""
    asks = []
    for number, (role, need) in enumerate(zip(request.roles, sizes, strict=True)):
        sliced = role.near if role.near.slice_level else request.near
        inner = role.near.required if len(request.roles) > 1 else None
        levels = [nodes.topology.level(level) for level in (inner, sliced.slice_level) if level is not None]
        if None in levels:
            return None
        if not need:
            continue
        usable = nodes.mask(role.shape) & nodes.open
        usable = usable if allowed is None else usable & allowed
        alone = usable & (nodes.words[request.apart] == 0) if request.apart in nodes.words else usable
        base = np.where(alone, nodes.room(role.shape), 0)
        asks.append(
            Ask(
                number,
                role.shape,
                need,
                role.spread,
                None if inner is None else nodes.topology.level(inner),
                sliced.slice_size if sliced.slice_level else 0,
                (nodes.topology.level(sliced.slice_level) or 0) if sliced.slice_level else 0,
                usable,
                base,
            )
        )
    return sorted(
        asks, key=lambda ask: (ask.inner is None, -ask.shape.gpus * ask.shape.share, -ask.shape.cpu, ask.role)
    )


class Ground:
    """Nodes, what each role asks of them, and the units that could go. All are there in the beginning."""

    def __init__(self, nodes: Nodes, asks: Sequence[Ask], units: Sequence[Unit], word: str) -> None:
        self.nodes, self.asks, self.units = nodes, asks, units
        self.room = Room(nodes, word)
        self.at: dict[int, list[int]] = {}
        for number, one in enumerate(units):
            for row in one.parts:
                self.at.setdefault(row, []).append(number)
        self.held = np.zeros(len(nodes.names), np.bool_)
        self.held[list(self.at)] = True
        self.full = [self.full_of(ask, self.at) for ask in asks]
        self.changed: dict[int, int] = {}  # rows that are not as in the beginning, and by how many changes

    def reach(self, scope: Scope) -> int:
        """Pods that fit if all units go: an upper bound where roles share nodes."""
        found = 0
        for ask, full in zip(self.asks, self.full, strict=True):
            found += max((self._field(ask, rows, full).reach() for rows in self.inner(ask, scope)), default=0)
        return found

    def layout(self, scope: Scope) -> list[Pod] | None:
        """Places for all roles on what is free now; with one role exactly when there are any."""
        put: list[Put] = []
        complete = self._lay_from(0, scope, put)
        self.lift(put)
        if not complete:
            return None
        put.sort(key=lambda one: one[0].role)
        return [Pod(ask.role, self.nodes.names[row], devices) for ask, row, devices in put]

    def field(self, ask: Ask, rows: Mask) -> Field:
        return self._field(ask, rows, {row: self.room.fit(ask.shape, row) for row in self.changed})

    def free(self, one: Unit) -> None:
        self.room.free(one)
        for row in one.parts:
            self.changed[row] = self.changed.get(row, 0) + 1

    def hold(self, one: Unit) -> None:
        self.room.hold(one)
        for row in one.parts:
            self._unchanged(row)

    def full_of(self, ask: Ask, rows: Iterable[int], gone: Sequence[int] = ()) -> dict[int, int]:
        """What each row takes once all of its units have gone, those in `gone` beforehand."""
        found = {}
        for row in rows:
            if not ask.usable[row]:
                continue
            left = [self.units[number] for number in self.at[row] if number not in gone]
            for one in left:
                self.room.part(one, row, 1)
            found[row] = self.room.fit(ask.shape, row)
            for one in left:
                self.room.part(one, row, -1)
        return found

    def inner(self, ask: Ask, scope: Scope) -> Iterable[Mask]:
        """The domains within a scope in one of which the role must be."""
        if ask.inner is None:
            return [scope.rows]
        column = self.nodes.domains[ask.inner]
        inside = np.unique(column[scope.rows & (column >= 0)])
        return (scope.rows & (column == domain) for domain in inside)

    def lay(self, ask: Ask, scope: Scope, put: list[Put]) -> bool:
        """Place one role, in the domain with least room that is enough, and note it in `put`. Or False."""
        fields = self._able(ask, scope)
        if fields:
            self._put(ask, fields[0], put)
        return bool(fields)

    def lift(self, put: Iterable[Put]) -> None:
        """Take away what was placed."""
        for ask, row, devices in put:
            self.room.put(ask.shape, row, devices, 1)
            self._unchanged(row)

    def _lay_from(self, number: int, scope: Scope, put: list[Put]) -> bool:
        """Roles from this one on: each domain that is enough for one, until the others have their places too."""
        if number == len(self.asks):
            return True
        begun = len(put)
        for field in self._able(self.asks[number], scope):
            self._put(self.asks[number], field, put)
            if self._lay_from(number + 1, scope, put):
                return True
            self.lift(put[begun:])
            del put[begun:]
        return False

    def _able(self, ask: Ask, scope: Scope) -> list[Field]:
        fields = [field for rows in self.inner(ask, scope) if (field := self.field(ask, rows)).enough()]
        return sorted(fields, key=lambda one: one.total)

    def _put(self, ask: Ask, field: Field, put: list[Put]) -> None:
        for row in field.choose():
            devices = self.room.choose(ask.shape, row)
            self.room.put(ask.shape, row, devices, -1)
            self.changed[row] = self.changed.get(row, 0) + 1
            put.append((ask, row, devices))

    def _unchanged(self, row: int) -> None:
        self.changed[row] -= 1
        if not self.changed[row]:
            del self.changed[row]

    def _field(self, ask: Ask, rows: Mask, instead: Mapping[int, int]) -> Field:
        relevant = rows & ask.usable & ((ask.base > 0) | self.held)
        domain: Sequence[int] = ()
        if ask.size:
            column = self.nodes.domains[ask.level]
            relevant &= column >= 0
            domain = column.tolist()
        found = np.flatnonzero(relevant).tolist()
        at = dict(zip(found, ask.base[found].tolist(), strict=True))
        at.update({row: count for row, count in instead.items() if row in at})
        return Field(ask.shape, ask.need, ask.spread, at, (ask.size, domain))
