"""The small moves that the life of a job is made of. Each takes a state and returns a `Decision`."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from definitions.attempt import AttemptLaunch, AttemptRef, StopRequest
from definitions.facts import CollectCommand, Command, Event, LaunchCommand, RecordCommand, StopCommand, Verb
from definitions.job_state import JobState
from definitions.pod_needs import PodNeeds
from definitions.states import FailureClass, Phase
from definitions.wire import Wire
from policies.job_sizes import launch_of_next

SYSTEM = "perdure"  # the actor of what nobody asked for
CHECKPOINT_WITHIN = timedelta(minutes=2)
HANDLED_KEPT = 50


class Decision(Wire):
    """What a policy answers: the next state (its reason included) and what must be done for it."""

    state: JobState
    commands: tuple[Command, ...] = ()


def stay(state: JobState) -> Decision:
    return Decision(state=state)


def move(
    state: JobState,
    phase: Phase,
    reason: str,
    now: datetime,
    *commands: Command,
    actor: str = SYSTEM,
    kind: str = "phase",
) -> Decision:
    """Go to a phase and write one event about it."""
    moved = state.model_copy(update={"phase": phase, "reason": reason})
    return Decision(state=note(moved, now, kind, reason, actor=actor), commands=commands)


def note(state: JobState, now: datetime, kind: str, reason: str, *, actor: str = SYSTEM) -> JobState:
    """Append an event to what is to be recorded. Keys count up, so that writing one twice is harmless.

    A key names the phase too: when an activity recorded one decision and the workflow, hearing only that the activity
    failed, makes another, both are kept.
    """
    number = state.event_count + 1
    event = Event(
        key=f"{number:06d}-{state.phase}",
        at=now,
        actor=actor,
        kind=kind,
        reason=reason,
        data={"phase": state.phase.value, "attempt": state.attempt},
    )
    return state.model_copy(update={"events": (*state.events, event), "event_count": number})


def start_attempt(state: JobState, now: datetime, why: str, *, actor: str = SYSTEM, kind: str = "phase") -> Decision:
    """Begin the next attempt, from the newest verified checkpoint when there is one."""
    if has_no_time(state):
        return end_without_time(state, now)
    number = state.attempt + 1
    waits = state.launch.pod is not None  # pods may wait for hours, and waiting is no running time
    ref = next_ref(state)
    fresh = state.model_copy(
        update={
            "attempt": number,
            "ref": ref,
            "wake_at": None,
            "stop_requested": None,
            "attempt_started_at": None if waits else now,
            "started_at": state.started_at or now,
            "polls": 0,
            "launch_problem": "",
            "launch_refused": False,
            "launch_from_step": state.resume_step,
            "limit_moved": False,
            "displaced": "",
            "leave_within": None,
            "resizes": False,
            "launch": launch_of_next(state),
        }
    )
    begins = "" if state.resume_step is None else f", from step {state.resume_step}"
    said = f"attempt {number}: {why}{begins}"
    return move(fresh, Phase.STARTING, said, now, LaunchCommand(ref=ref), actor=actor, kind=kind)


def has_no_time(state: JobState) -> bool:
    """Whether the time that the job may run is used up."""
    return state.timeout is not None and state.used >= state.timeout


def end_without_time(state: JobState, now: datetime) -> Decision:
    return end(state, Phase.FAILED, f"its {state.timeout} of running time are used up", now, FailureClass.TIMEOUT)


def next_ref(state: JobState) -> AttemptRef:
    """The name of the attempt after the present one."""
    number = state.attempt + 1
    return AttemptRef(
        tenant=state.tenant,
        project=state.project,
        job=state.job,
        number=number,
        token=attempt_token(state.seed, number),
    )


def stop_attempt(state: JobState, verb: Verb, phase: Phase, reason: str, now: datetime, actor: str) -> Decision:
    """Ask the running attempt to end; the runtime reports when it has."""
    assert state.ref is not None
    asked = state.model_copy(update={"stop_requested": verb, "polls": 0})
    return move(asked, phase, reason, now, stop_command(asked), actor=actor)


def stop_command(state: JobState) -> StopCommand:
    """A job that is to go on later saves first: when it is suspended, and when others get its places."""
    assert state.ref is not None
    displaced = state.stop_requested is None
    save, grace = _times_to_leave(state)
    stop = StopRequest(
        reason="displaced" if displaced else "suspended" if state.stop_requested is Verb.SUSPEND else "cancelled",
        checkpoint_first=state.stop_requested is not Verb.CANCEL,
        checkpoint_within=save,
        grace=grace,
    )
    return StopCommand(ref=state.ref, stop=stop)


def collect(state: JobState, reason: str, now: datetime) -> Decision:
    assert state.ref is not None
    return move(state, Phase.COLLECTING, reason, now, CollectCommand(ref=state.ref))


def end(state: JobState, phase: Phase, reason: str, now: datetime, failure: FailureClass | None = None) -> Decision:
    """Go to a final phase."""
    over = state.model_copy(
        update={
            "failure": failure,
            "ended_at": now,
            "wake_at": None,
            "stop_requested": None,
            "queued_at": None,
            "displaced": "",
            "resizes": False,
        }
    )
    return move(over, phase, reason, now, RecordCommand())


def attempt_token(seed: str, number: int) -> str:
    """32 hex digits that nothing outside the job can guess and every replay finds again."""
    return hashlib.sha256(f"{seed}/{number}".encode()).hexdigest()[:32]


def attempt_launch(state: JobState) -> AttemptLaunch:
    """What the runtime is given for the current attempt. The deadline counts from the start of the attempt; pods
    get a time limit that counts from their own. With places of the scheduler's there is no node left to choose.

    The other job's checkpoint is needed only to start from: once the job has a later one of its own, that one may have
    been pruned, and the other job deleted.
    """
    assert state.ref is not None
    launch = state.launch
    seed = launch.seed_checkpoint
    given = {
        "ref": state.ref,
        "avoid_nodes": state.avoid_nodes,
        "resume_from": state.resume_from,
        "resume_step": state.resume_step,
        "seed_checkpoint": seed if seed is not None and seed.folder == state.resume_from else None,
        "placement": state.placement,
    }
    if state.placement is not None:
        given["avoid_nodes"] = ()
    if launch.pod is None:
        return launch.model_copy(update={**given, "deadline": deadline(state)})
    left = None if state.timeout is None else state.timeout - state.used
    return launch.model_copy(update={**given, "time_limit": left, **_place(state, launch.pod)})


def deadline(state: JobState) -> datetime | None:
    """When the running attempt is to end; None without a limit, and while its pods wait."""
    if state.timeout is None or state.attempt_started_at is None:
        return None
    return state.attempt_started_at + (state.timeout - state.used)


def _place(state: JobState, pod: PodNeeds) -> dict[str, Any]:
    """A pinned job goes to its nodes and nowhere else: there is none to avoid, and it waits until they can take it."""
    if not state.pinned or state.placement is not None:
        return {}
    return {"pod": pod.model_copy(update={"nodes": state.pinned}), "avoid_nodes": ()}


def _times_to_leave(state: JobState) -> tuple[timedelta, timedelta]:
    """To save, and to stop then: the job's own, or less, together no more than the scheduler gives it."""
    save, grace, within = _time_to_save(state.launch), state.launch.grace, state.leave_within
    if within is None:
        return save, grace
    save = min(save, max(within - grace, within / 2))
    return save, min(grace, within - save)


def _time_to_save(launch: AttemptLaunch) -> timedelta:
    own = launch.pod.save_grace if launch.pod is not None else None
    return own or CHECKPOINT_WITHIN
