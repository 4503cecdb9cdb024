"""An array that has to wait for other jobs before its first one is made. Pure."""

from datetime import datetime

from definitions.array_state import ArrayState
from definitions.facts import JobEnded
from definitions.states import FailureClass, Phase
from policies.array_moves import begin_running, move
from policies.job_order import Order, heard_of, standing
from policies.job_steps import SYSTEM


def in_order(state: ArrayState, now: datetime, said: str = "", actor: str = SYSTEM) -> ArrayState:
    """Begin, if what the array waits for has come; else wait for it, or end when it never comes. `said`: who let it."""
    found = standing(state.after)
    match found.order:
        case Order.MET:
            return begin_running(state, now, said, actor)
        case Order.NEVER:
            return _never(state, found.reason, now)
        case Order.WAITS:
            reason = f"{said}; {found.reason}" if said else found.reason
            return move(state, Phase.PENDING, reason, now, actor=actor, look_at=now + state.poll, polls=0)


def heard_of_others(state: ArrayState, ends: tuple[JobEnded, ...], now: datetime) -> ArrayState:
    """Take in ends of jobs that it waits for. Told twice, late, or of other jobs: no effect."""
    after = heard_of(state.after, ends)
    if after == state.after:
        return state
    state = state.model_copy(update={"after": after})
    found = standing(after)
    if found.order is Order.NEVER and state.made == 0 and state.phase is not Phase.CANCELLING:
        return _never(state, found.reason, now)
    return in_order(state, now) if state.phase is Phase.PENDING else state


def awaited(state: ArrayState) -> tuple[str, ...]:
    """Ids of jobs that it still waits for."""
    return tuple(one.job for one in state.after if one.phase is None)


def _never(state: ArrayState, reason: str, now: datetime) -> ArrayState:
    failure = FailureClass.DEPENDENCY
    return move(state, Phase.FAILED, reason, now, failure=failure, ended_at=now, telling=(), look_at=None)
