"""The cheapest units that make room for so many pods, exactly, where units that share nodes are few.

Units that share a node are looked at together: a node may take a pod only once all of them have gone. Such groups do
not touch each other, so what remains is a knapsack: from each group one of its sets, to gain enough pods at least cost.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from policies.scheduling.victim_room import Field, Room, Unit

TOGETHER = 6  # units in one group of which all sets are tried
NEVER = np.iinfo(np.int64).max // 2

At = Mapping[int, Collection[int]]  # units by row


class Choice(NamedTuple):
    """Some units of a group, the pods that their going gains, and their price."""

    gain: int
    price: int
    numbers: tuple[int, ...]


def cover(
    room: Room, field: Field, units: Sequence[Unit], at: At, full: Mapping[int, int], prices: Mapping[int, int]
) -> list[int] | None:
    """The units to go for what `field`, which has no slices, lacks; None if a group is too large or all are too few.

    `full`: what each row takes once all of its units have gone. Equal prices: those that stand first in `prices`.
    """
    rows = [row for row in at if row in field.at and at[row] and _most(field, full, row) > field.at[row]]
    groups = _groups(rows, at)
    if max(map(len, groups), default=0) > TOGETHER:
        return None
    order = {number: place for place, number in enumerate(prices)}
    groups.sort(key=lambda group: order[min(group)])
    choices = [
        _alone(field, full, group, prices) if len(group) == 1 else _choices(room, field, units, group, prices)
        for group in groups
    ]
    return _cheapest([one for one in choices if one], field.need - field.total)


def prices_of(units: Sequence[Unit]) -> dict[int, int]:
    """One number for each unit: lost work first, of equals who holds less; and of equals of that the rest by order."""
    order = sorted(range(len(units)), key=lambda number: (units[number].priority, -units[number].since))
    # Below the lost work there are so many bits for the size in GPUs that the sum of all still fits into 60.
    bits = min(16, max(0, 60 - sum(one.lost for one in units).bit_length()))
    return {number: (units[number].lost << bits) + 1 + (units[number].size // 1000 if bits else 0) for number in order}


def _most(field: Field, full: Mapping[int, int], row: int) -> int:
    return min(1, full[row]) if field.spread else full[row]


def _groups(rows: Sequence[int], at: At) -> list[dict[int, list[int]]]:
    """Units that share rows, directly or through others: by unit the rows that matter."""
    group: dict[int, dict[int, list[int]]] = {}
    for row in rows:
        joined: dict[int, list[int]] = {}
        for number in at[row]:
            other = group.get(number)
            if other is not None and other is not joined:
                if len(other) > len(joined):
                    joined, other = other, joined
                joined.update(other)
                for moved in other:
                    group[moved] = joined
            joined.setdefault(number, [])
            group[number] = joined
        for number in at[row]:
            joined[number].append(row)
    return list({id(one): one for one in group.values()}.values())


def _alone(
    field: Field, full: Mapping[int, int], group: Mapping[int, Sequence[int]], prices: Mapping[int, int]
) -> list[Choice]:
    """Of a unit that shares no node: once it has gone, all have."""
    ((number, rows),) = group.items()
    return [Choice(sum(_most(field, full, row) - field.at[row] for row in rows), prices[number], (number,))]


def _choices(
    room: Room, field: Field, units: Sequence[Unit], group: Mapping[int, Sequence[int]], prices: Mapping[int, int]
) -> list[Choice]:
    """Of all sets of a group those that no other beats in both gain and price, by rising gain."""
    numbers = sorted(group)
    rows = sorted({row for own in group.values() for row in own})
    found = []
    for chosen in range(1, 1 << len(numbers)):
        going = tuple(number for place, number in enumerate(numbers) if chosen >> place & 1)
        gain = _gain(room, field, units, going, rows)
        if gain > 0:
            found.append(Choice(gain, sum(prices[number] for number in going), going))
    best: list[Choice] = []
    for choice in sorted(found, key=lambda one: (one.price, -one.gain)):
        if not best or choice.gain > best[-1].gain:
            best.append(choice)
    return best


def _gain(room: Room, field: Field, units: Sequence[Unit], going: Sequence[int], rows: Sequence[int]) -> int:
    for number in going:
        room.free(units[number])
    gain = 0
    for row in rows:
        count = room.fit(field.shape, row)
        gain += (min(1, count) if field.spread else count) - field.at[row]
    for number in going:
        room.hold(units[number])
    return gain


def _cheapest(groups: Sequence[Sequence[Choice]], need: int) -> list[int] | None:
    """`least[n]`: the least price of at least n pods from the groups so far."""
    least = np.full(need + 1, NEVER, np.int64)
    least[0] = 0
    taken = np.full((len(groups), need + 1), -1, np.int8)
    pods = np.arange(need + 1)
    for choices, pick in zip(groups, taken, strict=True):
        before = least.copy()
        for number, choice in enumerate(choices):
            price = before[np.maximum(pods - choice.gain, 0)]
            price += choice.price
            better = price < least
            least[better] = price[better]
            pick[better] = number
    if least[need] >= NEVER:
        return None
    chosen: list[int] = []
    for choices, pick in zip(reversed(groups), taken[::-1], strict=True):
        if pick[need] >= 0:
            choice = choices[pick[need]]
            chosen += choice.numbers
            need = max(0, need - choice.gain)
    return chosen
