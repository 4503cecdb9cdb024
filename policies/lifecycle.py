"""The life of a job as one pure function: `advance(state, fact, now) -> Decision`.

Facts may repeat and come late (delivery is at least once). A fact names its attempt, so what an earlier attempt still
reports cannot touch the present one; what changes nothing falls into the last case and returns the state as it is.
"""

from datetime import datetime, timedelta

from definitions.attempt import AttemptObservation, Collected
from definitions.facts import (
    AttemptCollected,
    AttemptSummary,
    CollectFailed,
    EndsFound,
    Fact,
    JobEnded,
    Launched,
    LaunchFailed,
    Observed,
    PollCommand,
    RecordCommand,
    Requested,
    TimerFired,
    Verb,
)
from definitions.job_state import JobState
from definitions.places import Displaced, Placed
from definitions.states import FailureClass, Phase
from policies.checkpoints import explain_resume, resume_point
from policies.failure import Judgement, judge
from policies.job_order import Order, in_order, look, on_ended, standing, waits_for_others
from policies.job_queueing import is_leaving, next_attempt, on_displaced, on_placed, wait_again, was_resized
from policies.job_steps import Decision, collect, end, move, note, stay, stop_command
from policies.job_waits import WAITS, ran_on, runs, started_at, waits
from policies.requests import on_request
from policies.retry import decide

FIRST_POLL = timedelta(minutes=2)
LONGEST_POLL = timedelta(minutes=30)
PROBLEMS_NOTED = 20
OF_PLACES = ("PD-3030", "PD-3031")  # refusals of a placement, not of what was to be started there


def begin(state: JobState, now: datetime, *, suspended: bool = False) -> Decision:
    """The first decision about an accepted job."""
    if suspended and standing(state.after).order is not Order.NEVER:
        return move(state, Phase.SUSPENDED, "submitted as suspended; `jobs resume` starts it", now, RecordCommand())
    return in_order(state, now, "first start")


def moment(fact: Fact, fallback: datetime) -> datetime:
    """The time at which a fact is decided. A fact that an activity returns brings its own time, so that the activity,
    which records the decision, and the workflow, which carries it out, decide the same."""
    match fact:
        case Launched() | LaunchFailed() | CollectFailed():
            return fact.at
        case AttemptCollected():
            return fact.collected.observation.at
        case _:
            return fallback


def advance(state: JobState, fact: Fact, now: datetime) -> Decision:
    """Return the next state and the commands that bring it about."""
    match state.phase, fact:
        case _, Requested():
            return on_request(state, fact, now)
        case Phase.QUEUED, Placed():
            return on_placed(state, fact, now)
        case _, Displaced():
            return on_displaced(state, fact, now)
        case Phase.STARTING, Launched() if fact.attempt == state.attempt:
            return runs(state, now, fact.at) if fact.running else waits(state, fact.note or WAITS, now)
        case ((Phase.STARTING | Phase.SUSPENDING | Phase.CANCELLING), LaunchFailed()) if fact.attempt == state.attempt:
            return _launch_failed(state, fact, now)
        case Phase.STARTING, Observed():
            return _observed_waiting(state, fact.observation, now)
        case ((Phase.RUNNING | Phase.SUSPENDING | Phase.CANCELLING), Observed()):
            return _observed(state, fact.observation, now)
        case Phase.COLLECTING, AttemptCollected() if fact.attempt == state.attempt:
            return _finish_attempt(state, fact.collected, now)
        case Phase.COLLECTING, CollectFailed() if fact.attempt == state.attempt:
            return _finish_attempt(state, _nothing_kept(state, fact), now)
        case ((Phase.PENDING | Phase.SUSPENDED), JobEnded()):
            return on_ended(state, (fact,), now)
        case ((Phase.PENDING | Phase.SUSPENDED), EndsFound()):
            return on_ended(state, fact.ends, now)
        case Phase.PENDING, TimerFired() if waits_for_others(state):
            return look(state)
        case Phase.BACKING_OFF, TimerFired() if state.wake_at is None or now >= state.wake_at:
            return next_attempt(state, now, "at its new size" if was_resized(state) else "retry")
        case ((Phase.STARTING | Phase.RUNNING), TimerFired()):
            return _poll(state)
        case ((Phase.SUSPENDING | Phase.CANCELLING), TimerFired()):
            polled = _poll(state)
            return polled.model_copy(update={"commands": (stop_command(state), *polled.commands)})
        case _:
            return stay(state)


