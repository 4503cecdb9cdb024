"""The part of an attempt's life before it runs: pods that a cluster has taken and that do not all run yet."""

from datetime import datetime

from definitions.attempt import AttemptObservation
from definitions.facts import Command, ControlCommand
from definitions.job_state import JobState
from definitions.states import Phase
from policies.job_steps import Decision, deadline, move

WAITS = "waits for its pods to start"


def waits(state: JobState, why: str, now: datetime, *commands: Command) -> Decision:
    """Stay in Starting, and say why."""
    return move(state, Phase.STARTING, why, now, *commands, kind="waits")


def runs(state: JobState, now: datetime, since: datetime, *commands: Command) -> Decision:
    """Every rank runs. Running time counts from here, unless it does already; `since`: when the last rank began.

    Pods that were launched with another time limit than is granted by now are told.
    """
    ranks = state.launch.ranks
    running = state.model_copy(
        update={"attempt_started_at": state.attempt_started_at or since, "polls": 0, "limit_moved": False}
    )
    if state.limit_moved and state.ref is not None:
        told = ControlCommand(ref=state.ref, request_id=f"limit-{state.attempt}", deadline=deadline(running))
        commands = (told, *commands)
    return move(running, Phase.RUNNING, "running" if ranks == 1 else f"all {ranks} ranks are running", now, *commands)


def started_at(state: JobState, seen: AttemptObservation) -> datetime | None:
    """When the attempt began to run; None when it never did. It may have ended before anybody told that it ran."""
    began = [rank.started_at for rank in seen.ranks if rank.started_at is not None]
    return state.attempt_started_at or max(began, default=None)


def ran_on(state: JobState, seen: AttemptObservation) -> JobState:
    """Remember the nodes of the first attempt that ran, in order of rank, for a job that is to stay on them."""
    if not state.pin or state.pinned or started_at(state, seen) is None:
        return state
    nodes = tuple(dict.fromkeys(rank.node for rank in seen.ranks if rank.node))
    return state.model_copy(update={"pinned": nodes})
