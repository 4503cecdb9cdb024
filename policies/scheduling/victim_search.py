"""The cheapest of all sets of victims whose nodes hold the beneficiary within one scope.

Greed finds a set, the reprieve gives back whom it does not need, and where few could go all sets are tried.
"""

from collections.abc import Callable, Sequence

from policies.scheduling.victim_cover import cover, prices_of
from policies.scheduling.victim_greedy import Greedy
from policies.scheduling.victim_ground import Ask, Ground, Put, Scope
from policies.scheduling.victim_room import Field, Unit
from policies.scheduling.victim_slices import Slices
from policies.scheduling.victim_trial import Cost, Permitted, Satisfied, Trial, all_sets, cost, dearest, reprieve

EXACT = 48  # so many that could go are tried in all combinations, as far as the steps go:
STEPS = 6000
STEPS_SLOW = 300  # where at each several roles have to be laid out, or quotas asked


class Search:
    """Of units on a ground. The ground is changed while it is searched, and is as before afterwards."""

    def __init__(self, ground: Ground, permitted: Permitted, satisfied: Satisfied) -> None:
        self.ground, self.units = ground, ground.units
        self.short = not satisfied(())  # of quota; if it is not, it is not with fewer gangs either
        self.permitted, self.satisfied = permitted, satisfied if self.short else _always
        self.prices = prices_of(self.units)

    def solve(self, scope: Scope) -> list[Unit] | None:
        """Units to go, in an order in which each is permitted; None if none was found that is enough."""
        found: list[Unit] | None = None
        gone = self._greedy(scope)
        if gone is not None:
            trial = Trial(self.ground, scope, self.satisfied, [self.units[number] for number in gone])
            # Placed role by role with fewer gone, it may be that all at once are not; then other sets are looked for.
            if self._satisfy(trial) and trial.enough():
                reprieve(trial)
                found = list(trial.gone)
            trial.end()
        return self._exact(scope, found)

    def _greedy(self, scope: Scope) -> list[int] | None:
        """Role by role: the cheapest domain for each, and its pods there before the next."""
        gone: list[int] = []
        put: list[Put] = []
        complete = True
        for ask, full in zip(self.ground.asks, self.ground.full, strict=True):
            if put:
                full = full | self.ground.full_of(ask, {row for _, row, _ in put} & self.ground.at.keys(), gone)
            added = self._cheapest(ask, scope, full, gone)
            if added is None:
                complete = False
                break
            for number in added:
                self.ground.free(self.units[number])
            gone += added
            if len(self.ground.asks) > 1 and not self.ground.lay(ask, scope, put):
                complete = False
                break
        self.ground.lift(put)
        for number in gone:
            self.ground.hold(self.units[number])
        return gone if complete else None

    def _cheapest(self, ask: Ask, scope: Scope, full: dict[int, int], gone: Sequence[int]) -> list[int] | None:
        best: tuple[Cost, list[int]] | None = None
        before = set(gone)
        at = {
            row: [one for one in numbers if one not in before] for row, numbers in self.ground.at.items() if row in full
        }
        for rows in self.ground.inner(ask, scope):
            chosen = list(gone)

            def permitted(number: int, chosen: list[int] = chosen) -> bool:
                return self.permitted([self.units[one] for one in chosen], self.units[number])

            enough = self._pods(self.ground.field(ask, rows), at, full, permitted, chosen)
            added = chosen[len(gone) :]
            found = (cost(self.units[number] for number in added), added)
            if enough and (best is None or found < best):
                best = found
        return best and best[1]

    def _pods(
        self,
        field: Field,
        at: dict[int, list[int]],
        full: dict[int, int],
        permitted: Callable[[int], bool],
        chosen: list[int],
    ) -> bool:
        """Whether there are units whose going makes a field have enough; they are added to `chosen`."""
        if field.enough():
            return True
        if field.size:
            before = list(chosen)
            slices = Slices(
                self.ground.room, field, self.units, at, full, self.prices,
                lambda number, gone: self.permitted([self.units[one] for one in (*before, *gone)], self.units[number]),
            )  # fmt: skip
            found = slices.run()
            chosen += found or ()
            return found is not None
        found = cover(self.ground.room, field, self.units, at, full, self.prices)
        if found is not None and self._all_permitted(found, permitted, chosen):
            return True
        begun = len(chosen)
        enough = Greedy(self.ground.room, field, self.units, at, full, permitted).run(chosen)
        for number in chosen[begun:]:
            self.ground.room.hold(self.units[number])
        return enough

    def _all_permitted(self, found: list[int], permitted: Callable[[int], bool], chosen: list[int]) -> bool:
        begun = len(chosen)
        for number in found:
            if not permitted(number):
                del chosen[begun:]
                return False
            chosen.append(number)
        return True

    def _satisfy(self, trial: Trial) -> bool:
        """Whether the quotas are satisfied too, with whoever else goes for them, the cheapest for their size first."""
        if self.satisfied(trial.gone):
            return True
        taken = {one.victim for one in trial.gone}
        others = [one for one in self.units if one.victim not in taken]
        for one in sorted(others, key=lambda one: (one.lost / max(1, one.size), one.priority, -one.since)):
            if self.permitted(trial.gone, one):
                trial.free(one)
                if self.satisfied(trial.gone):
                    return True
        return False

    def _exact(self, scope: Scope, found: list[Unit] | None) -> list[Unit] | None:
        """All sets, if few units could matter: what greed found bounds the search."""
        relevant = [one for one in self.units if self.short or self._matters(one, scope)]
        if len(relevant) > EXACT:
            return found
        order = sorted(relevant, key=dearest)
        trial = Trial(self.ground, scope, self.satisfied, order)
        steps = STEPS_SLOW if self.short or len(self.ground.asks) > 1 else STEPS
        best = all_sets(trial, order, found, self.permitted, steps)
        trial.end()
        return best

    def _matters(self, one: Unit, scope: Scope) -> bool:
        return any(scope.rows[row] and any(row in full for full in self.ground.full) for row in one.parts)


def _always(gone: Sequence[Unit]) -> bool:
    return True
