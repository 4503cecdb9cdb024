"""Jobs that wait for others: what they wait for, what an end that they hear of comes to, and when they never begin.

A job is still Pending then: it has no attempt, no places and no place in a queue. An end that was heard of is kept, and
the first word of it stands.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple

from definitions.facts import JobEnded, LookCommand, RecordCommand
from definitions.job_order import Awaited
from definitions.job_relations import Outcome
from definitions.job_state import JobState
from definitions.states import FailureClass, Phase
from policies.job_queueing import next_attempt
from policies.job_steps import SYSTEM, Decision, end, move, note, stay

NAMED = 3  # in a sentence
ENDS = {Phase.SUCCEEDED: "succeeded", Phase.FAILED: "failed", Phase.CANCELLED: "was cancelled"}
WANTED = {Outcome.SUCCEEDED: "to succeed", Outcome.FAILED: "to fail", Outcome.FINISHED: "to end"}
HAD = {Outcome.SUCCEEDED: "had succeeded", Outcome.FAILED: "had failed", Outcome.FINISHED: "had ended"}


class Order(Enum):
    """How it stands with what a job waits for."""

    MET = auto()  # every job has ended as it has to
    WAITS = auto()
    NEVER = auto()  # one has ended otherwise


class Standing(NamedTuple):
    """`reason`: what it still waits for, or why it never begins; empty when all is met."""

    order: Order
    reason: str = ""


def standing(after: Sequence[Awaited]) -> Standing:
    """How it stands. One end that is not as it has to be settles it, whatever else is open."""
    for one in after:
        if one.phase is not None and not meets(one.outcome, one.phase):
            return Standing(Order.NEVER, f"{_ended(one)}; this job was to begin when it {HAD[one.outcome]}")
    if unheard := [one for one in after if one.phase is None]:
        return Standing(Order.WAITS, f"waits for {_listed(unheard)}")
    return Standing(Order.MET)


def meets(outcome: Outcome, phase: Phase) -> bool:
    """Whether a job that ended so has ended as it has to. Cancelled counts as failed."""
    return outcome is Outcome.FINISHED or (phase is Phase.SUCCEEDED) is (outcome is Outcome.SUCCEEDED)


def heard_of(after: Sequence[Awaited], ends: Sequence[JobEnded]) -> tuple[Awaited, ...]:
    """Take in how jobs have ended. What was heard before stands, and ends of other jobs change nothing."""
    known = {one.job: one for one in ends}
    return tuple(
        one
        if one.phase is not None or one.job not in known
        else one.model_copy(update={"phase": known[one.job].phase, "failure": known[one.job].failure})
        for one in after
    )


def waits_for_others(state: JobState) -> bool:
    """Whether a job is Pending because others have not ended."""
    return state.phase is Phase.PENDING and standing(state.after).order is Order.WAITS


def in_order(state: JobState, now: datetime, why: str, *, actor: str = SYSTEM) -> Decision:
    """Begin, if what the job waits for has come; else wait for it, or end when it never comes."""
    found = standing(state.after)
    match found.order:
        case Order.MET:
            return next_attempt(state, now, why, actor=actor)
        case Order.NEVER:
            return end(state, Phase.FAILED, found.reason, now, FailureClass.DEPENDENCY)
        case Order.WAITS:
            if actor != SYSTEM:
                state = note(state, now, "phase", why, actor=actor)
            fresh = state.model_copy(update={"polls": 0})
            return move(fresh, Phase.PENDING, found.reason, now, RecordCommand(), kind="waits")


def on_ended(state: JobState, ends: Sequence[JobEnded], now: datetime) -> Decision:
    """Hear that other jobs have ended. Told twice, late, or of a job that it does not wait for: no effect.

    A suspended job goes on waiting for whoever resumes it, unless it could never begin.
    """
    after = heard_of(state.after, ends)
    if after == state.after:
        return stay(state)
    news = ", ".join(_ended(one) for one, before in zip(after, state.after, strict=True) if one != before)
    state = state.model_copy(update={"after": after})
    if state.phase is Phase.SUSPENDED and standing(after).order is not Order.NEVER:
        return Decision(state=note(state, now, "heard", news), commands=(RecordCommand(),))
    return in_order(state, now, news)


def look(state: JobState) -> Decision:
    """Ask the store how those jobs are that nothing was heard of: word of an end may have been lost."""
    asked = state.model_copy(update={"polls": state.polls + 1})
    unheard = tuple(one.job for one in state.after if one.phase is None)
    return Decision(state=asked, commands=(LookCommand(jobs=unheard),))


def _ended(one: Awaited) -> str:
    assert one.phase is not None
    return f"job {one.name} {ENDS[one.phase]}" + (f" ({one.failure})" if one.failure is not None else "")


def _listed(awaited: Sequence[Awaited]) -> str:
    """`jobs a to succeed, b to end and 4 more`."""
    said = [f"{one.name} {WANTED[one.outcome]}" for one in awaited[:NAMED]]
    if len(awaited) > NAMED:
        said.append(f"{len(awaited) - NAMED} more")
    jobs = "job" if len(awaited) == 1 else "jobs"
    return f"{jobs} {', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else f"{jobs} {said[0]}"
