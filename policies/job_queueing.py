"""How a job with a ticket waits for places, gets them, and gives them back when the scheduler wants them.

A job without a ticket never waits. With one, every attempt begins with places that were given for it: `Placed` names
the attempt and the asking that it answers, so that places which the job has meanwhile given up start nothing.
"""

from datetime import datetime

from definitions.facts import AttemptSummary, RecordCommand, Verb
from definitions.job_state import JobState
from definitions.places import Displaced, Placed, Placement
from definitions.states import FailureClass, Phase
from policies.job_resizing import leave_to_resize
from policies.job_steps import (
    SYSTEM,
    Decision,
    end,
    end_without_time,
    has_no_time,
    move,
    next_ref,
    start_attempt,
    stay,
    stop_attempt,
    stop_command,
)

NODES_NAMED = 4  # in a sentence; the placement has all


def next_attempt(state: JobState, now: datetime, why: str, *, actor: str = SYSTEM) -> Decision:
    """Begin the next attempt, or with a ticket wait for its places."""
    if state.ticket is None:
        return start_attempt(state, now, why, actor=actor)
    return _wait(state, now, why, actor)


def on_placed(state: JobState, fact: Placed, now: datetime) -> Decision:
    """Begin the attempt that the places are for. Told twice, late, or about another asking: no effect."""
    if fact.attempt != state.attempt + 1 or fact.asked_at not in (None, state.queued_at):
        return stay(state)
    placed = state.model_copy(update={"placement": fact.placement})
    return start_attempt(placed, now, f"placed on {_nodes(fact.placement)}", kind="placed")


def on_displaced(state: JobState, fact: Displaced, now: datetime) -> Decision:
    """Save and stop, to wait again. A job that ends or is being stopped anyway gives its places back without this."""
    why = fact.reason or "its places are wanted back"
    if state.phase is Phase.QUEUED and fact.attempt == state.attempt + 1:
        if fact.for_good:
            return end(state, Phase.CANCELLED, f"cancelled: {why}", now)
        return _never_began(state.model_copy(update={"resizes": fact.resizes}), why, now)
    if state.phase not in (Phase.STARTING, Phase.RUNNING) or fact.attempt != state.attempt:
        return stay(state)
    if fact.resizes:
        return leave_to_resize(state, why, now, SYSTEM)
    hurries = {"displaced": why, "leave_within": fact.within}
    if fact.for_good:
        over = state.model_copy(update=hurries)
        return stop_attempt(over, Verb.CANCEL, Phase.CANCELLING, f"cancelled: {why}", now, SYSTEM)
    leaving = state.model_copy(update={**hurries, "stop_requested": None, "polls": 0})
    return move(leaving, Phase.SUSPENDING, f"displaced: {why}", now, stop_command(leaving), kind="displaced")


def is_leaving(state: JobState) -> bool:
    """Whether the present attempt is being stopped for nothing but the scheduler's wish."""
    return bool(state.displaced) and state.stop_requested is None


def was_resized(state: JobState) -> bool:
    """Whether the last attempt ended only for the next one to have another size."""
    return bool(state.attempts) and state.attempts[-1].resized


def wait_again(state: JobState, now: datetime) -> Decision:
    """What follows a displaced attempt, when it has been collected: its document may bound how often.

    A change of its size is not bounded. Where there are no queues it goes on at once.
    """
    if state.resizes:
        return _other_size(state, now)
    allowed = state.retry.classes.get(FailureClass.PREEMPTED)
    times = sum(1 for each in state.attempts if each.failure is FailureClass.PREEMPTED and not each.resized)
    if allowed is not None and times > allowed:
        why = f"displaced: {state.displaced}; retry.rules.preempted allows {allowed}"
        return end(state, Phase.FAILED, why, now, FailureClass.PREEMPTED)
    return _wait(state, now, f"displaced: {state.displaced}; it will go on {_from_where(state)}", SYSTEM)


def _other_size(state: JobState, now: datetime) -> Decision:
    why = f"{state.displaced}; it will go on {_from_where(state)}"
    if state.ticket is not None:
        return _wait(state, now, why, SYSTEM)
    ready = state.model_copy(update={"wake_at": now, "displaced": "", "resizes": False})
    return move(ready, Phase.BACKING_OFF, why, now, RecordCommand())


def _from_where(state: JobState) -> str:
    return "anew" if state.resume_step is None else f"from step {state.resume_step}"


def _wait(state: JobState, now: datetime, why: str, actor: str) -> Decision:
    assert state.ticket is not None
    if has_no_time(state):
        return end_without_time(state, now)
    asking = {"placement": None, "displaced": "", "resizes": False, "queued_at": state.queued_at or now}
    waiting = state.model_copy(update={"wake_at": None, "stop_requested": None, **asking})
    said = f"waits in queue {state.ticket.queue}: {why}"
    return move(waiting, Phase.QUEUED, said, now, RecordCommand(), actor=actor, kind="queued")


def _never_began(state: JobState, why: str, now: datetime) -> Decision:
    """Places were given and are wanted back before the job has heard of them. The attempt that they were for counts as
    one that was, so that their `Placed`, which is still under way, starts nothing."""
    ref = next_ref(state)
    told = f"displaced before it began: {why}"
    gone = AttemptSummary(
        number=ref.number,
        token=ref.token,
        ended_at=now,
        failure=FailureClass.PREEMPTED,
        reason=told,
        from_step=state.resume_step,
        checkpoint_step=state.resume_step,
        counted=False,
        displaced=True,
        resized=state.resizes,
    )
    skipped = {"attempt": ref.number, "ref": ref, "attempts": (*state.attempts, gone)[-100:], "displaced": why}
    return wait_again(state.model_copy(update=skipped), now)


def _nodes(placement: Placement) -> str:
    names = list(dict.fromkeys(pod.node for pod in placement.pods))
    more = f" and {len(names) - NODES_NAMED} more" if len(names) > NODES_NAMED else ""
    return ", ".join(names[:NODES_NAMED]) + more
