"""How an elastic job comes to run on another number of nodes because a person asks for it.

While an attempt runs it saves, stops and is followed by one of the new size, from the step that it has come to. What
the scheduler gives and takes between the bounds goes the same way (`job_queueing`).
"""

from datetime import datetime, timedelta

from definitions.facts import RecordCommand, Requested
from definitions.job_state import JobState
from definitions.states import Mode, Phase
from policies.job_sizes import resized_to
from policies.job_steps import Decision, move, note, stop_command

RUNS = (Phase.STARTING, Phase.RUNNING)
TICK = timedelta(microseconds=1)


def resize_refusal(state: JobState, nodes: int | None) -> str | None:
    """Why an elastic job cannot be resized to so many nodes; None when it can."""
    if state.launch.mode is Mode.SERVICE:
        return "a service keeps its size; submit it anew with nodes: N"
    sizes = state.sizes
    if sizes is None:
        return "the job's document has no spec.elastic, so its size is fixed; clone it with elastic and nodes: N"
    if nodes is None or not sizes.least <= nodes <= sizes.most:
        return f"resize needs a number of nodes from {sizes.least} to {sizes.most}, the bounds of spec.elastic"
    if state.phase in RUNS and nodes == state.launch.nodes:
        return f"the job runs on {_nodes(nodes)} already; resize it to another number"
    return None


def resize(state: JobState, request: Requested, now: datetime) -> Decision:
    """Ask for another size from now on, and let an attempt that runs make way for one of that size.

    A job that waits asks anew: places of the old size that are under way to it start nothing. It is no younger for it.
    """
    assert state.sizes is not None
    assert request.nodes is not None
    said = f"resized to {_nodes(request.nodes)} by {request.actor}" + (f": {request.reason}" if request.reason else "")
    asked = state.model_copy(update={"sizes": resized_to(state.sizes, request.nodes)})
    if state.phase in RUNS:
        return leave_to_resize(asked, said, now, request.actor)
    if state.phase is Phase.QUEUED and state.queued_at is not None:
        asked = asked.model_copy(update={"queued_at": state.queued_at + TICK})
    return Decision(state=note(asked, now, "resized", said, actor=request.actor), commands=(RecordCommand(),))


def leave_to_resize(state: JobState, why: str, now: datetime, actor: str) -> Decision:
    """Save and stop, to go on at another size."""
    leaving = state.model_copy(update={"displaced": why, "resizes": True, "stop_requested": None, "polls": 0})
    return move(leaving, Phase.SUSPENDING, why, now, stop_command(leaving), actor=actor, kind="resized")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
