"""Room for pods of one role, by greed: of all nodes the one whose holders lose least for each pod that it then takes.

A victim frees all of its nodes, so it is charged to each of them in proportion to what it still gives back there. The
charges change with every choice, both ways: they are looked at again when a node comes up, and where a victim went from
its other nodes at once.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from policies.scheduling.victim_room import Field, Room, Unit

Price = tuple[
    float, float, int, int
]  # lost work and size for each pod, then the highest priority and the earliest start
Option = tuple[Price, list[int]]


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
        self.weight: dict[int, int] = {}  # by unit: the pods for whose rows it is still charged
        for row, numbers in self.at.items():
            for number in numbers:
                self.weight[number] = self.weight.get(number, 0) + self._left(row)

    def run(self, gone: list[int]) -> bool:
        """Whether there is enough in the end. What was chosen stays free in any case."""
        if self.field.enough():
            return True
        heap = [(option[0], row) for row in self.at if (option := self._option(row)) is not None]
        heapq.heapify(heap)
        while heap:
            _, row = heapq.heappop(heap)
            option = self._option(row)
            if option is None:
                continue
            if heap and (option[0], row) > heap[0]:
                heapq.heappush(heap, (option[0], row))
                continue
            chosen = self._take_all(option[1], gone)
            if self.field.enough():
                return True
            for other in dict.fromkeys([row, *self._rows(chosen)]):
                if (option := self._option(other)) is not None:
                    heapq.heappush(heap, (option[0], other))
        return False

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

    def _option(self, row: int) -> Option | None:
        """The units that go for the cheapest further room on a node."""
        need = self.field.need - self.field.total
        left = self._left(row)
        numbers = self.at[row]
        if left <= 0 or not numbers:
            return None
        if len(numbers) == 1:
            one, gain = self.units[numbers[0]], min(left, need)
            charge = one.lost * left / self.weight[numbers[0]]
            return ((charge / gain, one.size / gain, one.priority, -one.since), list(numbers))
        charges = {number: self.units[number].lost * left / self.weight[number] for number in numbers}
        numbers = sorted(numbers, key=lambda one: (charges[one], self.units[one].priority, one))
        options: list[Option] = []
        for count, room in self._steps(row, numbers):
            gain = min(room - self.field.at[row], need)
            options.append((self._price(numbers[:count], charges, gain), numbers[:count]))
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
