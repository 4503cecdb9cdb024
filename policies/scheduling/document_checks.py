"""Faults between documents of the scheduler: names of what is not there, circles, numbers that do not add up.

Each fault comes with the index of its document and its place there.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from definitions.documents import AnyKind, ForScheduler
from definitions.node_pool import NodePool
from definitions.priority_class import PriorityClass
from definitions.queue import Queue
from definitions.reservation import Reservation
from definitions.resource_flavor import ResourceFlavor
from definitions.spec_errors import SpecIssue, did_you_mean
from definitions.spec_fields import Loc
from definitions.topology import Topology
from policies.scheduling.queue_tree import Resource, children, guarantees, stated
from policies.scheduling.reservation_checks import Fault, reservation_faults

Placed = tuple[int, ForScheduler]


def faults(documents: Sequence[AnyKind]) -> list[Fault]:
    """Every fault between documents that are each right by themselves; kinds that are not the scheduler's pass."""
    placed = [(index, each) for index, each in enumerate(documents) if isinstance(each, ForScheduler)]
    found = [*_same_names(placed), *_unknown(placed), *_unknown_levels(placed), *_circles(placed)]
    if found:
        return found
    return [
        *_defaults(placed),
        *_guarantees(placed),
        *_models(placed),
        *_domains(placed),
        *reservation_faults(placed),
    ]


def names_in(document: ForScheduler) -> Iterator[tuple[Loc, str, str]]:
    """Every name of another document in this one: its place, the kind that is meant, the name."""
    spec: Loc = ("spec",)
    if isinstance(document, Queue):
        if document.spec.parent is not None:
            yield (*spec, "parent"), "Queue", document.spec.parent
        for flavor in document.spec.quotas.flavors:
            yield (*spec, "quotas", "flavors", flavor), "ResourceFlavor", flavor
    if isinstance(document, PriorityClass):
        for index, name in enumerate(document.spec.usable_by):
            yield (*spec, "usableBy", index), "Queue", name
    if isinstance(document, NodePool):
        if document.spec.topology is not None:
            yield (*spec, "topology"), "Topology", document.spec.topology
        if document.spec.simulated is not None and document.spec.simulated.flavor is not None:
            yield (*spec, "simulated", "flavor"), "ResourceFlavor", document.spec.simulated.flavor
    if isinstance(document, Reservation):
        yield from _names_of_reservation(document)


def _same_names(placed: list[Placed]) -> Iterator[Fault]:
    seen: set[tuple[str, str]] = set()
    for index, each in placed:
        name = (each.kind, each.metadata.name)
        if name in seen:
            what = f"there is another {each.kind} {each.metadata.name}"
            yield _fault("PD-1612", index, ("metadata", "name"), what, "choose another name")
        seen.add(name)


def _unknown(placed: list[Placed]) -> Iterator[Fault]:
    known: dict[str, set[str]] = {}
    for _, each in placed:
        known.setdefault(each.kind, set()).add(each.metadata.name)
    for index, each in placed:
        for loc, kind, name in names_in(each):
            if name not in known.get(kind, set()):
                close = did_you_mean(name, known.get(kind, ()))
                fix = f"did you mean {close}?" if close else f"add a document of kind {kind} with this name"
                yield _fault("PD-1610", index, loc, f"there is no {kind} {name}", fix)


def _names_of_reservation(document: Reservation) -> Iterator[tuple[Loc, str, str]]:
    spec = document.spec
    yield ("spec", "queue"), "Queue", spec.queue
    if spec.pool is not None:
        yield ("spec", "pool"), "NodePool", spec.pool
    if spec.capacity.flavor is not None:
        yield ("spec", "capacity", "flavor"), "ResourceFlavor", spec.capacity.flavor
    for index, name in enumerate(spec.users.queues):
        yield ("spec", "users", "queues", index), "Queue", name


def _unknown_levels(placed: list[Placed]) -> Iterator[Fault]:
    levels = {each.metadata.name: _levels(each) for _, each in placed if isinstance(each, Topology)}
    for index, each in placed:
        if not isinstance(each, NodePool) or each.spec.simulated is None or each.spec.topology not in levels:
            continue
        known = levels[each.spec.topology]
        for level in each.spec.simulated.domains:
            if level not in known:
                close = did_you_mean(level, known)
                fix = f"did you mean {close}?" if close else f"use one of: {', '.join(known)}"
                what = f"the topology {each.spec.topology} has no level {level}"
                yield _fault("PD-1610", index, ("spec", "simulated", "domains", level), what, fix)


