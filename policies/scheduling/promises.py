"""When every waiting gang starts, and where: planned placements that hold, and why one of them changed.

A promise holds against every gang that comes later. It moves only earlier, unless a gang whose class may displace it
does so, something runs past its end, or a node takes no more pods; the reason then says which. It is within all limits
of its queue at every moment, and in a strict queue nobody is promised a start before those that come before it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from policies.scheduling.kernels_gangs import AGAIN, EARLIER, PASS, SEEK
from policies.scheduling.model import Promise, Request
from policies.scheduling.profile import Profile
from policies.scheduling.sizes import fewest
from policies.scheduling.time_rows import Row


class Change(StrEnum):
    NEW = "new"
    KEPT = "kept"
    MOVED = "moved"  # it starts earlier, or as early at another place
    SLIPPED = "slipped"  # it starts later, or nobody can say when
    NONE = "none"  # it has no promise and had none


@dataclass(frozen=True, slots=True)
class Outlook:
    """When a gang starts. `reason`: why it slipped, moved to another place, or has no promise; else empty.

    `too_large`: no nodes of today could hold it, were they all free.
    """

    request: Request
    change: Change
    promise: Promise | None
    reason: str = ""
    before: Promise | None = None
    too_large: bool = False


def promised(
    profile: Profile, waiting: Sequence[Request], kept: Iterable[Promise] = (), *, strict: bool = True
) -> tuple[Outlook, ...]:
    """Outlooks of all waiting gangs, in their order, and the profile holds the promises.

    `kept`: promises made before that the profile may not know, because it was made anew. Elastic gangs are planned at
    their fewest pods. Gangs that are pinned and wait no longer lose their places. `strict` False: `waiting` does not
    have all gangs of strict queues, so that those only keep what they have.
    """
    before, reasons = _resume(profile, waiting, kept)
    behind = _plan(profile, waiting, reasons, strict)
    profile.freed = behind
    return tuple(_outlook(profile, request, before.get(request.id), reasons) for request in waiting)


def arrived(profile: Profile, request: Request) -> tuple[Outlook, ...]:
    """The outlook of one more gang, behind all that have promises, and of those that it displaces."""
    before = {} if not request.displaces else {name: profile.promise(row) for name, row in profile.pins.items()}
    reasons: dict[str, str] = {}
    told = request.displaces or profile.limits.has_lines
    order = [*(row.request for row in profile.pins.values() if told), request]
    _line_up(profile, order, request)
    _seek(profile, [request])
    moved = _displace(profile, request, order, reasons) if request.displaces else []
    return tuple(_outlook(profile, each, before.get(each.id), reasons) for each in (request, *moved))


def _resume(
    profile: Profile, waiting: Sequence[Request], kept: Iterable[Promise]
) -> tuple[dict[str, Promise], dict[str, str]]:
    """Hold what was promised before, in the order of waiting, and leave what cannot be held to the search.

    Returns promises as they were, and by gang why it may have lost its place.
    """
    asked = {request.id: request for request in waiting}
    rows: dict[str, Row] = {}
    reasons: dict[str, str] = {}
    before: dict[str, Promise] = {}
    gone = [name for name, row in profile.pins.items() if name not in asked or row.request != asked[name]]
    for name in set(gone) & asked.keys():
        before[name], reasons[name] = profile.promise(profile.pins[name]), "what it asks for was changed"
    profile.unpin(gone)
    before |= {name: profile.promise(row) for name, row in profile.pins.items()}
    for name, (row, promise, why) in profile.unseated.items():
        if name in asked:
            rows[name], before[name], reasons[name] = row, promise, why
    profile.unseated.clear()
    late = _late(profile)
    for promise in kept:
        name = promise.request
        if name in asked and name not in before:
            before[name], reasons[name] = promise, "a node of its place is gone"
            if all(pod.node in profile.nodes.index for pod in promise.pods):
                rows[name] = profile.planned(asked[name], promise, asked[name].seconds)
                rows[name].start = max(promise.start, profile.now)
                reasons[name] = _why(profile, rows[name], promise, late)
    _again(profile, asked, rows)
    _give_way(profile, waiting, rows, reasons)
    return before, reasons


def _give_way(profile: Profile, waiting: Sequence[Request], rows: Mapping[str, Row], reasons: dict[str, str]) -> None:
    """Who is behind one of its strict queue that lost its place loses its own."""
    slipped: dict[int, str] = {}  # line -> the first that lost its place
    for request in waiting if profile.limits.has_lines else ():
        name = request.id
        line = profile.limits.of(request.queue)[1]
        if name in rows and name not in profile.pins:
            slipped.setdefault(line, name)
        elif line >= 0 and line in slipped and name in profile.pins:
            profile.unpin([name])
            reasons[name] = f"{slipped[line]}, which is before it in its strict queue, starts later"


def _late(profile: Profile) -> dict[int, tuple[int, str]]:
    """By node, the first gang there that runs past its end, and its place among all that run."""
    found: dict[int, tuple[int, str]] = {}
    for place, (name, row) in enumerate(profile.running.items()):
        if row.late:
            for node in row.nodes:
                found.setdefault(int(node), (place, name))
    return found


def _why(profile: Profile, row: Row, promise: Promise, late: Mapping[int, tuple[int, str]]) -> str:
    """What is most likely in the way of a promise that was made on another profile."""
    closed = [pod.node for pod in promise.pods if not profile.nodes.open[profile.nodes.index[pod.node]]]
    if closed:
        return f"{closed[0]} takes no pods"
    first = min((late[node] for node in map(int, row.nodes) if node in late), default=None)
    if first is not None:
        return f"{first[1]} runs past its end"
    return "it did not start when it was due" if promise.start < profile.now else "its place was taken"


def _plan(profile: Profile, waiting: Sequence[Request], reasons: dict[str, str], strict: bool) -> bool:
    """Search for all in order. Whether something became free that gangs before it in order have not tried yet."""
    rows: list[Row] = []
    modes: list[int] = []
    behind = False
    profile.limits.start_lines()
    for request in waiting:
        pinned = profile.pins.get(request.id)
        row = fresh_row(profile, request) if pinned is None else pinned
        if not strict and row.line >= 0:
            continue
        if pinned is None or row.line >= 0 or (profile.freed and row.start > profile.now):
            rows.append(row)
            modes.append(SEEK if pinned is None else EARLIER if profile.freed and row.start > profile.now else PASS)
        if pinned is None and request.displaces:
            _hold(profile, rows, modes)
            behind |= bool(_displace(profile, request, waiting, reasons))
            rows, modes = [], []
    _hold(profile, rows, modes)
    return behind


def _displace(profile: Profile, request: Request, order: Sequence[Request], reasons: dict[str, str]) -> list[Request]:
    """Start it before gangs of lower priority if that is earlier. Those that lost their places, which have others."""
    own = profile.pins.get(request.id)
    if own is not None and own.start <= profile.now:
        return []
    below = {name: row for name, row in profile.pins.items() if row.request.priority < request.priority}
    freed = profile.freed
    profile.unpin([*below, *([request.id] if own else [])])
    _line_up(profile, order, request)
    _seek(profile, [request])
    found = profile.pins.get(request.id)
    if own is not None and found is not None and found.start >= own.start:
        profile.unpin([request.id])
        _again(profile, [request.id], {request.id: own})
    _again(profile, [each.id for each in order], below)
    moved = [each for each in order if each.id in below and each.id not in profile.pins]
    reasons.update((each.id, f"displaced by {request.id}") for each in moved)
    for each in moved:
        _line_up(profile, order, each)
        _seek(profile, [each])
    _line_up(profile, order, request, after=True)
    profile.freed = freed
    return moved


def _line_up(profile: Profile, order: Sequence[Request], until: Request, *, after: bool = False) -> None:
    """Say of strict queues what those before `until` in order, or up to it, keep whoever follows from."""
    if not profile.limits.has_lines:
        return
    at = next(number for number, each in enumerate(order) if each.id == until.id)
    rows = [profile.pins.get(each.id) or fresh_row(profile, each) for each in order[: at + after]]
    rows = [row for row in rows if row.line >= 0]
    profile.limits.start_lines()
    profile.plan(rows, [PASS] * len(rows))


def _again(profile: Profile, order: Iterable[str], rows: Mapping[str, Row]) -> None:
    """Those of the rows whose places are free get them back, in this order."""
    profile.limits.start_lines()
    ordered = [rows[name] for name in order if name in rows]
    _hold(profile, ordered, [AGAIN] * len(ordered))


def _seek(profile: Profile, requests: Sequence[Request]) -> None:
    _hold(profile, [fresh_row(profile, request) for request in requests], [SEEK] * len(requests))


def _hold(profile: Profile, rows: Sequence[Row], modes: Sequence[int]) -> None:
    profile.plan(rows, modes)
    profile.pins.update((row.request.id, row) for row in rows if row.placed)


def fresh_row(profile: Profile, request: Request) -> Row:
    """A gang without a place, at its fewest pods."""
    return profile.row(request, request.seconds, fewest(request))


def _outlook(profile: Profile, request: Request, before: Promise | None, reasons: Mapping[str, str]) -> Outlook:
    row = profile.pins.get(request.id)
    if row is None:
        large = profile.asks.too_large(profile.asks.number(request, fewest(request)))
        reason = reasons.get(request.id, "larger than the cluster" if large else "beyond the horizon")
        return Outlook(request, Change.SLIPPED if before else Change.NONE, None, reason, before, large)
    promise = profile.promise(row)
    if before is None:
        return Outlook(request, Change.NEW, promise)
    if promise.start == before.start and promise.pods == before.pods:
        return Outlook(request, Change.KEPT, promise, before=before)
    if promise.start <= before.start:
        why = reasons.get(request.id, "") if promise.start == before.start else ""
        return Outlook(request, Change.MOVED, promise, why, before)
    return Outlook(request, Change.SLIPPED, promise, reasons.get(request.id, ""), before)
