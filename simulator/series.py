"""Numbers over time: use, waiting, running, the share of each queue, fragmentation."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from policies.scheduling.model import WHOLE, Node, Shape
from simulator.ledger import Ledger
from simulator.trace import Trace, node_gpus

SAMPLES = 400  # of what is too dear to be counted at each event
POPULAR = 0.95  # of all GPU pods: the most frequent shapes that make up so much say what is fragmented


@dataclass(slots=True)
class Series:
    """Steps: a value holds from its moment on until the next. `used` and `queues` are in 1/1000 of a GPU.

    `fragmented` is sampled: the part of idle GPUs that a pod drawn from the trace's GPU pods could not use where it
    is, on average over the shapes that make up 95 % of them.
    """

    trace: Trace
    nodes: tuple[Node, ...]
    times: list[int] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    queues: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    fragmented: list[tuple[int, float]] = field(default_factory=list)
    capacity: int = field(init=False)  # 1/1000 of a GPU, with every node there
    _shapes: list[tuple[Shape, float]] = field(init=False)
    _every: float = field(init=False)
    _next: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.capacity = node_gpus(self.nodes)
        self._shapes = _popular(self.trace)
        last = self.trace.jobs[-1].request.submitted if self.trace.jobs else 0
        self._every = max(1.0, last / SAMPLES)

    def note(self, now: int, ledger: Ledger) -> None:
        """Take down how things are after the round of this moment."""
        self.times.append(now)
        self.used.append(ledger.used)
        self.waiting.append(len(ledger.waiting))
        self.running.append(len(ledger.running))
        if now >= self._next:
            self._next = now + self._every
            self.fragmented.append((now, fragmentation(ledger, self._shapes)))
            self._note_queues(now, ledger)

    def use(self, begin: int, end: int) -> float:
        """Part of the GPU time from `begin` to `end` that was held, counting every node as there."""
        if end <= begin or not self.capacity:
            return 0.0
        held = 0
        for used, since, until in zip(self.used, self.times, [*self.times[1:], end], strict=True):
            held += used * max(0, min(until, end) - max(since, begin))
        return round(held / (self.capacity * (end - begin)), 5)

    def _note_queues(self, now: int, ledger: Ledger) -> None:
        held: Counter[str] = Counter()
        for gang in ledger.running.values():
            held[gang.job.request.queue] += gang.gpus
        for queue in self.trace.queues:
            self.queues.setdefault(queue, []).append((now, held[queue]))


def fragmentation(ledger: Ledger, shapes: list[tuple[Shape, float]]) -> float:
    """Part of the idle GPUs on nodes that are there which a pod drawn from `shapes` cannot use; 0 when none is idle."""
    pool = ledger.pool
    idle = np.where(pool.open[:, None], pool.gpus.clip(0), 0)
    total = int(idle.sum())
    if not total:
        return 0.0
    useless = 0.0
    for shape, popularity in shapes:
        usable = idle == WHOLE if shape.share == WHOLE else idle >= shape.share
        found = (idle * usable).sum(axis=1)[pool.fits(shape)].sum()
        useless += popularity * (total - int(found))
    return useless / total


def _popular(trace: Trace) -> list[tuple[Shape, float]]:
    """The most frequent shapes of GPU pods and their parts, which add up to 1."""
    counts: Counter[Shape] = Counter()
    for job in trace.jobs:
        for role in job.request.roles:
            if role.shape.gpus:
                counts[role.shape] += role.count
    wanted = POPULAR * counts.total()
    chosen: list[tuple[Shape, int]] = []
    for shape, count in counts.most_common():
        if sum(number for _, number in chosen) >= wanted:
            break
        chosen.append((shape, count))
    total = sum(count for _, count in chosen)
    return [(shape, count / total) for shape, count in chosen]
