"""What people may ask of an array, and how it is passed on to the jobs that it has open. Pure.

A request about going on or not replaces an earlier one that is still being passed on: the last word counts.
"""

from datetime import datetime

from definitions.array_state import ArrayState, Telling
from definitions.facts import Requested, Verb
from definitions.states import Phase
from policies.array_moves import jobs, move, note
from policies.array_order import in_order
from policies.index_ranges import size
from policies.job_steps import HANDLED_KEPT
from policies.requests import MOST_PRIORITY

MOST_TELLING = 20  # requests that are being passed on at once
GOING_ON = (Verb.SUSPEND, Verb.RESUME, Verb.CANCEL)
LIVE = frozenset(phase for phase in Phase if not phase.is_final and phase is not Phase.CANCELLING)
ALLOWED: dict[Verb, frozenset[Phase]] = {
    Verb.CANCEL: frozenset({*LIVE, Phase.CANCELLING}),
    Verb.SUSPEND: frozenset({Phase.PENDING, Phase.RUNNING}),
    Verb.RESUME: frozenset({Phase.SUSPENDING, Phase.SUSPENDED}),
    Verb.EXTEND: LIVE,
    Verb.CHECKPOINT: frozenset({Phase.RUNNING}),
    Verb.REPRIORITISE: LIVE,
}


def refusal(state: ArrayState, request: Requested) -> str | None:
    """Why a request cannot be granted now; None when it can. The sentence says what would make it pass."""
    verb = request.verb
    if request.request_id in state.handled:
        return None
    if state.phase.is_final:
        return f"the array has ended ({state.phase}); clone it to run it again"
    if verb not in ALLOWED:
        return f"{verb} is asked of one job of the array, for example of {state.name}-{state.indexes.first}"
    if state.phase not in ALLOWED[verb]:
        allowed = ", ".join(sorted(phase.value for phase in ALLOWED[verb]))
        return f"{verb} is not possible while the array is {state.phase}; it is in: {allowed}"
    if verb not in GOING_ON and len(state.telling) >= MOST_TELLING:
        return f"{MOST_TELLING} earlier requests are still being passed on to its jobs; ask again in a moment"
    return _missing(state, request)


def _missing(state: ArrayState, request: Requested) -> str | None:
    match request.verb:
        case Verb.EXTEND if not state.bounded:
            return "its jobs have no time limit, so there is nothing to extend"
        case Verb.EXTEND if request.extend_by is None or request.extend_by.total_seconds() <= 0:
            return "extend needs a positive duration, for example 1h"
        case Verb.REPRIORITISE if not state.queued:
            return "its jobs wait in no queue, so they have no priority; clone it with queue: NAME"
        case Verb.REPRIORITISE if request.priority is None or not 0 <= request.priority <= MOST_PRIORITY:
            return f"reprioritise needs a priority from 0 to {MOST_PRIORITY}"
        case Verb.CHECKPOINT if not state.open:
            return "none of its jobs is under way"
        case _:
            return None


def on_request(state: ArrayState, request: Requested, now: datetime) -> ArrayState:
    """Carry out a request. A repeated id, or one that the phase no longer allows, only joins the list of ids."""
    if request.request_id in state.handled:
        return state
    refused = refusal(state, request)
    state = state.model_copy(update={"handled": (*state.handled, request.request_id)[-HANDLED_KEPT:]})
    if refused is not None or (request.verb is Verb.CANCEL and state.phase is Phase.CANCELLING):
        return state
    return _granted(_passing_on(state, request), request, now)


def passes_later(verb: Verb, phase: Phase) -> bool:
    """Whether a job that refused a request in this phase may grant it in a moment, so that it is to be asked again.

    One that is being suspended can be resumed when it is, and one whose attempt has just ended may go on with another.
    """
    match verb:
        case Verb.RESUME:
            return phase is Phase.SUSPENDING
        case Verb.SUSPEND:
            return phase in (Phase.COLLECTING, Phase.PENDING)
        case _:
            return False


def _passing_on(state: ArrayState, request: Requested) -> ArrayState:
    earlier = state.telling
    if request.verb is Verb.CANCEL:
        earlier = ()
    elif request.verb in GOING_ON:
        earlier = tuple(telling for telling in earlier if telling.request.verb not in GOING_ON)
    mine = (Telling(request=request, left=state.open),) if state.open else ()
    return state.model_copy(update={"telling": (*earlier, *mine)})


def _granted(state: ArrayState, request: Requested, now: datetime) -> ArrayState:
    by = f"by {request.actor}" + (f": {request.reason}" if request.reason else "")
    match request.verb:
        case Verb.CANCEL:
            return move(state, Phase.CANCELLING, f"cancelled {by}", now, actor=request.actor)
        case Verb.SUSPEND:
            phase = Phase.SUSPENDING if state.open else Phase.SUSPENDED
            return move(state, phase, f"suspended {by}; {_standing(state)}", now, actor=request.actor)
        case Verb.RESUME:
            return in_order(state, now, f"resumed {by}", request.actor)
        case Verb.EXTEND:
            assert request.extend_by is not None
            granted = state.granted.model_copy(update={"extended": state.granted.extended + request.extend_by})
            said = f"each of its jobs may run {request.extend_by} longer, granted {by}"
            return note(state.model_copy(update={"granted": granted}), now, "extend", said, actor=request.actor)
        case Verb.REPRIORITISE:
            granted = state.granted.model_copy(update={"priority": request.priority})
            said = f"priority {request.priority}, set {by}"
            return note(state.model_copy(update={"granted": granted}), now, "priority", said, actor=request.actor)
        case _:
            return note(state, now, "checkpoint", f"checkpoint requested {by}", actor=request.actor)


def _standing(state: ArrayState) -> str:
    left = state.indexes.count - state.made
    parts = [f"{jobs(size(state.open))} told to save and stop"] if state.open else []
    parts += [f"{left} not made yet"] if left else []
    return ", ".join(parts) or "no job is open"
