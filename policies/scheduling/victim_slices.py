"""The cheapest room for slices: which domains get one, and who goes there for it.

Within a domain the cheapest units are found as for plain pods. A unit that frees nodes in other domains too is charged
less, but not in proportion: those may never get a slice. Afterwards domains are dropped, forced and filled anew, one at
a time, as long as that makes the whole cheaper.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from policies.scheduling.victim_cover import At, cover
from policies.scheduling.victim_greedy import Greedy
from policies.scheduling.victim_room import Field, Room, Unit
from policies.scheduling.victim_trial import cost, dearest

# 1 over what a pod gained in another domain counts for. Found on clusters made by chance, before domains are filled
# anew: from 2 to 10 all lose about as much; at 1, and without any credit, two to three times as much too much.
ELSEWHERE = 4
MOVES = 6000  # tries to make it cheaper, times rows: few where each takes long


class Slices:
    """Units to go until `field` has enough slices. Room and field are as before afterwards.

    `at`, `full`, `prices`: as for `cover`. `permitted(number, gone)`: whether a unit may go beside those.
    """

    def __init__(
        self,
        room: Room,
        field: Field,
        units: Sequence[Unit],
        at: At,
        full: Mapping[int, int],
        prices: Mapping[int, int],
        permitted: Callable[[int, Sequence[int]], bool],
    ) -> None:
        self.room, self.field, self.units, self.full = room, field, units, full
        self.prices, self.permitted = prices, permitted
        self.at = {row: list(numbers) for row, numbers in at.items() if row in field.at}
        self.rows: dict[int, list[int]] = {}
        for row in field.at:
            self.rows.setdefault(field.domain[row], []).append(row)
        numbers = {number for numbers in self.at.values() for number in numbers}
        self.own = {number: [row for row in units[number].parts if row in self.at] for number in sorted(numbers)}
        self.rank = {number: place for place, number in enumerate(prices)}  # of equals the first goes first
        self.gone: list[int] = []
        self.options: dict[int, tuple[int, tuple[int, list[int]] | None]] = {}  # by domain: pods of the slice, and how

    def run(self) -> list[int] | None:
        """Units in an order in which each is permitted; None if none were found that are enough."""
        found = None
        if self._fill(()):
            self._spare()
            self._improve()
            found = list(self.gone)
        self._restore([])
        return found

    def _fill(self, barred: Collection[int]) -> bool:
        """One slice after another, each where it is cheapest."""
        while not self.field.enough():
            best: tuple[int, int] | None = None
            for domain in self.rows:
                if domain not in barred and (option := self._option(domain)) is not None:
                    best = min(best, (option[0], domain)) if best else (option[0], domain)
            if best is None:
                return False
            self._take_slice(best[1])
        return True

    def _take_slice(self, domain: int) -> None:
        option = self._option(domain)
        for number in option[1] if option else ():
            if not self.permitted(number, self.gone):
                for row in self.own.pop(number):
                    self.at[row].remove(number)
                    self.options.pop(self.field.domain[row], None)
                return
            self._free(number)

    def _option(self, domain: int) -> tuple[int, list[int]] | None:
        """The units that go for one more slice in a domain, or for the rest of the last one, and their price."""
        slices, rest = divmod(self.field.need, self.field.size)
        size = self.field.size if self.field.whole < slices or not rest else rest
        known = self.options.get(domain)
        if known is None or known[0] != size:
            known = self.options[domain] = (size, self._cheapest(domain, size))
        return known[1]

    def _cheapest(self, domain: int, size: int) -> tuple[int, list[int]] | None:
        total = self.field.totals.get(domain, 0)
        need = total // self.field.size * self.field.size + size
        rows = self.rows[domain]
        at = {row: self.at[row] for row in rows if self.at.get(row)}
        left = {row: self._left(row) for row in at}
        if not total < need <= total + sum(left.values()):
            return None
        plain = Field(self.field.shape, need, self.field.spread, {row: self.field.at[row] for row in rows}, (0, ()))
        prices = self._prices(domain, at, left)
        found = cover(self.room, plain, self.units, at, self.full, prices)
        if found is None:
            found = []
            enough = Greedy(self.room, plain, self.units, at, self.full, lambda _: True).run(found)
            for number in found:
                self.room.hold(self.units[number])
            if not enough:
                return None
        return sum(prices[number] for number in found), found

    def _prices(self, domain: int, at: At, left: Mapping[int, int]) -> dict[int, int]:
        inside: dict[int, int] = {}
        for row, numbers in at.items():
            for number in numbers:
                inside[number] = inside.get(number, 0) + left[row]
        prices = {}
        for number in sorted(inside, key=self.rank.__getitem__):
            own, outside = ELSEWHERE * inside[number], 0
            for row in self.own[number]:
                if self.field.domain[row] != domain:
                    outside += self._left(row)
            prices[number] = self.prices[number] * own // max(1, own + outside)
        return prices

    def _left(self, row: int) -> int:
        full = self.full[row]
        return (min(1, full) if self.field.spread else full) - self.field.at[row]

    def _free(self, number: int) -> None:
        self.room.free(self.units[number])
        self.gone.append(number)
        for row in self.own[number]:
            self.at[row].remove(number)
        self._changed(number)

    def _hold(self, number: int) -> None:
        self.room.hold(self.units[number])
        self.gone.remove(number)
        for row in self.own[number]:
            self.at[row].append(number)
        self._changed(number)

    def _changed(self, number: int) -> None:
        rows = self.own[number]
        self.field.update(self.room, rows)
        for row in rows:
            self.options.pop(self.field.domain[row], None)

    def _spare(self) -> None:
        """Whoever need not go stays, the dearest first."""
        for number in sorted(self.gone, key=lambda one: dearest(self.units[one])):
            place = self.gone.index(number)
            self._hold(number)
            if not self.field.enough():
                self._free(number)
                self.gone.insert(place, self.gone.pop())

    def _improve(self) -> None:
        """Each move in turn, until a round of all of them has made nothing cheaper or there were enough."""
        left = MOVES // max(1, len(self.field.at))
        moves = self._moves()
        idle = 0
        for move, arguments in itertools.cycle(moves):
            if left <= 0 or idle >= len(moves):
                return
            before, least = list(self.gone), self._cost()
            move(*arguments)
            idle += 1
            if self.gone == before:
                continue
            left -= 1
            if self.field.enough():
                self._spare()
            if self.field.enough() and self._cost() < least:
                idle = 0
            else:
                self._restore(before)

    def _moves(self) -> list[tuple[Callable[..., None], tuple[int, ...]]]:
        moves: list[tuple[Callable[..., None], tuple[int, ...]]] = []
        for domain in self.rows:
            moves += [(self._drop, (domain,)), (self._anew, (domain,)), (self._force, (domain,))]
        moves += [(self._add, (number,)) for number in self.own]
        moves += [(self._swap, (one, other)) for one in self.rows for other in self.rows if one != other]
        return moves

    def _cost(self) -> tuple[int, int, int]:
        return cost(self.units[number] for number in self.gone)

    def _drop(self, domain: int) -> None:
        """No slice there."""
        if self._empty(domain):
            self._fill((domain,))

    def _anew(self, domain: int) -> None:
        if self._empty(domain):
            self._fill(())

    def _force(self, domain: int) -> None:
        """A slice more there; then somewhere one can go."""
        self._take_slice(domain)

    def _add(self, number: int) -> None:
        """One more goes; then others need not."""
        if number in self.own and number not in self.gone and self.permitted(number, self.gone):
            self._free(number)

    def _swap(self, domain: int, other: int) -> None:
        if self._option(other) is not None and self._empty(domain):
            self._take_slice(other)
            self._fill((domain,))

    def _empty(self, domain: int) -> bool:
        """Everybody comes back who has nodes there."""
        there = [one for one in self.gone if any(self.field.domain[row] == domain for row in self.own[one])]
        for number in there:
            self._hold(number)
        return bool(there)

    def _restore(self, gone: Iterable[int]) -> None:
        wanted = list(gone)
        for number in [one for one in self.gone if one not in wanted]:
            self._hold(number)
        for number in [one for one in wanted if one not in self.gone]:
            self._free(number)
        self.gone = wanted
