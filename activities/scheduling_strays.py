"""Jobs that run without a ticket, accepted before there were queues: what they use is not given to anybody else.

They are in no queue, nobody displaces them, and they keep the size that they have. Where a job's pods have not been
seen yet, they are taken to be where they would be placed now.
"""

from collections.abc import Iterable

from definitions.job import Job
from policies.scheduling.asking import Asked, Shapes, limit_of, shape_of
from policies.scheduling.documents import Priority
from policies.scheduling.model import Pod, Refusal, Request, Running, Shape
from policies.scheduling.world import World
from store.pool_reads import Stray

KEPT = Priority("", preemptible=False)


class Strays:
    """Those of one world, under `queue`, which has no quotas."""

    def __init__(self, world: World, shapes: Shapes, queue: str) -> None:
        self._world, self._shapes, self._queue = world, shapes, queue
        self._known: dict[str, Stray] = {}

    def bring(self, strays: Iterable[Stray], now: int) -> None:
        """Be in line with what is there now."""
        there = {stray.job: stray for stray in strays}
        for job, known in list(self._known.items()):
            if there.get(job) != known:
                del self._known[job]
                if job in self._world.running:
                    self._world.ended(job, now)
        for job in sorted(there.keys() - self._known.keys() - self._world.running.keys()):
            self._known[job] = there[job]
            self._adopt(there[job], now)

    def _adopt(self, stray: Stray, now: int) -> None:
        spec = Job.model_validate(stray.spec).spec
        seen = stray.nodes[:: spec.processes_per_node]
        spec = spec.model_copy(update={"elastic": None, "nodes": len(seen) if spec.elastic and seen else spec.nodes})
        since = now if stray.started_at is None else int(stray.started_at.timestamp())
        asked = Asked(stray.job, self._queue, shape_of(spec), submitted=since, limit=limit_of(spec))
        request = self._shapes.request(asked, KEPT)
        pods = self._seen(request, seen) if all(node in self._world.nodes.index for node in seen) else ()
        if len(pods) < spec.nodes:
            pods = self._somewhere(request)
        if pods:
            self._world.adopt(Running(request, pods, since), now)

    def _seen(self, request: Request, nodes: Iterable[str]) -> tuple[Pod, ...]:
        """Which devices of a node it has is not known: those that nobody else has."""
        found: list[Pod] = []
        for name in nodes:
            pod = Pod(0, name, self._devices(request.roles[0].shape, name))
            self._world.nodes.take_all(request, [pod])
            found.append(pod)
        self._world.nodes.give_all(request, found)
        return tuple(found)

    def _devices(self, shape: Shape, node: str) -> tuple[int, ...]:
        free = self._world.nodes.free_gpu[self._world.nodes.index[node]]
        return tuple(device for device, parts in enumerate(free) if parts >= shape.share)[: shape.gpus]

    def _somewhere(self, request: Request) -> tuple[Pod, ...]:
        found = self._world.placer.place(request)
        if isinstance(found, Refusal):
            return ()
        self._world.placer.undo(request, found)
        return found
