"""Placing the parts of a gang by score: domains that can hold them by counts, the fullest first, and nodes within.

What is tried takes its room at once, so that the next part sees it, and gives it back when the whole does not work out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from policies.scheduling.masks import Mask
from policies.scheduling.nodes import Ints
from policies.scheduling.parts import ALL, Gang, Part, attempts, by_domain, can_hold, inside, room
from policies.scheduling.rows import ScoreRows, numbers


@dataclass(frozen=True, slots=True)
class Spot:
    """A pod of a part has this node and those of its GPUs."""

    part: Part
    node: int
    devices: tuple[int, ...]


class Trials:
    """One gang's ways to be placed on the nodes of `where` (None: all)."""

    def __init__(self, rows: ScoreRows, gang: Gang, where: Mask | None) -> None:
        self._rows, self._nodes, self._topology = rows, rows.nodes, rows.nodes.topology
        self._gang, self._where = gang, where
        self.most = 0  # pods of the gang that had a place at once

    def run(self) -> list[Spot] | None:
        """Its spots, in order of the pods of each part; their room is taken. None: nothing is."""
        if not self._gang.near:
            return self._orders(self._where)
        everywhere = np.ones(len(self._nodes.names), np.bool_) if self._where is None else self._where
        for level in attempts(self._gang.required, self._gang.preferred):
            for domain in self._domains(self._gang.parts, everywhere, level):
                if found := self._orders(inside(self._topology, level, domain, everywhere)):
                    return found
        return None

    def give_back(self, spots: list[Spot]) -> None:
        """Nothing is free afterwards that was not before the trial."""
        for spot in spots:
            self._nodes.take_back(spot.part.shape, spot.node, spot.devices)

    def _orders(self, where: Mask | None) -> list[Spot] | None:
        """All parts, hardest first; then each of the others first, because which is hardest depends on the nodes."""
        parts = self._gang.parts
        for first in range(len(parts)):
            if found := self._parts((parts[first], *parts[:first], *parts[first + 1 :]), where):
                return found
        return None

    def _parts(self, parts: tuple[Part, ...], where: Mask | None) -> list[Spot] | None:
        spots: list[Spot] = []
        for part in parts:
            found = self._part(part, where)
            if found is None:
                self.most = max(self.most, len(spots))
                self.give_back(spots)
                return None
            spots += found
        return spots

    def _part(self, part: Part, where: Mask | None) -> list[Spot] | None:
        if not part.bound and part.preferred is None:
            return self._fill(part, part.count, where)
        everywhere = np.ones(len(self._nodes.names), np.bool_) if where is None else where
        for level in attempts(part.required, part.preferred):
            for domain in self._domains((part,), everywhere, level):
                within = inside(self._topology, level, domain, everywhere)
                if (
                    found := self._slices(part, within)
                    if part.slices is not None
                    else self._fill(part, part.count, within)
                ):
                    return found
        return None

    def _domains(self, parts: tuple[Part, ...], where: Mask, level: int) -> Iterator[int]:
        """Domains that can hold each of the parts by counts, those with the least room first."""
        rooms = [room(self._nodes, part, where) for part in parts]
        able = np.all([can_hold(self._topology, part, free, level) for part, free in zip(parts, rooms, strict=True)], 0)
        total = np.sum([by_domain(self._topology, free, level) for free in rooms], 0)
        yield from (int(domain) for domain in np.argsort(total, kind="stable") if able[domain])

    def _slices(self, part: Part, where: Mask) -> list[Spot] | None:
        """What is left over of the count goes where it takes no whole slice's room, if there is such a domain."""
        level = ALL if part.slices is None else part.slices
        sums = by_domain(self._topology, room(self._nodes, part, where), level)
        needed, remainder = divmod(part.count, part.size)
        last, spots = [], list[Spot]()
        if remainder:
            able = np.flatnonzero(sums >= remainder)
            order = able[np.lexsort((sums[able], sums[able] % part.size < remainder))]
            if not order.size:
                return None
            last = self._fill(part, remainder, inside(self._topology, level, int(order[0]), where)) or []
            where[[spot.node for spot in last if part.spread]] = False
            sums[order[0]] -= remainder
        for domain, count in _shares(sums // part.size, sums, needed):
            spots += self._fill(part, count * part.size, inside(self._topology, level, domain, where)) or []
        if len(spots) + len(last) == part.count:
            return spots + last
        self.give_back(spots + last)
        return None

    def _fill(self, part: Part, count: int, where: Mask | None) -> list[Spot] | None:
        """So many pods of the part on the best nodes of `where`."""
        order: Ints = np.full(count, self._rows.row(part.shape), np.int64)
        placed, nodes, devices = self._rows.fill(order, where, spread=part.spread)
        pairs = zip(nodes[:placed].tolist(), devices[:placed].tolist(), strict=True)
        spots = [Spot(part, node, numbers(held)) for node, held in pairs]
        if placed == count:
            return spots
        self.most = max(self.most, placed)
        self.give_back(spots)
        return None


def _shares(able: Ints, sums: Ints, needed: int) -> Iterator[tuple[int, int]]:
    """Domains and how many of the needed slices each takes, those with the least room first."""
    for domain in np.argsort(sums, kind="stable"):
        count = min(int(able[domain]), needed)
        if count:
            yield int(domain), count
            needed -= count
