"""Why a gang finds no place: the cause, what is scarcest, and for closeness the domain that came nearest."""

from dataclasses import dataclass, replace

import numpy as np

from policies.scheduling.masks import Mask
from policies.scheduling.model import WHOLE, Cause, Refusal
from policies.scheduling.nodes import Ints, Nodes
from policies.scheduling.parts import ALL, Gang, Part, by_domain, can_hold, inside


@dataclass(frozen=True, slots=True)
class _View:
    """What counts as free: `now` or were all nodes open and empty."""

    nodes: Nodes
    now: bool

    def room(self, part: Part, where: Mask | None) -> Ints:
        found = self.nodes.room(part.shape) if self.now else self.nodes.most(part.shape)
        if part.spread:
            np.minimum(found, 1, out=found)
        return found if where is None else found * where

    def mask(self, part: Part, where: Mask | None) -> Mask:
        found = self.nodes.mask(part.shape)
        found = found & self.nodes.open if self.now else found
        return found if where is None else found & where

    def amount(self, resource: str, where: Mask) -> int:
        """What those nodes have of it together."""
        nodes = self.nodes
        if resource == "gpu":
            if not self.now:
                return int(nodes.gpus[where].sum()) * WHOLE
            free = nodes.free_gpu[where]
            return int(free.sum(where=free > 0))
        if resource in ("cpu", "memory"):
            return int(getattr(nodes, f"free_{resource}" if self.now else resource)[where].sum())
        profile = resource.removeprefix("slice/")
        if profile not in nodes.profiles:
            return 0
        return int((nodes.free_slices if self.now else nodes.slices)[where, nodes.profiles.index(profile)].sum())

    def usable(self, resource: str, parts: tuple[Part, ...], where: Mask | None) -> Mask:
        """The nodes that may be used for what asks for this resource."""
        masks = [self.mask(part, where) for part in parts if resource in _asked((part,))]
        return masks[0] if len(masks) == 1 else np.any(masks, 0)


def never(nodes: Nodes, request: str, gang: Gang) -> Refusal | None:
    """Why the gang could not be placed were all nodes open and empty; None if it could by counts.

    `resource` is the one that is shortest for what is asked of it; `pods`, if there is enough of each in sum, and it
    lies on nodes so that it cannot be used.
    """
    if gang.missing:
        return Refusal(request, Cause.NEVER, "pods", gang.pods, 0, 0, gang.missing)
    if (large := next((part for part in gang.parts if not nodes.mask(part.shape).any()), None)) is not None:
        return _too_large(nodes, request, large)
    empty = _View(nodes, False)
    if not _enough(empty, gang, None):
        return _numbers(empty, request, Cause.NEVER, gang, None, 0)
    if gang.bound and (nearest := _nearest(empty, gang, None)) is not None:
        return _at(empty, request, Cause.NEVER, gang, None, nearest)
    return None


def lacking(nodes: Nodes, request: str, gang: Gang, where: Mask | None, most: int) -> Refusal | None:
    """Why a gang that could be placed cannot be now on the nodes of `where`; None if it may be, by counts.

    `most`: how many of its pods had a place at once.
    """
    now = _View(nodes, True)
    if not _enough(now, gang, where):
        return _numbers(now, request, Cause.CAPACITY, gang, where, most)
    if gang.bound and (nearest := _nearest(now, gang, where)) is not None:
        return _at(now, request, Cause.TOPOLOGY, gang, where, nearest)
    return None


def scattered(nodes: Nodes, request: str, gang: Gang, where: Mask | None, most: int) -> Refusal:
    """By counts there is room, and parts of the gang are in each other's way."""
    cause = Cause.TOPOLOGY if gang.bound else Cause.CAPACITY
    return _numbers(_View(nodes, True), request, cause, gang, where, most)


def _too_large(nodes: Nodes, request: str, part: Part) -> Refusal:
    """What one pod needs, and the most of it that a node has on which the pod may be."""
    where = nodes.admits(part.shape)
    have = {"gpu": nodes.gpus * WHOLE, "cpu": nodes.cpu, "memory": nodes.memory}
    have |= {f"slice/{profile}": nodes.slices[:, number] for number, profile in enumerate(nodes.profiles)}
    for resource, needed in _asked((replace(part, count=1),)).items():
        most = int(have[resource][where].max(initial=0)) if resource in have else 0
        if most < needed:
            return Refusal(request, Cause.NEVER, resource, needed, most, most)
    return Refusal(request, Cause.NEVER, "pods", part.count, 0, 0)


