"""Where a gang goes: all of its pods, or none and why."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from policies.scheduling.masks import Mask
from policies.scheduling.model import Pod, Refusal, Request, Shape
from policies.scheduling.nodes import Ints, Nodes
from policies.scheduling.parts import Gang, gang
from policies.scheduling.refusals import lacking, never, scattered
from policies.scheduling.rows import ScoreRows
from policies.scheduling.scores import Scoring
from policies.scheduling.search import search
from policies.scheduling.trials import Spot, Trials

REMEMBERED = 20_000  # gangs that failed


class Placer:
    """Places gangs on `nodes`, one after the other. Kept between rounds: it remembers scores, and what failed.

    A gang is placed by score (`scores.py`), its hardest part first; where closeness is asked for, in the domain with
    the least room that holds it. If it has one part, that finds a place whenever there is one. If it has several, an
    exact search follows, up to the bounds in `search.py`. Levels that are only preferred are kept if placing by score
    manages to, and nodes with a soft taint are left alone likewise. Equal nodes: the first in the order of `nodes`; the
    same calls give the same places.
    """

    def __init__(self, nodes: Nodes, scoring: Scoring) -> None:
        self.nodes = nodes
        self._rows = ScoreRows(nodes, scoring)
        self._failed: dict[object, tuple[int, Refusal]] = {}
        self._hopeless: dict[object, Refusal | None] = {}

    def place(
        self, request: Request, *, allowed: Mask | None = None, sizes: Sequence[int] | None = None
    ) -> tuple[Pod, ...] | Refusal:
        """Pods in the order of roles, their room taken; or a refusal, and nothing is taken.

        `allowed`: bool[N], only these nodes. `sizes`: pods of each role, in place of its `count`. A gang that failed on
        all nodes is refused unseen until something becomes free.
        """
        counts = tuple(role.count for role in request.roles) if sizes is None else tuple(sizes)
        key = _key(request, counts)
        known = self._failed.get(key) if allowed is None else None
        if known is not None and known[0] == self.nodes.given[0]:
            return replace(known[1], request=request.id)
        wanted = gang(request, counts, self.nodes.topology)
        where = self._where(request, allowed)
        found = self._calm(request, wanted, where) or self._find(key, request.id, wanted, where)
        if isinstance(found, Refusal):
            if allowed is None:
                self._failed[key] = int(self.nodes.given[0]), found
            return found
        if request.apart:
            self.nodes.mark(request.apart, [spot.node for spot in found])
        return self._pods(found)

    def place_each(self, shapes: Sequence[Shape]) -> tuple[Ints, Ints]:
        """Pods one after the other, each a gang of its own: the node of each (-1: none had room), its GPUs as bits.

        As `place` with one role of one pod each, in one go.
        """
        self._rows.settle()
        order = np.array([self._rows.row(shape) for shape in shapes], np.int64)
        _, nodes, devices = self._rows.fill(order, stop=False)
        return nodes, devices

    def undo(self, request: Request, pods: Sequence[Pod]) -> None:
        """Give back what `place` took."""
        self.nodes.give_all(request, pods)

    def _calm(self, request: Request, wanted: Gang, where: Mask | None) -> list[Spot] | None:
        """Spots on nodes without a soft taint that bothers any of its pods, where some have one; their room taken."""
        masks = [mask for role in request.roles if (mask := self.nodes.labels.calm(role.shape.where)) is not None]
        if not masks or wanted.missing:
            return None
        self._rows.settle()
        masks += [] if where is None else [where]
        return Trials(self._rows, wanted, np.logical_and.reduce(masks)).run()

    def _find(self, key: object, request: str, wanted: Gang, where: Mask | None) -> list[Spot] | Refusal:
        """Its spots, their room taken; or why there are none. What counts rule out is not searched for."""
        self._rows.settle()
        trials, found = Trials(self._rows, wanted, where), None
        if not wanted.missing:
            found = trials.run()
        if found is not None:
            return found
        refused = self._never(key, request, wanted) or lacking(self.nodes, request, wanted, where, trials.most)
        if refused is not None:
            return refused
        found = search(self.nodes, wanted, where) if len(wanted.parts) > 1 else None
        if found is None:
            return scattered(self.nodes, request, wanted, where, trials.most)
        for spot in found:
            self.nodes.take(spot.part.shape, spot.node, spot.devices)
        return found

    def _where(self, request: Request, allowed: Mask | None) -> Mask | None:
        others = self.nodes.words.get(request.apart) if request.apart else None
        if others is None:
            return allowed
        apart: Mask = others == 0
        return apart if allowed is None else allowed & apart

    def _never(self, key: object, request: str, wanted: Gang) -> Refusal | None:
        """Whether it fits nowhere, which does not change with what is free."""
        if len(self._hopeless) >= REMEMBERED:
            self._hopeless.clear()
            self._failed.clear()
        if key not in self._hopeless:
            self._hopeless[key] = never(self.nodes, request, wanted)
        known = self._hopeless[key]
        return known and replace(known, request=request)

    def _pods(self, spots: list[Spot]) -> tuple[Pod, ...]:
        ordered = sorted(spots, key=lambda spot: spot.part.role)  # stable: pods of a role stay in order
        return tuple(Pod(spot.part.role, self.nodes.names[spot.node], spot.devices) for spot in ordered)


def _key(request: Request, counts: tuple[int, ...]) -> object:
    roles = zip(request.roles, counts, strict=True)
    return tuple((role.shape, role.near, role.spread, count) for role, count in roles), request.near, request.apart
