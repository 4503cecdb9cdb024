"""Whether and how an accepted job waits: its queue, its class, and that it could ever start by the limits of its queue.

ticket_of(documents, spec)   the ticket; None where there are no queues, and jobs start at once
ticket_from(stored, spec)    the same, from documents as they are stored
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from definitions.cluster import LOCAL_CLUSTER
from definitions.documents import KINDS, AnyKind
from definitions.errors import PerdureError
from definitions.job import JobSpec
from definitions.places import Ticket
from definitions.spec_errors import did_you_mean
from definitions.topology import Topology
from policies.scheduling.affinity import REQUIRED, about_pods
from policies.scheduling.asking import amounts_of, shape_of
from policies.scheduling.bookings import may_use
from policies.scheduling.documents import Scheduling, scheduling
from policies.scheduling.sentences import amount as amount_of

KEPT = 8  # sets of documents that are remembered as read; they seldom change


def ticket_of(documents: Sequence[AnyKind], spec: JobSpec) -> Ticket | None:
    """How a job of this document waits. `documents`: those of the scheduler, all that there are.

    Raises PD-2120 for a field that only queues give a meaning where there are none, PD-2121 to PD-2126 for a queue,
    class or level that is not there or not for it, and for more than a limit of its queue or of one above it, PD-2127
    for nodes that depend on which pods are there, PD-2160 and PD-2162 for a reservation that is not there or
    not for it.
    """
    return _ticket(_rules(documents), spec)


def ticket_from(stored: Sequence[Mapping[str, Any]], spec: JobSpec) -> Ticket | None:
    """`ticket_of` for documents as `store.scheduling_documents` keeps them. Equal ones are read once."""
    return _ticket(_read(json.dumps(stored, sort_keys=True)), spec)


class _Rules(NamedTuple):
    """`levels`: of closeness, by the names that jobs use."""

    scheduling: Scheduling
    levels: tuple[str, ...]


@lru_cache(KEPT)
def _read(text: str) -> _Rules:
    documents = [KINDS[each["kind"]].model_validate(each) for each in json.loads(text)]
    return _rules([each for each in documents if isinstance(each, AnyKind)])


def _rules(documents: Sequence[AnyKind]) -> _Rules:
    levels = [level.name for each in documents if isinstance(each, Topology) for level in each.spec.levels]
    return _Rules(scheduling(documents), tuple(dict.fromkeys(levels)))


def _ticket(known: _Rules, spec: JobSpec) -> Ticket | None:
    rules = known.scheduling
    if not rules.queues:
        _check_no_queue(spec)
        return None
    queue = _queue(rules, spec)
    priority_class = _class(rules, spec, queue)
    _check_levels(known.levels, spec)
    _check_affinity(spec)
    _check_limits(rules, spec, queue)
    _check_reservation(rules, spec, queue)
    return Ticket(queue=queue, priority=spec.priority, priority_class=priority_class, reservation=spec.reservation)


def _check_no_queue(spec: JobSpec) -> None:
    """On a cluster without queues a class is the cluster's own, and it alone acts on it."""
    of_queues = {
        "queue": spec.queue,
        "priority": spec.priority or None,
        "reservation": spec.reservation,
        "priorityClass": None if spec.on_cluster else spec.priority_class,
    }
    for name, value in of_queues.items():
        if value is not None:
            detail = f"{name} is {value!r}, and this installation has no queues"
            raise PerdureError("PD-2120", detail, where=f"spec.{name}")


def _queue(rules: Scheduling, spec: JobSpec) -> str:
    names = [each.name for each in rules.queues]
    there = f"there are: {', '.join(names)}"
    if spec.queue is None and rules.default_queue is None:
        raise PerdureError("PD-2121", f"the job names no queue, and none is the default; {there}", where="spec.queue")
    name = spec.queue or rules.default_queue
    assert name is not None
    if name not in names:
        close = did_you_mean(name, names)
        remedy = f"Did you mean {close}?" if close else None
        raise PerdureError("PD-2122", f"there is no queue {name!r}; {there}", where="spec.queue", remedy=remedy)
    return name


