"""The life of an array: which jobs are made next, and what follows from how they end. Pure.

`advance` takes in a fact, which may repeat and come late; `next_command` says what is to be done in the state that this
leads to, one thing at a time. A job counts once: when it ends, it leaves `open`, and whatever is said of it later finds
it gone.
"""

from datetime import datetime, timedelta

from definitions.array_state import (
    ArrayCommand,
    ArrayFact,
    ArrayState,
    Made,
    MakeCommand,
    PassCommand,
    Passed,
    RecordArray,
    Telling,
)
from definitions.facts import EndsFound, JobEnded, LookCommand, Requested
from definitions.job import Job
from definitions.states import FailureClass, Phase
from definitions.submission import JobSubmission
from policies import index_ranges as ranges
from policies.array_children import ids_at, index_of, indexes_of
from policies.array_moves import ended, move, suspend_when_told
from policies.array_order import awaited, heard_of_others, in_order
from policies.array_requests import on_request
from policies.job_plan import JobIds

MOST_OPEN = 1_000  # of an array that names no limit
BATCH = 50  # jobs made in one transaction
PASSED_AT_ONCE = 64
WORST_KEPT = 20  # of the indexes that failed, the lowest are named
LONGEST_POLL = timedelta(minutes=30)
LONGEST_PAUSE = 60  # seconds between two tries to pass on a request that nobody can hear yet


def initial_array(job: Job, ids: JobIds, submission: JobSubmission, poll: timedelta) -> ArrayState:
    """The state of an accepted array before anything has happened to it. The same row always gives the same state."""
    array = job.spec.array
    assert array is not None
    return ArrayState(
        tenant=ids.tenant,
        project=ids.project,
        job=ids.job,
        name=job.metadata.name,
        indexes=indexes_of(job),
        limit=array.limit or MOST_OPEN,
        bounded=job.spec.timeout is not None,
        queued=submission.ticket is not None,
        after=submission.after,
        poll=poll,
    )


def begin(state: ArrayState, now: datetime, *, suspended: bool = False) -> ArrayState:
    """The first decision about an accepted array."""
    if suspended:
        return move(state, Phase.SUSPENDED, "submitted as suspended; `jobs resume` starts it", now)
    return in_order(state, now)


def advance(state: ArrayState, fact: ArrayFact, now: datetime) -> ArrayState:
    """The state after a fact. What changes nothing returns it as it is."""
    if state.phase.is_final:
        return state
    match fact:
        case Requested():
            changed = on_request(state, fact, now)
        case JobEnded():
            changed = _heard(state, (fact,), now)
        case Made():
            changed = _made(state, fact, now)
        case Passed():
            changed = _passed(state, fact, now)
        case EndsFound():
            changed = _looked(state, fact.ends, now)
    return _settled(_told(changed, now), now)


def next_command(state: ArrayState, now: datetime) -> ArrayCommand | None:
    """What is to be done now; None: wait until `wake_at`, or until something is heard."""
    if state.events:
        return RecordArray()
    if state.phase.is_final:
        return None
    due = next((telling for telling in state.telling if telling.again_at is None or telling.again_at <= now), None)
    if due is not None:
        return PassCommand(request=due.request, positions=ranges.head(due.left, PASSED_AT_ONCE))
    if count := _room(state):
        return MakeCommand(start=state.made, count=count)
    if state.look_at is not None and state.look_at <= now and (jobs := _unheard(state)):
        return LookCommand(jobs=jobs)
    return None


def wake_at(state: ArrayState) -> datetime | None:
    """When something is due without anybody being heard; None: never."""
    times = [telling.again_at for telling in state.telling if telling.again_at is not None]
    if state.look_at is not None and (state.open or awaited(state)):
        times.append(state.look_at)
    return min(times, default=None)


def _unheard(state: ArrayState) -> tuple[str, ...]:
    """Jobs whose end would be news."""
    return (*awaited(state), *ids_at(state, state.open).values())


