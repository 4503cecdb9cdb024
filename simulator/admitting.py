"""Jobs of a trace as they are accepted where documents say what there is: queue, priority class, reservation."""

from dataclasses import replace
from datetime import datetime

from definitions.errors import PerdureError
from policies.scheduling.asking import STEPS
from policies.scheduling.bookings import may_use
from policies.scheduling.documents import Scheduling
from simulator.trace import Job, Trace
from simulator.trace_file import NO_QUEUE

CODE = "PD-4015"
EARLY = 10**8  # seconds since 1970, in 1973: a trace that begins before counts from a second 0 of its own


def admitted(trace: Trace, found: Scheduling) -> Trace:
    """Each job in its queue, with the priority of its class. Raises PD-4015 for the first that would be refused."""
    return replace(trace, jobs=tuple(_admitted(job, found) for job in trace.jobs))


def begin_of(given: str | None, trace: Trace, found: Scheduling) -> int:
    """The instant of second 0 of the trace. Raises PD-4015 when reservations need one, or nothing does."""
    counts_itself = not trace.jobs or trace.jobs[0].request.submitted < EARLY
    if given is None:
        if found.reservations and counts_itself:
            what = "reservations are at local times, and the trace counts seconds from nowhere"
            raise _refused(what, "--begin", "Add --begin 2027-03-01T00:00:00Z: when its second 0 is.")
        return 0
    if not found.reservations:
        raise _refused("only reservations need to know when the trace begins", "--begin", "Leave it out.")
    if not counts_itself:
        raise _refused("the trace has times of its own", "--begin", "Leave it out.")
    return _instant(given)


def _admitted(job: Job, found: Scheduling) -> Job:
    known = {queue.name for queue in found.queues}
    request = job.request
    if known and request.queue == NO_QUEUE and NO_QUEUE not in known and found.default_queue is not None:
        job = replace(job, request=replace(request, queue=found.default_queue))
    return _reserving(_classed(job, found), found)


def _classed(job: Job, found: Scheduling) -> Job:
    name = job.priority_class or found.default_priority
    if name is None and not found.priorities:
        return job
    request = job.request
    where = f"class of {request.id}"
    if not 0 <= request.priority < STEPS:
        raise _refused(f"priority of {request.id} is {request.priority}", "--trace", "Beside classes it is 0 to 100.")
    if name is None:
        return job
    if name not in found.priorities:
        raise _refused(f"{where}: there is no priority class {name}", "--trace", "Add a PriorityClass document.")
    priority = found.priorities[name]
    if found.queues and not priority.allows(_path(found, request.queue)):
        raise _refused(f"{where}: {name} is not for jobs of {request.queue}", "--trace", "Name another class.")
    classed = replace(
        request,
        priority=priority.value * STEPS + request.priority,
        preemptible=priority.preemptible,
        displaces=priority.displaces,
    )
    return replace(job, request=classed, priority_class=name, longest_wait=priority.longest_wait)


def _reserving(job: Job, found: Scheduling) -> Job:
    name, request = job.request.reservation, job.request
    if name is None:
        return job
    spec = next((each.spec for each in found.reservations if each.name == name), None)
    if spec is None:
        what = f"{request.id} names reservation {name}, which no document describes"
        raise _refused(what, "--file", "Add a Reservation document.")
    if not may_use(spec, _path(found, request.queue), named=True):
        what = f"{request.id} is in queue {request.queue}, and reservation {name} is not for it"
        raise _refused(what, "--trace", f"Add the queue to users of {name}.")
    return job


def _path(found: Scheduling, queue: str) -> tuple[str, ...]:
    known = {rules.name for rules in found.queues}
    return found.path(queue) if queue in known else (queue,)


def _instant(given: str) -> int:
    try:
        read = datetime.fromisoformat(given)
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise _refused(f"{given!r} is no time with its zone", "--begin", "Write it like 2027-03-01T00:00:00Z.")
    return int(read.timestamp())


def _refused(what: str, where: str, remedy: str) -> PerdureError:
    return PerdureError(CODE, what, where=where, remedy=remedy)
