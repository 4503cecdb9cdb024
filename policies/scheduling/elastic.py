"""Gangs that can run at several sizes: when one grows, and what a resize makes of its places.

A size changes only by a checkpoint and a start from it, which costs every pod of the gang time. So a gang is left alone
for a while after each change, and it grows only onto what nobody who waits could ever use: what it had to give back
soon would be gained for nothing. How large a gang starts is decided in `partial`, who shrinks by force in `victims`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from policies.scheduling.model import Growth, Near, Pod, Refusal, Request, Role, Running
from policies.scheduling.nodes import Nodes
from policies.scheduling.sizes import held, kept, largest
from policies.scheduling.victim_ground import Mask
from policies.scheduling.victims import Placing

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """A gang's size changes at most once in `interval` seconds."""

    interval: int = 1800


def anything(gang: Running, sizes: Sequence[int]) -> bool:
    """For a pool without quotas: every size is allowed."""
    return True


def resizable(since: int, changed: int | None, now: int, pace: Pace) -> bool:
    """Whether a gang that runs since `since`, and whose size changed last at `changed`, may be resized now."""
    return now - max(since, since if changed is None else changed) >= pace.interval


def resized(
    nodes: Nodes, place: Placing, gang: Running, sizes: Sequence[int], allowed: Mask | None = None
) -> Growth | Refusal:
    """The gang's places at another size: what it has above it goes from the end, what is missing is placed.

    New pods keep to the domains that the others are in. What is placed is taken in `nodes`; what goes is not given
    back, since it is held until the gang has gone from it. On a refusal `nodes` is as before.
    """
    stay = kept(gang, sizes)
    added: list[Pod] = []
    for role, (have, size) in enumerate(zip(held(gang), sizes, strict=True)):
        while have < size:
            count, rows = _piece(nodes, gang, role, have, size, [*gang.pods, *added], allowed)
            extra = _with((0,) * len(sizes), role, count)
            found = place(gang.request, allowed=rows, sizes=extra)
            if isinstance(found, Refusal):
                nodes.give_all(gang.request, added)
                return found
            added += found
            have += count
    return Growth(gang.request.id, (*stay, *added))


def growths(
    nodes: Nodes,
    place: Placing,
    running: Sequence[Running],
    waiting: Iterable[Request],
    now: int,
    pace: Pace,
    changed: Mapping[str, int],
    *,
    may: Callable[[Running, Sizes], bool] = anything,
    took: Callable[[Running, Sizes], None] | None = None,
    allowed: Mask | None = None,
) -> tuple[Growth, ...]:
    """Who gets larger now: those furthest below their largest size first, as far as there is room.

    `waiting`: all who would start if they had nodes; a node that one of them could ever be on is left alone, whether
    it fits there now or not. `changed`: when each gang's size changed last. `may`: whether the gang's queue allows the
    size; `took`: hears of each that grows, and to which size, before the next one is looked at. `allowed`: rows that
    are not kept for others. The new places are taken in `nodes`.
    """
    left = _left_over(nodes, waiting, allowed)
    found = []
    for gang in sorted(running, key=_fullness):
        if gang.leaving or not left.any() or not resizable(gang.since, changed.get(gang.request.id), now, pace):
            continue
        sizes = held(gang)
        if any(_could(nodes, role, left) for role in _growing(gang)):
            growth = _grown(nodes, place, gang, sizes, left, may)
            if growth is not None:
                found.append(growth)
                if took is not None:
                    took(gang, held(replace(gang, pods=growth.pods)))
    return tuple(found)


def _largest(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """The largest count up to `most` that fits, where `least` does."""
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle) else (least, middle - 1)
    return least


def _with(sizes: Sequence[int], role: int, count: int) -> Sizes:
    return (*sizes[:role], count, *sizes[role + 1 :])


def _left_over(nodes: Nodes, waiting: Iterable[Request], allowed: Mask | None) -> Mask:
    left = nodes.open.copy() if allowed is None else nodes.open & allowed
    for shape in {role.shape for request in waiting for role in request.roles}:
        left &= ~nodes.mask(shape)
    return left


def _fullness(gang: Running) -> tuple[float, int, str]:
    most = sum(largest(role) for role in gang.request.roles)
    return (len(gang.pods) / max(1, most), gang.since, gang.request.id)


def _growing(gang: Running) -> list[Role]:
    return [role for role, have in zip(gang.request.roles, held(gang), strict=True) if have < largest(role)]


def _could(nodes: Nodes, role: Role, left: Mask) -> bool:
    return bool((nodes.fits(role.shape) & left).any())


def _grown(
    nodes: Nodes, place: Placing, gang: Running, sizes: Sizes, left: Mask, may: Callable[[Running, Sizes], bool]
) -> Growth | None:
    begin = sizes
    for role, one in enumerate(gang.request.roles):

        def fits(count: int, role: int = role, sizes: Sizes = sizes) -> bool:
            larger = _with(sizes, role, count)
            before = nodes.copy_free()
            good = may(gang, larger) and isinstance(resized(nodes, place, gang, larger, left), Growth)
            nodes.restore(before)
            return good

        sizes = _with(sizes, role, _largest(sizes[role], max(sizes[role], largest(one)), fits))
    if sizes == begin:
        return None
    growth = resized(nodes, place, gang, sizes, left)
    assert isinstance(growth, Growth), "it fitted a moment ago"
    return growth


def _piece(
    nodes: Nodes, gang: Running, role: int, have: int, size: int, pods: Sequence[Pod], allowed: Mask | None
) -> tuple[int, Mask]:
    """How many pods of a role can be added at once, and where: the rest of a slice that was begun, or all others."""
    request, one = gang.request, gang.request.roles[role]
    rows = np.ones(len(nodes.names), np.bool_) if allowed is None else allowed.copy()
    own = [nodes.index[pod.node] for pod in pods if pod.role == role]
    rows &= _same_domain(nodes, request.near.required, [nodes.index[pod.node] for pod in pods])
    rows &= _same_domain(nodes, one.near.required, own)
    if one.spread:
        rows[own] = False
    near: Near = one.near if one.near.slice_level else request.near
    if near.slice_level and have % near.slice_size:
        begun = have % near.slice_size
        rows &= _same_domain(nodes, near.slice_level, own[-begun:])
        return min(size - have, near.slice_size - begun), rows
    return size - have, rows


def _same_domain(nodes: Nodes, level: str | None, rows: Sequence[int]) -> Mask:
    """Nodes in the domain that those rows are in."""
    depth = None if level is None else nodes.topology.level(level)
    if depth is None or not rows:
        return np.ones(len(nodes.names), np.bool_)
    column = nodes.domains[depth]
    same: Mask = column == column[rows[0]]
    return same