def _room(state: ArrayState) -> int:
    """How many jobs are to be made next."""
    if state.phase is not Phase.RUNNING:
        return 0
    room = state.limit - ranges.size(state.open)
    return max(0, min(BATCH, room, state.indexes.count - state.made))


def _made(state: ArrayState, fact: Made, now: datetime) -> ArrayState:
    if fact.start != state.made:
        return state  # said again
    opened = ranges.appended(state.open, fact.start, fact.count)
    fresh = {"made": state.made + fact.count, "open": opened, "look_at": state.look_at or now + state.poll}
    return _count(state.model_copy(update=fresh), fact.ended)


def _heard(state: ArrayState, ends: tuple[JobEnded, ...], now: datetime) -> ArrayState:
    return _take(state.model_copy(update={"polls": 0, "look_at": now + state.poll}), ends, now)


def _looked(state: ArrayState, ends: tuple[JobEnded, ...], now: datetime) -> ArrayState:
    """The longer nobody is heard of, the less often is the store asked."""
    pause = min(state.poll * (1 << min(state.polls + 1, 10)), max(LONGEST_POLL, state.poll))
    return _take(state.model_copy(update={"polls": state.polls + 1, "look_at": now + pause}), ends, now)


def _take(state: ArrayState, ends: tuple[JobEnded, ...], now: datetime) -> ArrayState:
    return heard_of_others(_count(state, ends), ends, now)


def _count(state: ArrayState, ends: tuple[JobEnded, ...]) -> ArrayState:
    """Each job once: one that is not open has been counted, or is none of this array."""
    for end in ends:
        index = index_of(state.job, end)
        position = None if index is None else state.indexes.position(index)
        if position is None or index is None or not ranges.has(state.open, position):
            continue
        state = state.model_copy(update={"open": ranges.without(state.open, position), **_tally(state, index, end)})
    return state


def _tally(state: ArrayState, index: int, end: JobEnded) -> dict[str, object]:
    match end.phase:
        case Phase.SUCCEEDED:
            return {"succeeded": state.succeeded + 1}
        case Phase.CANCELLED:
            return {"cancelled": state.cancelled + 1}
        case _:
            worst = sorted((*state.worst, (index, end.failure)), key=_index)[:WORST_KEPT]
            return {"failed": state.failed + 1, "worst": tuple(worst)}


def _index(entry: tuple[int, FailureClass | None]) -> int:
    return entry[0]


def _passed(state: ArrayState, fact: Passed, now: datetime) -> ArrayState:
    told = [
        _after(telling, fact, now) if telling.request.request_id == fact.request_id else telling
        for telling in state.telling
    ]
    return state.model_copy(update={"telling": tuple(told)})


def _after(telling: Telling, fact: Passed, now: datetime) -> Telling:
    if fact.done:
        left = ranges.minus(telling.left, fact.done)
        return telling.model_copy(update={"left": left, "tries": 0, "again_at": None})
    pause = timedelta(seconds=min(1 << min(telling.tries, 10), LONGEST_PAUSE))
    return telling.model_copy(update={"tries": telling.tries + 1, "again_at": now + pause})


def _told(state: ArrayState, now: datetime) -> ArrayState:
    """Without requests that every open job has heard."""
    if not state.telling:
        return state
    open_now = [t.model_copy(update={"left": ranges.both(t.left, state.open)}) for t in state.telling]
    left = tuple(telling for telling in open_now if telling.left)
    return suspend_when_told(state.model_copy(update={"telling": left}), now)


def _settled(state: ArrayState, now: datetime) -> ArrayState:
    """The end, when no job is open and none is to be made."""
    if state.open or state.phase.is_final:
        return state
    if state.phase is Phase.CANCELLING:
        return ended(state, Phase.CANCELLED, now)
    if state.made < state.indexes.count:
        return state
    if state.failed:
        return ended(state, Phase.FAILED, now)
    return ended(state, Phase.CANCELLED if state.cancelled else Phase.SUCCEEDED, now)