def _enough(view: _View, gang: Gang, where: Mask | None) -> bool:
    """Whether there is room for each part on its own, and enough of everything for all, closeness apart."""
    if any(view.room(part, where).sum() < part.count for part in gang.parts):
        return False
    return len(gang.parts) == 1 or _shortest(view, gang.parts, where) is None


def _nearest(view: _View, gang: Gang, where: Mask | None) -> tuple[int, tuple[Part, ...]] | None:
    """A level, and parts that none of its domains can hold by counts; None if what must be close finds a domain."""
    topology, level = view.nodes.topology, ALL if gang.required is None else gang.required
    rooms = [view.room(part, where) for part in gang.parts]
    able = [can_hold(topology, part, free, level) for part, free in zip(gang.parts, rooms, strict=True)]
    if np.all(able, 0).any():
        return None
    if gang.required is not None:
        return gang.required, gang.parts
    part = next(part for part, holds in zip(gang.parts, able, strict=True) if not holds.any())
    inner = part.slices if part.required is None else part.required
    return (ALL if inner is None else inner), (part,)


def _at(
    view: _View, request: str, cause: Cause, gang: Gang, where: Mask | None, nearest: tuple[int, tuple[Part, ...]]
) -> Refusal:
    """The numbers of the domain that comes nearest to holding those parts; of whole slices, of all domains."""
    topology, (level, parts) = view.nodes.topology, nearest
    if not topology.names[level]:
        return Refusal(request, cause, "pods", gang.pods, 0, 0, topology.levels[level])
    if gang.required is None and parts[0].required is None:
        return _sliced(view, request, cause, parts[0], where)
    covered = [by_domain(topology, view.room(part, where), level) / part.count for part in parts]
    domain = int(np.min(covered, 0).argmax())
    everywhere = np.ones(len(view.nodes.names), np.bool_) if where is None else where
    there = inside(topology, level, domain, everywhere)
    close = Gang(parts, gang.required, gang.preferred, "")
    most = min(sum(int(view.room(part, there).sum()) for part in parts), close.pods - 1)
    return _numbers(view, request, cause, close, there, most, topology.names[level][domain])


def _sliced(view: _View, request: str, cause: Cause, part: Part, where: Mask | None) -> Refusal:
    """There is room, and not in as many whole slices: how many pods fit in such."""
    topology, level = view.nodes.topology, part.slices if part.slices is not None else ALL
    free, bound = (
        int((by_domain(topology, each.room(part, where), level) // part.size).sum()) * part.size
        for each in (view, _View(view.nodes, False))
    )
    return Refusal(request, cause, "pods", part.count, free, bound, topology.levels[level])


def _numbers(
    view: _View, request: str, cause: Cause, gang: Gang, where: Mask | None, most: int, at: str = ""
) -> Refusal:
    full = _View(view.nodes, False)
    if short := _shortest(view, gang.parts, where):
        resource, needed, free = short
        bound = full.amount(resource, full.usable(resource, gang.parts, where))
        return Refusal(request, cause, resource, needed, free, bound, at)
    for part in gang.parts:
        found = int(view.room(part, where).sum())
        if found < part.count:
            return Refusal(request, cause, "pods", part.count, found, int(full.room(part, where).sum()), at)
    bound = sum(int(full.room(part, where).sum()) for part in gang.parts)
    return Refusal(request, cause, "pods", gang.pods, most, bound, at)


def _shortest(view: _View, parts: tuple[Part, ...], where: Mask | None) -> tuple[str, int, int] | None:
    """Resource, needed, free: the one of which least of what is needed is there on the nodes that may be used."""
    found: tuple[str, int, int] | None = None
    for resource, needed in _asked(parts).items():
        free = view.amount(resource, view.usable(resource, parts, where))
        if free < needed and (found is None or free * found[1] < found[2] * needed):
            found = resource, needed, free
    return found


def _asked(parts: tuple[Part, ...]) -> dict[str, int]:
    """What all pods ask for together, GPUs before the rest."""
    found = {"gpu": 0}
    for part in parts:
        shape = part.shape
        asked = {"gpu": shape.gpus * shape.share, "cpu": shape.cpu, "memory": shape.memory}
        asked |= {f"slice/{profile}": count for profile, count in shape.slices}
        for resource, amount in asked.items():
            found[resource] = found.get(resource, 0) + amount * part.count
    return {resource: amount for resource, amount in found.items() if amount}
