"""The one kind of limit: a tree of named holders, each with a guarantee, a limit, and what it borrows and lends.

A holder's used amounts include those of all below it. Of a guarantee, the part that is not lent is kept for its owner
whether used or not; what a holder uses and keeps, it occupies in the holder above, and the topmost ones in the pool.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self, TypeAlias

from policies.scheduling.demands import demand
from policies.scheduling.model import Cause, QueueRules, Refusal
from policies.scheduling.quota_tree import ENDLESS, QuotaTree

Names: TypeAlias = str | Sequence[str]


class Bound(StrEnum):
    """Which rule a request would break."""

    LIMIT = "limit"
    BORROWING = "borrowing"
    KEPT = "kept"  # within the limit there is room, and it is kept for others who never lend it
    POOL = "pool"  # all that there is is used or kept


@dataclass(frozen=True, slots=True)
class Shortage:
    """The first rule, from the queue upward, that a request would break. `free`: the most that would not break it."""

    queue: str  # the holder of the bound, "" for the pool
    resource: str
    needed: int
    used: int
    held: int
    free: int
    bound: int
    rule: Bound

    def refusal(self, request: str) -> Refusal:
        cause = Cause.CAPACITY if self.rule is Bound.POOL else Cause.LIMIT
        return Refusal(request, cause, self.resource, self.needed, self.free, self.bound, self.queue)


class Quotas:
    """Limits with what is used and held of them.

    `queues` share the pool's `capacity` (resource -> amount). `beside` are further trees, such as tenants, projects and
    users: the same kind of limit, outside of the pool. A request counts against one queue or against several holders
    of different trees at once, so `queue` may be a sequence of names everywhere.

    Errors: ValueError for a name that is there twice, an unknown parent or a circle; KeyError for an unknown name.
    """

    def __init__(
        self, queues: Sequence[QueueRules], capacity: Mapping[str, int], beside: Sequence[QueueRules] = ()
    ) -> None:
        self.tree = QuotaTree(queues, beside, capacity)
        self.version = 0  # of the amounts; who keeps something made of them sees that it is old

    demand = staticmethod(demand)

    @property
    def resources(self) -> Sequence[str]:
        return self.tree.resources

    def rules(self, queue: str) -> QueueRules:
        return self.tree.rules[self.tree.index[queue]]

    def bounding(self, queue: str) -> int:
        """One number for queues that have the same bounds above them, and none of their own: what fits into one fits
        into the others, and what does not breaks the same rule."""
        return self.tree.bounding(self.tree.index[queue])

    def fits(self, queue: Names, demand: Mapping[str, int]) -> Shortage | None:
        """None when `used + held + demand` stays within every bound up to the pool, else the first that breaks."""
        for node in self._nodes(queue):
            for resource, amount in demand.items():
                column = self.tree.column(resource)
                if amount > 0 and self._room(node, column) < amount:
                    return self._shortage(node, column, amount)
        return None

    def room(self, queue: Names) -> list[int]:
        """The most that would fit now, by the columns of `resources`; never below 0."""
        rooms = [[self._room(node, column) for column in range(len(self.resources))] for node in self._nodes(queue)]
        return rooms[0] if len(rooms) == 1 else [min(each) for each in zip(*rooms, strict=True)]

    def can_ever(self, queue: Names, demand: Mapping[str, int]) -> Shortage | None:
        """None when the request would fit if nothing ran and there were nodes without end, or the limit against it."""
        for node in self._nodes(queue):
            for resource, amount in demand.items():
                shortage = self._shortage(node, self.tree.column(resource), amount, empty=True) if amount > 0 else None
                if shortage is not None:
                    return shortage
        return None

    def add(self, queue: Names, demand: Mapping[str, int], *, held: bool = False) -> None:
        """Count it, whether it fits or not: what runs, runs. `held`: for something that has not started yet."""
        self._count(queue, demand, 1, held)

    def remove(self, queue: Names, demand: Mapping[str, int], *, held: bool = False) -> None:
        self._count(queue, demand, -1, held)

    def used(self, queue: str, resource: str) -> int:
        """By everything in and below `queue` ("": in the pool), what is held included."""
        return self.tree.used[self._node(queue)][self.tree.column(resource)]

    def held(self, queue: str, resource: str) -> int:
        return self.tree.held[self._node(queue)][self.tree.column(resource)]

    def assured(self, queue: str) -> dict[str, int]:
        """By resource, the guarantee as shares see it."""
        return dict(zip(self.tree.resources, self.tree.assured(self._node(queue)), strict=True))

    def guarantee(self, queue: str, resource: str) -> int:
        """Its own or the sum of those below it, whichever is more."""
        return self.tree.guarantee[self._node(queue)][self.tree.column(resource)]

    def kept(self, queue: str, resource: str) -> int:
        """The part of the guarantee that is never lent."""
        return self.tree.kept[self._node(queue)][self.tree.column(resource)]

    def capacity(self, resource: str) -> int:
        return self.tree.limit[0][self.tree.column(resource)]

    def resize(self, capacity: Mapping[str, int]) -> None:
        """Nodes joined or left. What is used stays, even if it is more than there now is."""
        self.tree.resize(capacity)
        self.version += 1

    def copy(self) -> Self:
        """A scratch: the rules are shared, the amounts are its own."""
        made = copy.copy(self)
        made.tree = self.tree.copy()
        return made

    def _node(self, queue: str) -> int:
        return self.tree.index[queue] if queue else 0

    def _nodes(self, queue: Names) -> Sequence[int]:
        if isinstance(queue, str):
            return (self.tree.index[queue],)
        return [self.tree.index[name] for name in queue]

    def _room(self, node: int, column: int) -> int:
        """From the top down: how much each may still occupy above, and beside that what it has kept and not used."""
        tree = self.tree
        room, most = ENDLESS, ENDLESS
        for at in tree.path[node]:
            limit, filled, kept = tree.limit[at][column], tree.filled[at][column], tree.kept[at][column]
            occupied = max(filled, kept)
            may = min(limit, tree.borrowable[at][column]) - occupied
            room = max(0, min(room, may)) + occupied - filled
            most = min(most, limit - tree.used[at][column])
        return max(0, min(room, most))

    def _shortage(self, node: int, column: int, needed: int, *, empty: bool = False) -> Shortage | None:
        tree, grown = self.tree, needed
        for at in reversed(tree.path[node]):
            if empty and at < tree.roots:
                return None
            kept = tree.kept[at][column]
            filled = sum(tree.kept[child][column] for child in tree.children[at]) if empty else tree.filled[at][column]
            used = 0 if empty else tree.used[at][column]
            occupied = max(filled, kept)
            grown = max(0, grown - (occupied - filled))
            slack = needed - grown  # of it, kept room on the way up covers so much
            inner = at >= tree.roots
            limit, borrowable = tree.limit[at][column], tree.borrowable[at][column]
            found = [(Bound.LIMIT if inner else Bound.POOL, limit, limit - used)]
            if grown:
                found.append((Bound.BORROWING, borrowable, slack + max(0, borrowable - occupied)))
                found.append((Bound.KEPT if inner else Bound.POOL, limit, slack + max(0, limit - occupied)))
            for rule, bound, free in found:
                if needed > free:
                    held = 0 if empty else tree.held[at][column]
                    name, resource = tree.names[at], tree.resources[column]
                    return Shortage(name, resource, needed, used - held, held, max(0, free), bound, rule)
        return None

    def _count(self, queue: Names, demand: Mapping[str, int], sign: int, held: bool) -> None:
        self.version += 1
        for node in self._nodes(queue):
            for resource, amount in demand.items():
                self.tree.count(node, self.tree.column(resource), sign * amount, held)
