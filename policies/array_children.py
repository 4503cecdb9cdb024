"""The jobs of an array: what each is called, what it runs, and how the array knows it again. Pure.

Id and seed derive from the array's and from the index, so that making a job twice makes it once.
"""

import hashlib
from datetime import timedelta

from definitions import protocol
from definitions.array_state import ArrayPlace, ArrayState, Granted, Indexes, Ranges
from definitions.facts import JobEnded
from definitions.ids import decode, encode
from definitions.job import Job
from definitions.job_document import named
from definitions.submission import JobSubmission
from definitions.wire import Wire
from policies.index_ranges import numbers

LONGEST_NAME = 63
RANDOM_BITS = 80


class Child(Wire):
    """One job of an array. `seed`: as every job has one."""

    id: str
    seed: str
    index: int
    job: Job
    submission: JobSubmission


def child_name(array: str, index: int) -> str:
    return f"{array}-{index}"


def child_id(array: str, index: int) -> str:
    """Of the job with this index. `array`: the array's id, whose time of creation it has too."""
    digest = hashlib.sha256(f"{array}/{index}".encode()).digest()
    made = decode(array) >> RANDOM_BITS
    return encode((made << RANDOM_BITS) | int.from_bytes(digest[: RANDOM_BITS // 8], "big"))


def child_of(array: str, seed: str, job: Job, submission: JobSubmission, granted: Granted, index: int) -> Child:
    """The job with an index, from the array's own id, seed, document and submission.

    It has no array, order, suspension or expiry of its own: it begins when the array makes it, and goes with it.
    """
    assert job.spec.array is not None
    place = ArrayPlace(job=array, index=index, indexes=indexes_of(job))
    changes = {"array": None, "after": (), "suspend": False, "ttl_after_finished": None}
    timeout = _longer(job.spec.timeout, granted.extended)
    spec = job.spec.model_copy(update=changes | {"timeout": timeout})
    ticket = submission.ticket
    if ticket is not None and granted.priority is not None:
        ticket = ticket.model_copy(update={"priority": granted.priority})
    return Child(
        id=child_id(array, index),
        seed=hashlib.sha256(f"{seed}/array/{index}".encode()).hexdigest()[:32],
        index=index,
        job=named(job.model_copy(update={"spec": spec}), child_name(job.metadata.name, index)),
        submission=submission.model_copy(update={"array": place, "ticket": ticket, "after": ()}),
    )


def index_of(array: str, end: JobEnded) -> int | None:
    """Which index a job had that has ended; None when it is not one of the array with this id."""
    text = end.name.rpartition("-")[2]
    if not text.isdecimal() or child_id(array, int(text)) != end.job:
        return None
    return int(text)


def ids_at(state: ArrayState, positions: Ranges) -> dict[int, str]:
    """Position -> id of the job there."""
    return {position: child_id(state.job, state.indexes.at(position)) for position in numbers(positions)}


def indexes_of(job: Job) -> Indexes:
    """Of an array's document."""
    array = job.spec.array
    assert array is not None
    return Indexes(first=array.first, last=array.last, step=array.step)


def array_environment(place: ArrayPlace | None) -> dict[str, str]:
    """What a job of an array finds in its environment; nothing for any other job."""
    if place is None:
        return {}
    has = place.indexes
    return {
        protocol.ARRAY_JOB: place.job,
        protocol.ARRAY_INDEX: str(place.index),
        protocol.ARRAY_FIRST: str(has.first),
        protocol.ARRAY_LAST: str(has.at(has.count - 1)),
        protocol.ARRAY_STEP: str(has.step),
        protocol.ARRAY_COUNT: str(has.count),
    }


def _longer(timeout: timedelta | None, by: timedelta) -> timedelta | None:
    return None if timeout is None else timeout + by
