"""The small moves that the life of an array is made of, and the sentences that go with them. Pure."""

from datetime import datetime
from typing import Any

from definitions.array_state import ArrayState
from definitions.facts import Event, Verb
from definitions.states import Phase
from policies.job_steps import SYSTEM


def move(
    state: ArrayState, phase: Phase, reason: str, now: datetime, *, actor: str = SYSTEM, **changes: Any
) -> ArrayState:
    """Go to a phase and write one event about it."""
    moved = state.model_copy(update={"phase": phase, "reason": reason, **changes})
    return note(moved, now, "phase", reason, actor=actor)


def note(state: ArrayState, now: datetime, kind: str, reason: str, *, actor: str = SYSTEM) -> ArrayState:
    """Append an event to what is to be recorded. Keys count up, so that writing one twice is harmless."""
    number = state.event_count + 1
    data = {"phase": state.phase.value, "attempt": 0}
    event = Event(key=f"{number:06d}-{state.phase}", at=now, actor=actor, kind=kind, reason=reason, data=data)
    return state.model_copy(update={"events": (*state.events, event), "event_count": number})


def begin_running(state: ArrayState, now: datetime, said: str = "", actor: str = SYSTEM) -> ArrayState:
    """`said`: who let it go on."""
    has = f"array {state.indexes}: {jobs(state.indexes.count)}, at most {state.limit} at once"
    reason = f"{said}; {has}" if said else has
    started = state.started_at or now
    return move(state, Phase.RUNNING, reason, now, actor=actor, started_at=started)


def suspend_when_told(state: ArrayState, now: datetime) -> ArrayState:
    """From Suspending to Suspended, once no open job is left that has not heard of it."""
    waits = any(telling.request.verb is Verb.SUSPEND for telling in state.telling)
    if state.phase is not Phase.SUSPENDING or waits:
        return state
    return move(state, Phase.SUSPENDED, state.reason, now)


def ended(state: ArrayState, phase: Phase, now: datetime) -> ArrayState:
    """Go to a final phase."""
    failure = state.worst[0][1] if phase is Phase.FAILED else None
    reason = f"{state.reason}; {_tally(state)}" if state.phase is Phase.CANCELLING else _how(state, phase)
    return move(state, phase, reason, now, failure=failure, ended_at=now, telling=(), look_at=None)


def with_its_array(now: datetime, actor: str = SYSTEM) -> Event:
    """The last line of a job whose array was deleted."""
    return Event(key="deleted", at=now, actor=actor, kind="deleted", reason="deleted with its array")


def help_with(phase: Phase, name: str) -> list[str]:
    """What to look at, of an array that is where it is."""
    if phase is Phase.FAILED:
        return [f"Look at the jobs that failed: perdure jobs children {name} --phase Failed"]
    return [] if phase.is_final else [f"Look at its jobs: perdure jobs children {name}"]


def jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def _how(state: ArrayState, phase: Phase) -> str:
    count = state.indexes.count
    if phase is Phase.SUCCEEDED:
        return "its only job succeeded" if count == 1 else f"all {count} jobs succeeded"
    cancelled = f"{state.cancelled} of {count} {_were(state)} cancelled"
    if phase is Phase.CANCELLED:
        return cancelled
    failed = f"{state.failed} of {count} failed: {_worst(state)}"
    return f"{failed}; {cancelled}" if state.cancelled else failed


def _worst(state: ArrayState) -> str:
    named = ", ".join(str(index) for index, _ in state.worst)
    more = state.failed - len(state.worst)
    return f"{named} and {more} more" if more else named


def _tally(state: ArrayState) -> str:
    counts = (
        (state.succeeded, "succeeded"),
        (state.failed, "failed"),
        (state.cancelled, f"{_were(state)} cancelled"),
        (state.indexes.count - state.made, "never began"),
    )
    said = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"of {jobs(state.indexes.count)} {said}"


def _were(state: ArrayState) -> str:
    return "was" if state.cancelled == 1 else "were"