def poll_interval(state: JobState, first: timedelta = FIRST_POLL) -> timedelta:
    """How long to wait for the watcher before asking the runtime: doubling, so that a long history stays short."""
    return min(first * (1 << min(state.polls, 10)), max(LONGEST_POLL, first))


def _poll(state: JobState) -> Decision:
    assert state.ref is not None
    asked = state.model_copy(update={"polls": state.polls + 1})
    return Decision(state=asked, commands=(PollCommand(ref=state.ref),))


def _launch_failed(state: JobState, fact: LaunchFailed, now: datetime) -> Decision:
    """Whatever part of it may have started must be ended and kept, so this too goes through collecting.

    Places that cannot be had are no reason to give up: the next attempt gets others.
    """
    refused = fact.permanent and fact.code not in OF_PLACES
    problem = state.model_copy(update={"launch_problem": fact.message, "launch_refused": refused})
    return collect(problem, f"attempt {state.attempt} could not be started: {fact.message}", now)


def _observed_waiting(state: JobState, seen: AttemptObservation, now: datetime) -> Decision:
    """News of pods that were launched and do not all run yet. What is said again is no news."""
    if state.ref is None or seen.ref.token != state.ref.token:
        return stay(state)
    if seen.ended or not seen.exists:
        return collect(state, f"attempt {state.attempt} has ended", now)
    if seen.running:
        since = seen.brief().running_since or now
        return runs(state, now, min(since, now), RecordCommand())
    if not seen.note or seen.note == state.reason:
        return stay(state)
    return waits(state, seen.note, now, RecordCommand())


def _observed(state: JobState, seen: AttemptObservation, now: datetime) -> Decision:
    if state.ref is None or seen.ref.token != state.ref.token:
        return stay(state)
    if seen.exists and not seen.ended:
        return stay(state)
    return collect(state, f"attempt {state.attempt} has ended", now)


def _nothing_kept(state: JobState, fact: CollectFailed) -> Collected:
    assert state.ref is not None
    seen = AttemptObservation(ref=state.ref, at=fact.at, exists=False)
    return Collected(observation=seen, problems=(f"nothing could be kept: {fact.message}",))


def _finish_attempt(state: JobState, collected: Collected, now: datetime) -> Decision:
    judgement = _judge(state, collected)
    state = ran_on(_resume_from(state, collected), collected.observation)
    if judgement.failure is not None and state.checkpoints.resume and collected.checkpoints:
        state = note(state, now, "checkpoint", explain_resume(collected.checkpoints))
    state = _remember(state, collected, judgement, now)
    for problem in collected.problems[:PROBLEMS_NOTED]:
        state = note(state, now, "warning", problem)
    if judgement.failure is None:
        ended = state.model_copy(update={"exit_code": judgement.exit_code})
        return end(ended, Phase.SUCCEEDED, judgement.reason, now)
    if state.stop_requested is Verb.CANCEL:
        why = f"cancelled: {state.displaced}" if state.displaced else "cancelled"
        return end(state, Phase.CANCELLED, f"{why}; every process has ended", now)
    if state.stop_requested is Verb.SUSPEND:
        return _suspended(state, now)
    if _is_displaced(state):
        return wait_again(state, now)
    return _retry_or_fail(state, now)


