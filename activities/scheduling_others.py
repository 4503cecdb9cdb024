"""What pods of others take of a pool's nodes: it is given to nobody while they are there, and nobody knows until when.

They are in no queue and nobody displaces them. Which GPUs of a node they have is their kubelet's choice: they are taken
to be those that nobody of ours has, the first of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from definitions.cluster import TakenByOthers
from policies.scheduling.mig import slices_of
from policies.scheduling.model import WHOLE, Pod, Request, Role, Running, Shape, Tolerated, Where
from policies.scheduling.world import World
from store.base import Document

PREFIX = "others/"  # no id of a job begins so
ROLE = "pods"
ON_ANY = Where(tolerates=(Tolerated(),))  # they are where they are


class Taken(NamedTuple):
    """Of one node, whether it has room for it or not. `gpus`: whole ones, beside those of `shape`."""

    shape: Shape
    gpus: int


class Others:
    """Those of one world, under `queue`, which has no quotas."""

    def __init__(self, world: World, queue: str) -> None:
        self._world, self._queue = world, queue
        self._there: dict[str, Taken] = {}
        self._known: dict[str, tuple[Taken, tuple[int, ...]]] = {}  # with the devices that were taken for it
        self._unsettled: set[str] = set()

    def __len__(self) -> int:
        """How many nodes they are on; the world counts those of one node as one that runs."""
        return len(self._known)

    def bring(self, there: Mapping[str, Taken]) -> None:
        """From now on this is what others take, by node."""
        self._unsettled |= {node for node in there if self._there.get(node) != there[node]}
        self._unsettled |= self._there.keys() - there.keys()
        self._there = dict(there)

    def settle(self, now: int) -> None:
        """Be in line with that, after whatever else came to nodes or left them."""
        for node in sorted(self._unsettled):
            self._settle(node, self._there.get(node), now)
        self._unsettled = {node for node, taken in self._there.items() if taken.gpus}  # ours may come before theirs

    def _settle(self, node: str, taken: Taken | None, now: int) -> None:
        known = self._known.get(node)
        wanted = None if taken is None else (taken, self._devices(node, taken.gpus, known[1] if known else ()))
        if wanted == known:
            return
        if known is not None:
            del self._known[node]
            self._world.ended(PREFIX + node, now)
        if wanted is not None and node in self._world.nodes.index:
            self._known[node] = wanted
            self._world.adopt(self._running(node, *wanted), now)

    def _running(self, node: str, taken: Taken, devices: tuple[int, ...]) -> Running:
        shape = replace(taken.shape, gpus=len(devices))
        request = Request(PREFIX + node, self._queue, (Role(ROLE, 1, shape),), preemptible=False)
        return Running(request, (Pod(0, node, devices),), 0)

    def _devices(self, node: str, count: int, own: tuple[int, ...]) -> tuple[int, ...]:
        """The first that are whole, theirs by now among them; fewer where ours has more than is left."""
        if not count or node not in self._world.nodes.index:
            return ()
        free = self._world.nodes.free_gpu[self._world.nodes.index[node]]
        return tuple(device for device, parts in enumerate(free) if parts >= WHOLE or device in own)[:count]


def taken_of(views: Iterable[Document]) -> dict[str, Taken]:
    """What others take of nodes, by name; `views`: as they were seen last (NodeView)."""
    found = {}
    for view in views:
        if view.get("others") is not None:
            seen = TakenByOthers.model_validate(view["others"])
            slices = slices_of({resource: str(amount) for resource, amount in seen.extended.items()})
            there = {profile: slices[profile] for profile in slices if profile in slices_of(view["allocatable"])}
            shape = Shape(seen.cpu_millis, seen.memory, slices=tuple(sorted(there.items())), where=ON_ANY)
            found[view["name"]] = Taken(shape, seen.gpus)
    return found
