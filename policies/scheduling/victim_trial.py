"""Sets of victims on trial: who comes back without harm, and for small numbers which set is the cheapest of all."""

from collections.abc import Callable, Iterable, Sequence

from policies.scheduling.victim_ground import Ground, Scope
from policies.scheduling.victim_room import Unit

Cost = tuple[int, int, int]  # lost work, size, number of victims
Permitted = Callable[[Sequence[Unit], Unit], bool]  # whether the unit may go beside those
Satisfied = Callable[[Sequence[Unit]], bool]  # whether what these leave is enough for the quotas


class Trial:
    """A scope with some units gone, which may come back and go one by one. `end` puts all of them back."""

    def __init__(self, ground: Ground, scope: Scope, satisfied: Satisfied, gone: Iterable[Unit]) -> None:
        self.ground, self.scope, self.satisfied = ground, scope, satisfied
        self.gone: list[Unit] = []
        self.alone = len(ground.asks) == 1
        # Each role for itself: with several of them that is necessary only, and quick to see.
        self.fields = [ground.field(ask, scope.rows) for ask in ground.asks if ask.inner is None or self.alone]
        for one in gone:
            self.free(one)

    def free(self, one: Unit, at: int | None = None) -> None:
        self.ground.free(one)
        self.gone.insert(len(self.gone) if at is None else at, one)
        for field in self.fields:
            field.update(self.ground.room, one.parts)

    def hold(self, one: Unit) -> int:
        """It stays; its place among those that go."""
        place = self.gone.index(one)
        self.ground.hold(one)
        del self.gone[place]
        for field in self.fields:
            field.update(self.ground.room, one.parts)
        return place

    def enough(self) -> bool:
        """Whether the beneficiary has its places, and the quotas are satisfied."""
        placed = all(field.enough() for field in self.fields)
        if placed and not self.alone:
            placed = self.ground.layout(self.scope) is not None
        return placed and self.satisfied(self.gone)

    def end(self) -> None:
        for one in list(self.gone):
            self.hold(one)


def cost(units: Iterable[Unit]) -> Cost:
    chosen = list(units)
    return (sum(one.lost for one in chosen), sum(one.size for one in chosen), len(chosen))


def dearest(one: Unit) -> tuple[int, int, int, int]:
    """Sorts whom to spare first to the front."""
    return (-one.lost, -one.size, -one.priority, one.since)


def reprieve(trial: Trial) -> None:
    for one in sorted(trial.gone, key=dearest):
        place = trial.hold(one)
        if not trial.enough():
            trial.free(one, place)


def all_sets(
    trial: Trial, order: Sequence[Unit], found: list[Unit] | None, permitted: Permitted, steps: int
) -> list[Unit] | None:
    """The cheapest set, or the cheapest within so many steps. Depth first, sparing the dearest first; a set that costs
    no less than the best so far is not looked into. Begins with all of `order` gone."""
    best, least = found, None if found is None else cost(found)

    def descend(depth: int, chosen: list[Unit]) -> None:
        nonlocal best, least, steps
        steps -= 1
        if steps < 0 or (least is not None and cost(chosen) >= least):
            return
        if depth == len(order):
            # Asked only of what would be the best, since the rules of the queues may take long to ask.
            if all(permitted(chosen[:place], one) for place, one in enumerate(chosen)):
                best, least = chosen, cost(chosen)
            return
        one = order[depth]
        place = trial.hold(one)
        if trial.enough():
            descend(depth + 1, chosen)
        trial.free(one, place)
        descend(depth + 1, [*chosen, one])

    if trial.enough():
        descend(0, [])
    return best