def _judge(state: JobState, collected: Collected) -> Judgement:
    if state.launch_problem:
        found = Judgement(failure=FailureClass.INFRASTRUCTURE, reason=f"could not be started: {state.launch_problem}")
    else:
        found = judge(collected.observation, state.launch.mode)
    if found.failure is None or not _is_displaced(state):
        return found
    why = f"{'' if state.resizes else 'displaced: '}{state.displaced}; {found.reason}"
    return found.model_copy(update={"failure": FailureClass.PREEMPTED, "reason": why})


def _is_displaced(state: JobState) -> bool:
    """Whether the attempt ended because its places were wanted back. One that can never start has failed all the same,
    and what a person asked for since then comes first."""
    return is_leaving(state) and not state.launch_refused


def _resume_from(state: JobState, collected: Collected) -> JobState:
    """Find where the next attempt begins. Without any folder seen (nothing was kept) the earlier answer stands."""
    if not state.checkpoints.resume or not collected.checkpoints:
        return state
    point = resume_point(collected.checkpoints)
    found = {"resume_from": point.folder if point else None, "resume_step": point.step if point else None}
    return state.model_copy(update=found)


def _remember(state: JobState, collected: Collected, judgement: Judgement, now: datetime) -> JobState:
    assert state.ref is not None
    started = started_at(state, collected.observation)
    ends = [r.ended_at for r in collected.observation.ranks if r.ended_at is not None]
    ended = max([*([started] if started else []), *ends]) if ends else now
    stopped = state.stop_requested is not None
    summary = AttemptSummary(
        number=state.attempt,
        token=state.ref.token,
        started_at=started,
        ended_at=ended,
        failure=None if stopped else judgement.failure,
        reason=judgement.reason,
        exit_code=judgement.exit_code,
        signal=judgement.signal,
        first_rank=judgement.rank,
        from_step=state.launch_from_step,
        reached_step=collected.reached_step,
        checkpoint_step=state.resume_step,
        nodes=judgement.nodes,
        last_lines=judgement.last_lines,
        counted=False,
        displaced=judgement.failure is not None and _is_displaced(state),
        resized=judgement.failure is not None and _is_displaced(state) and state.resizes,
    )
    # Nothing is decided from earlier attempts' last lines, and a hundred times twenty would not fit into a history.
    earlier = tuple(attempt.model_copy(update={"last_lines": ()}) for attempt in state.attempts)
    return state.model_copy(
        update={
            "attempts": (*earlier, summary)[-100:],
            "used": state.used + (ended - started if started is not None else timedelta(0)),
            "exit_code": judgement.exit_code,
            "attempt_started_at": None,
            "placement": None,
        }
    )


def _suspended(state: JobState, now: datetime) -> Decision:
    step = (
        "no checkpoint: it will begin anew"
        if state.resume_step is None
        else f"it will resume from step {state.resume_step}"
    )
    idle = state.model_copy(update={"stop_requested": None, "displaced": "", "resizes": False, "queued_at": None})
    return move(idle, Phase.SUSPENDED, f"suspended; {step}", now, RecordCommand())


def _retry_or_fail(state: JobState, now: datetime) -> Decision:
    failed = state.attempts[-1]
    verdict = decide(state, failed, now)
    what = f"{failed.reason} ({failed.failure})"
    if not verdict.retry:
        failure = FailureClass.REPEATED if verdict.repeated else failed.failure
        return end(state, Phase.FAILED, f"{what}; {verdict.why}", now, failure)
    counted = failed.model_copy(update={"counted": verdict.counted})
    waiting = state.model_copy(
        update={
            "attempts": (*state.attempts[:-1], counted),
            "wake_at": now + verdict.delay,
            "retries_used": state.retries_used + (1 if verdict.counted else 0),
            "avoid_nodes": verdict.avoid,
            "queued_at": None,
        }
    )
    return move(waiting, Phase.BACKING_OFF, f"{what}; {verdict.why}", now, RecordCommand())
