"""What people may ask of a job, when, and what it then does."""

from datetime import datetime

from definitions.facts import ControlCommand, Fact, RecordCommand, Requested, Verb
from definitions.job_state import JobState
from definitions.places import Displaced
from definitions.states import Phase
from policies.job_order import in_order
from policies.job_queueing import is_leaving
from policies.job_resizing import resize, resize_refusal
from policies.job_steps import HANDLED_KEPT, Decision, deadline, end, move, note, stay, stop_attempt

MOST_PRIORITY = 100
ALLOWED: dict[Verb, frozenset[Phase]] = {
    Verb.CANCEL: frozenset(p for p in Phase if not p.is_final),
    Verb.SUSPEND: frozenset(
        {Phase.PENDING, Phase.QUEUED, Phase.STARTING, Phase.RUNNING, Phase.COLLECTING, Phase.BACKING_OFF}
    ),
    Verb.RESUME: frozenset({Phase.SUSPENDED}),
    Verb.EXTEND: frozenset(p for p in Phase if not p.is_final and p is not Phase.CANCELLING),
    Verb.CHECKPOINT: frozenset({Phase.RUNNING}),
    Verb.REPRIORITISE: frozenset(p for p in Phase if not p.is_final and p is not Phase.CANCELLING),
    Verb.RESIZE: frozenset(p for p in Phase if not p.is_final and p is not Phase.CANCELLING),
}


def refusal(state: JobState, request: Requested) -> str | None:
    """Why a request cannot be granted now; None when it can. The sentence says what would make it pass."""
    if request.request_id in state.handled:
        return None
    if request.verb is Verb.SUSPEND and state.phase is Phase.SUSPENDING and is_leaving(state):
        return None
    if state.phase not in ALLOWED[request.verb]:
        return _not_in_this_phase(state, request.verb)
    if request.verb is Verb.EXTEND:
        if state.timeout is None:
            return "the job has no time limit, so there is nothing to extend"
        if request.extend_by is None or request.extend_by.total_seconds() <= 0:
            return "extend needs a positive duration, for example 1h"
    if request.verb is Verb.REPRIORITISE:
        return _not_a_priority(state, request.priority)
    if request.verb is Verb.RESIZE:
        return resize_refusal(state, request.nodes)
    return None


def _not_a_priority(state: JobState, priority: int | None) -> str | None:
    if state.ticket is None:
        return "the job waits in no queue, so it has no priority; clone it with queue: NAME"
    if priority is None or not 0 <= priority <= MOST_PRIORITY:
        return f"reprioritise needs a priority from 0 to {MOST_PRIORITY}"
    return None


def _not_in_this_phase(state: JobState, verb: Verb) -> str:
    if state.phase.is_final:
        return f"the job has ended ({state.phase}); clone it to run it again"
    if verb is Verb.RESUME and is_leaving(state):
        return "the job gives its places to another one, and goes on by itself when it has places again"
    if verb is Verb.RESUME and state.phase is Phase.SUSPENDING:
        return "the job is still being suspended; resume it when its phase is Suspended"
    allowed = ", ".join(sorted(p.value for p in ALLOWED[verb]))
    return f"{verb} is not possible while the job is {state.phase}; it is in: {allowed}"


def stops_attempt(state: JobState, fact: Fact) -> bool:
    """Whether a fact that has not been decided about is to end the present attempt, so that its launch may be
    given up."""
    match fact:
        case Requested():
            return fact.verb in (Verb.CANCEL, Verb.SUSPEND, Verb.RESIZE)
        case Displaced():
            return fact.attempt == state.attempt
        case _:
            return False


