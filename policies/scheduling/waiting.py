"""All gangs that wait, as arrays that are kept between rounds: sorted by reservation, priority, queue and age."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.demands import demand
from policies.scheduling.model import Near, Request, Role
from policies.scheduling.quotas import Quotas

# One integer says where a gang is in the order: 1 bit without a reservation, 12 rank, 18 queue, 32 submitted.
RANK, QUEUE, SUBMITTED = 12, 18, 32
LAST = (1 << SUBMITTED) - 1
ENDLESS = 1 << 61  # seconds of a gang of which nobody knows when it ends: with any time added it is a time still
BY_NUMBER = ("ids", "kind", "beside", "queue", "seconds", "_priority", "_submitted", "_free_to_all", "_key", "_gone")
SPARE = 1024  # kinds of which nobody waits any more, before they are forgotten

Kind = tuple[tuple[Role, ...], Near, str, str | None]


@dataclass(frozen=True, slots=True)
class Batch:
    """Gangs that come at once, as columns. `like`: for each the number of that one of `samples` which asks for the same
    with the same reservation. `make`: the request of any of them, when somebody wants to see it."""

    ids: Sequence[str]
    queues: Sequence[str]
    priorities: Sequence[int]
    submitted: Sequence[int]
    seconds: Sequence[int | None]
    like: Sequence[int]
    samples: Sequence[Request]
    make: Callable[[str], Request]


class Waiting:
    """Waiting gangs by number. Numbers stay while a gang waits; the number of one that left is given again later.

    Gangs of one `kind` are the same to placing: what one of them cannot have, none of them can. Adding and removing
    cost little each; the sorted arrays are brought up to date by `settle`, in time linear in what waits.
    """

    def __init__(self, requests: Iterable[Request] = ()) -> None:
        self.version = 0  # of who waits; who keeps something made of them sees that it is old
        self.requests: list[Request | None] = []  # those of a batch are made when they are asked for
        self.ids: NDArray[np.object_] = np.zeros(1024, np.object_)  # by number, as long as it waits
        self.index: dict[str, int] = {}
        self.queues: dict[str, int] = {}
        self.kinds: list[Kind] = []
        self.asks: list[Mapping[str, int]] = []  # of each kind at its smallest size
        self.besides: list[tuple[str, ...]] = [()]  # distinct sets of holders beside the queue
        self.sorted: NDArray[np.int64] = np.zeros(0, np.int64)
        self.keys: NDArray[np.int64] = np.zeros(0, np.int64)
        self.kind: NDArray[np.int64] = np.zeros(1024, np.int64)
        self.beside: NDArray[np.int64] = np.zeros(1024, np.int64)
        self.queue: NDArray[np.int64] = np.zeros(1024, np.int64)  # as `queues` numbers them
        self.seconds: NDArray[np.int64] = np.zeros(1024, np.int64)  # that it runs, for planning
        self._priority: NDArray[np.int64] = np.zeros(1024, np.int64)
        self._submitted: NDArray[np.int64] = np.zeros(1024, np.int64)
        self._free_to_all: NDArray[np.bool_] = np.zeros(1024, np.bool_)  # without a reservation
        self._key: NDArray[np.int64] = np.zeros(1024, np.int64)
        self._gone: NDArray[np.bool_] = np.zeros(1024, np.bool_)
        self._kind_of: dict[Kind, int] = {}
        self._beside_of: dict[tuple[str, ...], int] = {(): 0}
        self._priorities: set[int] = set()
        self._steps: NDArray[np.int64] = np.zeros(0, np.int64)  # all priorities, the lowest first
        self._make: Callable[[str], Request] | None = None
        self._columns: tuple[str, ...] = ()
        self._amounts: NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self._new: list[int] = []
        self._left: list[int] = []
        self._free: list[int] = []
        self._resort = False
        for request in requests:
            self.add(request)

    def __len__(self) -> int:
        return len(self.index)

    def request(self, number: int) -> Request:
        found = self.requests[number]
        if found is None:
            if self._make is None or self.index.get(self.ids[number]) != number:
                raise KeyError(number)
            found = self.requests[number] = self._make(self.ids[number])
        return found

    def add(self, request: Request, beside: Sequence[str] = ()) -> int:
        """Its number. `beside`: further holders that it counts against.

        Errors: ValueError for an id that waits, and for more than 4,096 different priorities at once.
        """
        if request.id in self.index:
            raise ValueError(f"{request.id} waits already")
        self._rank({request.priority})
        number = self._number()
        self.version += 1
        self.requests[number] = request
        self.index[request.id] = number
        self.ids[number] = request.id
        self.queue[number] = self.queues.setdefault(request.queue, len(self.queues))
        self.seconds[number] = ENDLESS if request.seconds is None else request.seconds
        self._priority[number] = request.priority
        self._submitted[number] = min(max(request.submitted, 0), LAST)
        self._free_to_all[number] = not request.reservation
        self.kind[number] = self._kind(request)
        self.beside[number] = self._beside_of.setdefault(tuple(beside), len(self.besides))
        if self.beside[number] == len(self.besides):
            self.besides.append(tuple(beside))
        self._new.append(number)
        return number

    def add_all(self, batch: Batch) -> None:
        """As if each was added by itself, in this order. `make` of the last batch has to know those of all. Errors: as
        of `add`."""
        first, count = len(self.requests), len(batch.ids)
        index = dict(zip(batch.ids, range(first, first + count), strict=True))
        if len(index) < count or not self.index.keys().isdisjoint(index):
            raise ValueError("a gang of the batch waits already")
        self._rank(set(batch.priorities))
        while first + count > len(self.kind):
            self._grow()
        self.version += count
        self.requests += [None] * count
        self.index |= index
        self._make = batch.make
        for name in dict.fromkeys(batch.queues):
            self.queues.setdefault(name, len(self.queues))
        rows, like = slice(first, first + count), np.array(batch.like, np.int64)
        self.ids[rows] = batch.ids
        self.queue[rows] = [self.queues[name] for name in batch.queues]
        self.seconds[rows] = [ENDLESS if seconds is None else seconds for seconds in batch.seconds]
        self._priority[rows] = batch.priorities
        self._submitted[rows] = np.clip(np.array(batch.submitted, np.int64), 0, LAST)
        self._free_to_all[rows] = np.array([not each.reservation for each in batch.samples], np.bool_)[like]
        self.kind[rows] = np.array([self._kind(each) for each in batch.samples], np.int64)[like]
        self.beside[rows] = 0
        self._new += range(first, first + count)

    def remove(self, gang: str) -> None:
        """It started or was withdrawn. Errors: KeyError for one that does not wait."""
        number = self.index.pop(gang)
        self.version += 1
        self.requests[number] = None
        self._gone[number] = True
        self._left.append(number)

    def settle(self) -> None:
        """Bring `sorted` (numbers in order) and `keys` up to date."""
        if self._left:
            stay = ~self._gone[self.sorted]
            self.sorted, self.keys = self.sorted[stay], self.keys[stay]
        new = np.array(self._new, np.int64)
        new = new[~self._gone[new]]
        if self._resort:
            new, self.sorted, self.keys = np.concatenate([self.sorted, new]), new[:0], self.keys[:0]
            self._steps = np.unique(self._priority[new])
            self._priorities = set(self._steps.tolist())
        if len(new):
            self._key[new] = self._places(new)
            new = new[np.argsort(self._key[new], kind="stable")]
            at = np.searchsorted(self.keys, self._key[new], side="right")
            self.sorted = np.insert(self.sorted, at, new)
            self.keys = np.insert(self.keys, at, self._key[new])
        self._gone[self._left] = False
        self._free += self._left
        self._new, self._left, self._resort = [], [], False
        if len(self.kinds) > 2 * len(self.index) + SPARE:
            self._forget_kinds()

    def reserved(self) -> frozenset[str]:
        """Reservations that those who wait name; one that nobody names any more may still be among them."""
        return frozenset(reservation for *_, reservation in self.kinds if reservation is not None)

    def amounts(self, quotas: Quotas) -> NDArray[np.int64]:
        """[kinds, resources]: what a gang of each kind asks at its smallest size, in the columns of `quotas`."""
        for asks in self.asks[len(self._amounts) :]:
            for resource in asks:
                quotas.tree.column(resource)
        columns = tuple(quotas.resources)
        if columns != self._columns:
            self._columns, self._amounts = columns, np.zeros((0, len(columns)), np.int64)
        new = [[asks.get(resource, 0) for resource in columns] for asks in self.asks[len(self._amounts) :]]
        if new:
            self._amounts = np.concatenate([self._amounts, np.array(new, np.int64)])
        return self._amounts

    def wanted(self, quotas: Quotas) -> dict[str, dict[str, int]]:
        """By queue, what all its gangs ask together at their smallest sizes."""
        self.settle()
        amounts, queue = self.amounts(quotas), self.queue[self.sorted]
        total = np.zeros((len(self.queues), amounts.shape[1]), np.int64)
        np.add.at(total, queue, amounts[self.kind[self.sorted]])
        return {
            name: {resource: amount for resource, amount in zip(quotas.resources, row, strict=False) if amount}
            for name, row in zip(self.queues, total.tolist(), strict=True)
        }

    def _rank(self, priorities: set[int]) -> None:
        """There are gangs of these priorities from now on."""
        if priorities <= self._priorities:
            return
        if len(self._priorities | priorities) > 1 << RANK:
            raise ValueError(f"more than {1 << RANK} different priorities wait")
        self._priorities |= priorities
        self._resort = True

    def _number(self) -> int:
        if self._free:
            return self._free.pop()
        number = len(self.requests)
        self.requests.append(None)
        if number == len(self.kind):
            self._grow()
        return number

    def _grow(self) -> None:
        for name in BY_NUMBER:
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    def _kind(self, request: Request) -> int:
        kind = (request.roles, request.near, request.apart, request.reservation)
        found = self._kind_of.setdefault(kind, len(self.kinds))
        if found == len(self.kinds):
            self.kinds.append(kind)
            self.asks.append(demand(request, [role.fewest for role in request.roles]))
        return found

    def _forget_kinds(self) -> None:
        """Number anew those of which somebody waits."""
        used, self.kind[self.sorted] = np.unique(self.kind[self.sorted], return_inverse=True)
        self.kinds = [self.kinds[kind] for kind in used]
        self.asks = [self.asks[kind] for kind in used]
        self._kind_of = {kind: number for number, kind in enumerate(self.kinds)}
        self._columns, self._amounts = (), self._amounts[:0]

    def _places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Their keys."""
        ranks = len(self._steps) - 1 - np.searchsorted(self._steps, self._priority[numbers])
        place = self._free_to_all[numbers].astype(np.int64) << RANK | ranks
        found: NDArray[np.int64] = (place << QUEUE | self.queue[numbers]) << SUBMITTED | self._submitted[numbers]
        return found
