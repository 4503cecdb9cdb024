"""When the first gang in a queue could start at the latest: what running gangs leave free, in order of their ends."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduling.model import WHOLE, Pod, Request
from simulator.pool import Pool

Ints = NDArray[np.int64]
ENDLESS = 2**62


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a running gang gives back. Per pod: row, processors, memory. Per device: place in the flat array, share."""

    end: int
    identity: str
    declared: bool
    gpus: int
    pods: Ints
    devices: Ints

    def __lt__(self, other: "Footprint") -> bool:
        return (self.end, self.identity) < (other.end, other.identity)


class Ahead:
    """Footprints of running gangs by their expected ends."""

    def __init__(self) -> None:
        self._order: list[Footprint] = []
        self._of: dict[str, Footprint] = {}

    def add(self, pool: Pool, request: Request, pods: Sequence[Pod], end: int | None) -> None:
        made = _footprint(pool, request, pods, end)
        self._of[request.id] = made
        insort(self._order, made)

    def remove(self, identity: str) -> None:
        del self._order[bisect_left(self._order, self._of.pop(identity))]

    def with_new(
        self, pool: Pool, begun: Iterable[tuple[Request, Sequence[Pod], int | None]], now: int
    ) -> list[Footprint]:
        """All, with those that start now (request, pods, length), in order of their ends."""
        found = self._order.copy()
        for one, pods, length in begun:
            insort(found, _footprint(pool, one, pods, None if length is None else now + length))
        return found


def earliest(
    pool: Pool, ahead: Sequence[Footprint], request: Request, now: int
) -> tuple[int, Pool, tuple[Pod, ...], bool] | None:
    """When the gang fits if all end as expected: start, what is free then without it, its pods, and whether every end
    that this leans on was declared. None: not even once all of them have ended. An overdue gang may end at once."""
    lasting = next((at for at, each in enumerate(ahead) if each.end >= ENDLESS), len(ahead))
    ending = ahead[:lasting]
    need = sum(role.count * role.shape.gpus * role.shape.share for role in request.roles)
    free = int(pool.gpus[pool.open].clip(0).sum()) + np.cumsum([each.gpus for each in ending], dtype=np.int64)
    least = int(np.searchsorted(free, need)) + 1
    pods = np.concatenate([each.pods for each in ending]) if ending else np.zeros((0, 3), dtype=np.int64)
    devices = np.concatenate([each.devices for each in ending]) if ending else np.zeros((0, 2), dtype=np.int64)
    pod_ends = np.cumsum([len(each.pods) for each in ending], dtype=np.int64)
    device_ends = np.cumsum([len(each.devices) for each in ending], dtype=np.int64)

    def after(count: int) -> tuple[Pool, tuple[Pod, ...]] | None:
        then = pool.copy()
        _give(then, pods[: pod_ends[count - 1]], devices[: device_ends[count - 1]])
        placed = then.place(request)
        return None if placed is None else (then, placed)

    count = _least(least, len(ending), lambda count: after(count) is not None)
    found = None if count is None else after(count)
    if count is None or found is None:
        return None
    then, placed = found
    then.give(request, placed)
    firm = all(each.declared for each in ending[:count])
    return max(ending[count - 1].end, now), then, placed, firm


def _least(low: int, most: int, fits: Callable[[int], bool]) -> int | None:
    """The least count from `low` to `most` for which it fits; more never hurts. Steps double, then halve."""
    step, below = 1, low - 1
    at = low
    while at <= most and not fits(at):
        below, at, step = at, min(at + step, most) if at < most else most + 1, step * 2
    if at > most:
        return None
    while at - below > 1:
        middle = (at + below) // 2
        if fits(middle):
            at = middle
        else:
            below = middle
    return at


def _footprint(pool: Pool, request: Request, pods: Sequence[Pod], end: int | None) -> Footprint:
    shapes = [request.roles[pod.role].shape for pod in pods]
    rows = [pool.index[pod.node] for pod in pods]
    width = pool.gpus.shape[1]
    per_pod = [(row, shape.cpu, shape.memory) for row, shape in zip(rows, shapes, strict=True)]
    per_device = [
        (row * width + device, shape.share)
        for row, pod, shape in zip(rows, pods, shapes, strict=True)
        for device in pod.devices
    ]
    return Footprint(
        ENDLESS if end is None else end,
        request.id,
        request.limit is not None,
        sum(share for _, share in per_device),
        np.array(per_pod, dtype=np.int64).reshape(-1, 3),
        np.array(per_device, dtype=np.int64).reshape(-1, 2),
    )


def _give(pool: Pool, pods: Ints, devices: Ints) -> None:
    np.add.at(pool.cpu, pods[:, 0], pods[:, 1])
    np.add.at(pool.memory, pods[:, 0], pods[:, 2])
    np.add.at(pool.gpus.reshape(-1), devices[:, 0], devices[:, 1])
    pool.whole = (pool.gpus == WHOLE).sum(axis=1)