def _levels(topology: Topology) -> list[str]:
    return [level.name for level in topology.spec.levels]


def _circles(placed: list[Placed]) -> Iterator[Fault]:
    """Each circle once, at the first of its queues."""
    above = {each.metadata.name: each.spec.parent for _, each in placed if isinstance(each, Queue)}
    told: set[str] = set()
    for index, each in placed:
        path, name = [each.metadata.name], above.get(each.metadata.name) if isinstance(each, Queue) else None
        while name is not None and name not in path:
            path.append(name)
            name = above.get(name)
        if name == each.metadata.name and name not in told:
            told.update(path)
            what = f"going up from {name} leads back to it: {' → '.join([*path, name])}"
            yield _fault("PD-1611", index, ("spec", "parent"), what, "remove parent from one of them")


def _defaults(placed: list[Placed]) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for index, each in placed:
        if isinstance(each, Queue | PriorityClass) and each.spec.default:
            if each.kind in first:
                what = f"{first[each.kind]} is the default already"
                yield _fault("PD-1613", index, ("spec", "default"), what, "remove default from one of the two")
            first.setdefault(each.kind, each.metadata.name)


def _guarantees(placed: list[Placed]) -> Iterator[Fault]:
    queues = [each for _, each in placed if isinstance(each, Queue)]
    owed, below = guarantees(queues), children(queues)
    for index, queue in placed:
        if not isinstance(queue, Queue):
            continue
        for resource, quota in stated(queue).items():
            parts = {
                child.metadata.name: owed[child.metadata.name].get(resource, 0) for child in below[queue.metadata.name]
            }
            bound, word = (quota.guarantee, "guarantee") if quota.guarantee is not None else (quota.limit, "limit")
            if bound is not None and sum(parts.values()) > bound:
                yield _too_much(index, queue.metadata.name, resource, parts, bound, word)


def _too_much(index: int, name: str, resource: Resource, parts: dict[str, int], bound: int, word: str) -> Fault:
    whole = sum(parts.values())
    listed = ", ".join(f"{child} {resource.spelled(amount)}" for child, amount in parts.items() if amount)
    verb = "is guaranteed" if word == "guarantee" else "may have at most"
    what = (
        f"queues below {name} are guaranteed {resource.spelled(whole)} together ({listed}), "
        f"and {name} {verb} {resource.spelled(bound)}"
    )
    return _fault(
        "PD-1614", index, (*resource.loc, word), what, f"raise it to {resource.spelled(whole)}, or lower theirs"
    )


def _models(placed: list[Placed]) -> Iterator[Fault]:
    owner: dict[str, str] = {}
    for index, each in placed:
        if not isinstance(each, ResourceFlavor):
            continue
        places: list[tuple[Loc, str]] = [(("spec", "gpuType"), each.spec.gpu_type)]
        places += [(("spec", "alsoKnownAs", at), word) for at, word in enumerate(each.spec.also_known_as)]
        for loc, word in places:
            if word in owner:
                what = f"{word} is a model of the flavor {owner[word]} already"
                yield _fault("PD-1615", index, loc, what, "remove it from one of the two flavors")
            owner[word] = each.metadata.name


def _domains(placed: list[Placed]) -> Iterator[Fault]:
    topologies = {each.metadata.name: each for _, each in placed if isinstance(each, Topology)}
    for index, each in placed:
        if not isinstance(each, NodePool) or each.spec.simulated is None or each.spec.topology is None:
            continue
        sizes = each.spec.simulated.domains
        given = [name for name in _levels(topologies[each.spec.topology]) if name in sizes]
        for wide, narrow in pairwise(given):
            if sizes[wide] % sizes[narrow]:
                what = f"a {wide} of {sizes[wide]} nodes cuts through a {narrow} of {sizes[narrow]}"
                fix = f"make {wide} a multiple of {sizes[narrow]}"
                yield _fault("PD-1616", index, ("spec", "simulated", "domains", wide), what, fix)


def _fault(code: str, index: int, loc: Loc, what: str, fix: str) -> Fault:
    return index, SpecIssue(code=code, loc=loc, what=what, fix=fix)