def _class(rules: Scheduling, spec: JobSpec, queue: str) -> str | None:
    """The class that is named, or else the default one where the queue may have it."""
    path = rules.path(queue)
    name, known = spec.priority_class, rules.priorities
    if name is None:
        default = rules.default_priority
        return default if default is not None and known[default].allows(path) else None
    where = "spec.priorityClass"
    if name not in known:
        close = did_you_mean(name, known)
        there = f"there are: {', '.join(sorted(known))}" if known else "there are none"
        remedy = f"Did you mean {close}?" if close else None
        raise PerdureError("PD-2123", f"there is no priority class {name!r}; {there}", where=where, remedy=remedy)
    if not known[name].allows(path):
        usable = ", ".join(sorted(known[name].usable_by))
        detail = f"priority class {name!r} is not for jobs of queue {queue!r}, only for those of {usable}"
        raise PerdureError("PD-2124", detail, where=where)
    return name


def _check_levels(known: Sequence[str], spec: JobSpec) -> None:
    topology = spec.placement.topology
    if topology is None:
        return
    there = f"there are: {', '.join(known)}" if known else "there is no Topology"
    for word, level in (("required", topology.required), ("preferred", topology.preferred)):
        if level is not None and level not in known:
            close = did_you_mean(level, known)
            raise PerdureError(
                "PD-2126",
                f"there is no level {level!r}; {there}",
                where=f"spec.placement.topology.{word}",
                remedy=f"Did you mean {close}?" if close else None,
            )


def _check_affinity(spec: JobSpec) -> None:
    for kind in about_pods(spec.placement.affinity):
        detail = (
            f"{kind} requires something of the pods that are there, and whoever places a queue's jobs knows no labels"
        )
        raise PerdureError("PD-2127", detail, where=f"spec.placement.affinity.{kind}.{REQUIRED}")


def _check_reservation(rules: Scheduling, spec: JobSpec, queue: str) -> None:
    """That it is there, on the job's cluster, and for the job's queue. Whether it is over only the store knows."""
    name, where = spec.reservation, "spec.reservation"
    if name is None:
        return
    known = {each.name: each.spec for each in rules.reservations}
    if name not in known:
        close = did_you_mean(name, known)
        there = f"there are: {', '.join(sorted(known))}" if known else "there are none"
        remedy = f"Did you mean {close}?" if close else None
        raise PerdureError("PD-2160", f"there is no reservation {name!r}; {there}", where=where, remedy=remedy)
    found = known[name]
    here, kept = spec.cluster or LOCAL_CLUSTER, found.cluster or LOCAL_CLUSTER
    if here != kept:
        detail = f"reservation {name!r} keeps nodes of cluster {kept}, and this job is to run on {here}"
        raise PerdureError("PD-2162", detail, where=where)
    if not may_use(found, rules.path(queue), named=True):
        users = ", ".join(sorted({found.queue, *found.users.queues}))
        detail = f"reservation {name!r} is for jobs of {users} and of queues below, and this one is in queue {queue!r}"
        raise PerdureError("PD-2162", detail, where=where)


def _check_limits(rules: Scheduling, spec: JobSpec, queue: str) -> None:
    asked = amounts_of(shape_of(spec), rules.models)
    faults = list(_beyond(rules, queue, asked))
    if len(faults) == 1:
        raise faults[0]
    if faults:
        detail = f"the job asks for more than its queue may ever use, in {len(faults)} ways"
        raise PerdureError("PD-2125", detail, where="spec.resources", errors=faults)


def _beyond(rules: Scheduling, queue: str, asked: Mapping[str, int]) -> Iterator[PerdureError]:
    by_name = {each.name: each for each in rules.queues}
    for name in rules.path(queue):
        for resource, amount in asked.items():
            quota = by_name[name].quotas.get(resource)
            if quota is None or quota.limit is None or amount <= quota.limit:
                continue
            above = "" if name == queue else f", which is above {queue},"
            detail = (
                f"the job asks for {amount_of(resource, amount)}, and queue {name}{above} may use at most "
                f"{amount_of(resource, quota.limit)}"
            )
            data = {"queue": name, "resource": resource, "limit": quota.limit, "asked": amount}
            yield PerdureError("PD-2125", detail, where=_where(resource), data=data)


def _where(resource: str) -> str:
    field = {"cpu": "cpus", "memory": "memory"}.get(resource, "gpus")
    return f"spec.resources.{field}"
