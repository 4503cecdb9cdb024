"""The cheapest room for one role, by greed: of all places the one whose holders lose least for each pod that it takes.

A place is a node, or with slices a domain of their level. A victim frees all of its nodes, so it is charged to each of
them in proportion to what it still gives back there. Charges change with every choice, both ways: they are looked at
again when a place comes up, and where a victim went from its other places at once.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from policies.scheduling.victim_room import Field, Room, Unit

Price = tuple[
    float, float, int, int
]  # lost work and size for each pod, then the highest priority and the earliest start
Option = tuple[Price, list[int]]
NodeOption = tuple[Price, list[int], int, int]  # with the row and the pods that it then takes more

# What a node freed in another domain counts for while slices are formed, since that domain may never get a slice. Found
# on clusters by chance: from 0.1 to 0.5 all lose about as much, at 0 and at 1 twice and three times as much too much.
ELSEWHERE = 0.25


class Greedy:
    """Frees units in `room`, and keeps `field` up to date, until it has enough.

    `at`: units by row. `full`: what each row takes once all of them have gone. `permitted`: whether a unit may still
    go, asked before each choice. `gone` grows by what is chosen.
    """

    def __init__(
        self,
        room: Room,
        field: Field,
        units: Sequence[Unit],
        at: Mapping[int, Collection[int]],
        full: Mapping[int, int],
        permitted: Callable[[int], bool],
    ) -> None:
        self.room, self.field, self.units, self.permitted = room, field, units, permitted
        self.at = {row: list(numbers) for row, numbers in at.items() if row in field.at}
        self.full = {row: min(full[row], 1) if field.spread else full[row] for row in self.at}
        self.rows: dict[int, list[int]] = {}  # by place
        for row in self.at:
            self.rows.setdefault(self._place(row), []).append(row)
        self.weight: dict[int, int] = {}  # by unit: the pods for whose places it is still charged
        for row, numbers in self.at.items():
            for number in numbers:
                self.weight[number] = self.weight.get(number, 0) + self._left(row)

    def run(self, gone: list[int]) -> bool:
        """Whether there is enough in the end. What was chosen stays free in any case."""
        if self.field.enough():
            return True
        heap = [(option[0], place) for place in self.rows if (option := self._option(place)) is not None]
        heapq.heapify(heap)
        while heap:
            _, place = heapq.heappop(heap)
            option = self._option(place)
            if option is None:
                continue
            if heap and (option[0], place) > heap[0]:
                heapq.heappush(heap, (option[0], place))
                continue
            chosen = self._take_all(option[1], gone)
            if self.field.enough():
                return True
            for other in dict.fromkeys([place, *(self._place(row) for row in self._rows(chosen))]):
                if (option := self._option(other)) is not None:
                    heapq.heappush(heap, (option[0], other))
        return False

    def _place(self, row: int) -> int:
        return self.field.domain[row] if self.field.size else row

    def _rows(self, numbers: Iterable[int]) -> list[int]:
        return [row for number in numbers for row in self.units[number].parts if row in self.at]

    def _left(self, row: int) -> int:
        return self.full[row] - self.field.at[row]

    def _take_all(self, numbers: Iterable[int], gone: list[int]) -> list[int]:
        """Those that may go, one after another, up to one that may not: it never comes up again."""
        chosen = []
        for number in numbers:
            if not self.permitted(number):
                for row in self._rows([number]):
                    self.at[row].remove(number)
                break
            self._take(number)
            gone.append(number)
            chosen.append(number)
        return chosen

    def _take(self, number: int) -> None:
        rows = self._rows([number])
        before = {row: self._left(row) for row in rows}
        self.room.free(self.units[number])
        self.field.update(self.room, rows)
        for row in rows:
            self.at[row].remove(number)
            change = self._left(row) - before[row]
            for other in self.at[row]:
                self.weight[other] += change

    def _option(self, place: int) -> Option | None:
        if self.field.size:
            return self._slice(place)
        found = self._node(place, self.field.need - self.field.total, self.weight)
        return found and (found[0], found[1])

    def _node(self, row: int, need: int, weight: Mapping[int, float]) -> NodeOption | None:
        """The units that go for the cheapest further room on a node. `weight`: over which a unit's loss is spread."""
        left = self._left(row)
        numbers = self.at[row]
        if left <= 0 or not numbers:
            return None
        if len(numbers) == 1:
            one, gain = self.units[numbers[0]], min(left, need)
            charge = one.lost * left / weight[numbers[0]]
            return ((charge / gain, one.size / gain, one.priority, -one.since), list(numbers), row, gain)
        charges = {number: self.units[number].lost * left / weight[number] for number in numbers}
        numbers = sorted(numbers, key=lambda one: (charges[one], self.units[one].priority, one))
        options: list[NodeOption] = []
        for count, room in self._steps(row, numbers):
            gain = min(room - self.field.at[row], need)
            options.append((self._price(numbers[:count], charges, gain), numbers[:count], row, gain))
        return min(options, default=None)

    def _steps(self, row: int, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """How many go, and the room on the node then, wherever it rises."""
        found, last = [], self.field.at[row]
        most = self.full[row]
        for count, number in enumerate(numbers, 1):
            self.room.part(self.units[number], row, 1)
            room = min(self.room.fit(self.field.shape, row), most)
            if room > last:
                found.append((count, room))
                last = room
        for number in numbers:
            self.room.part(self.units[number], row, -1)
        return found

    def _price(self, numbers: Sequence[int], charges: Mapping[int, float], gain: int) -> Price:
        units = [self.units[number] for number in numbers]
        lost, size = sum(charges[number] for number in numbers), sum(one.size for one in units)
        return (lost / gain, size / gain, max(one.priority for one in units), -max(one.since for one in units))

    def _slice(self, domain: int) -> Option | None:
        """The units that go for one more slice in a domain, or for the rest of the last one."""
        slices, rest = divmod(self.field.need, self.field.size)
        size = self.field.size if self.field.whole < slices else rest
        need = size - self.field.totals.get(domain, 0) % self.field.size
        inside, weight = self._inside(domain)
        options = [option for row in self.rows[domain] if (option := self._node(row, need, weight)) is not None]
        chosen: dict[int, None] = {}
        gains: dict[int, int] = {}  # by row
        for _, numbers, row, gain in sorted(options):
            chosen |= dict.fromkeys(numbers)
            gains[row] = max(gain, gains.get(row, 0))
            for other in self._rows(numbers):
                if self.field.domain[other] == domain and chosen.keys() >= set(self.at[other]):
                    gains[other] = self._left(other)
            if sum(gains.values()) >= need:
                charges = {number: self.units[number].lost * inside[number] / weight[number] for number in chosen}
                return self._price(list(chosen), charges, 1), list(chosen)
        return None

    def _inside(self, domain: int) -> tuple[dict[int, int], dict[int, float]]:
        """For each unit in a domain: the pods for whose places there it is charged, and what they are a part of."""
        inside: dict[int, int] = {}
        for row in self.rows[domain]:
            left = self._left(row)
            for number in self.at[row]:
                inside[number] = inside.get(number, 0) + left
        weight = {number: max(1.0, own + ELSEWHERE * (self.weight[number] - own)) for number, own in inside.items()}
        return inside, weight