def on_request(state: JobState, request: Requested, now: datetime) -> Decision:
    """Carry out a request. A repeated id, or one that the phase no longer allows, only joins the list of ids."""
    if request.request_id in state.handled:
        return stay(state)
    refused = refusal(state, request)
    state = state.model_copy(update={"handled": (*state.handled, request.request_id)[-HANDLED_KEPT:]})
    if refused is not None:
        return stay(state)
    match request.verb:
        case Verb.CANCEL:
            return _cancel(state, request, now)
        case Verb.SUSPEND:
            return _suspend(state, request, now)
        case Verb.RESUME:
            return in_order(state, now, _said("resumed", request), actor=request.actor)
        case Verb.EXTEND:
            return _extend(state, request, now)
        case Verb.CHECKPOINT:
            return _checkpoint(state, request, now)
        case Verb.REPRIORITISE:
            return _reprioritise(state, request, now)
        case Verb.RESIZE:
            return resize(state, request, now)


def _cancel(state: JobState, request: Requested, now: datetime) -> Decision:
    said = _said("cancelled", request)
    if state.phase is Phase.CANCELLING:
        return stay(state)
    if state.phase.has_attempt:
        asked = state.model_copy(update={"displaced": ""})  # by a person: that is why it ends
        return stop_attempt(asked, Verb.CANCEL, Phase.CANCELLING, said, now, request.actor)
    over = end(state, Phase.CANCELLED, said, now)
    return over.model_copy(update={"state": _signed(over.state, request.actor)})


def _suspend(state: JobState, request: Requested, now: datetime) -> Decision:
    said = _said("suspended", request)
    if state.phase is Phase.SUSPENDING:  # for another job; it saves and stops already, and will not wait again
        stays = state.model_copy(update={"stop_requested": Verb.SUSPEND})
        return move(stays, Phase.SUSPENDING, said, now, RecordCommand(), actor=request.actor)
    if state.phase.has_attempt:
        return stop_attempt(state, Verb.SUSPEND, Phase.SUSPENDING, said, now, request.actor)
    paused = state.model_copy(update={"wake_at": None, "queued_at": None})
    return move(paused, Phase.SUSPENDED, said, now, RecordCommand(), actor=request.actor)


def _extend(state: JobState, request: Requested, now: datetime) -> Decision:
    assert state.timeout is not None
    assert request.extend_by is not None
    longer = state.model_copy(update={"timeout": state.timeout + request.extend_by})
    noted = note(longer, now, "extend", _said(f"time limit now {longer.timeout}", request), actor=request.actor)
    if state.phase is Phase.STARTING and state.launch.pod is not None:
        moved = noted.model_copy(update={"limit_moved": True})  # its pods are told when they run
        return Decision(state=moved, commands=(RecordCommand(),))
    if state.phase in (Phase.STARTING, Phase.RUNNING) and state.ref is not None:
        control = ControlCommand(ref=state.ref, request_id=request.request_id, deadline=deadline(longer))
        return Decision(state=noted, commands=(control,))
    return Decision(state=noted, commands=(RecordCommand(),))


def _checkpoint(state: JobState, request: Requested, now: datetime) -> Decision:
    assert state.ref is not None
    noted = note(state, now, "checkpoint", _said("checkpoint requested", request), actor=request.actor)
    control = ControlCommand(ref=state.ref, request_id=request.request_id, checkpoint=True)
    return Decision(state=noted, commands=(control,))


def _reprioritise(state: JobState, request: Requested, now: datetime) -> Decision:
    assert state.ticket is not None
    assert request.priority is not None
    before = state.ticket.priority
    ticket = state.ticket.model_copy(update={"priority": request.priority})
    said = _said(f"priority {request.priority} instead of {before}", request)
    noted = note(state.model_copy(update={"ticket": ticket}), now, "priority", said, actor=request.actor)
    return Decision(state=noted, commands=(RecordCommand(),))


def _signed(state: JobState, actor: str) -> JobState:
    last = state.events[-1].model_copy(update={"actor": actor})
    return state.model_copy(update={"events": (*state.events[:-1], last)})


def _said(what: str, request: Requested) -> str:
    return f"{what} by {request.actor}" + (f": {request.reason}" if request.reason else "")
