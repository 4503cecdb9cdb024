"""What a job's workflow has done for it by activities that end by themselves: record, collect, and the short ones."""

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.job import (
        CollectResult,
        ControlWork,
        JournalActivities,
        Recorded,
        RuntimeActivities,
        StateWork,
        StopWork,
    )
    from activities.job_ends import EndsActivities, LookWork
    from definitions.facts import CollectFailed, ControlCommand, Fact, LookCommand, Observed, PollCommand, StopCommand
    from definitions.job_state import JobInput, JobState
    from workflows import options
    from workflows.causes import cause_of

Short = StopCommand | ControlCommand | PollCommand | LookCommand


async def record(state: JobState) -> Recorded:
    config = settings(options.record(), "record", state)
    return await workflow.execute_activity_method(JournalActivities.record, StateWork(state=state), **config)


async def collect(state: JobState, start: JobInput) -> CollectResult | CollectFailed:
    config = settings(options.collect(start.heartbeat), "collect", state, start.queue)
    try:
        return await workflow.execute_activity_method(RuntimeActivities.collect, StateWork(state=state), **config)
    except ActivityError as error:
        return CollectFailed(attempt=state.attempt, at=workflow.now(), message=cause_of(error))


async def short(command: Short, state: JobState, start: JobInput) -> Recorded | Fact | None:
    """Give up quietly: the next safety poll repeats what still matters."""
    try:
        return await _short(command, state, start)
    except ActivityError as error:
        workflow.logger.warning("%s failed: %s", command.kind, cause_of(error))
    return None


def settings(
    config: workflow.ActivityConfig, what: str, state: JobState, queue: str | None = None
) -> workflow.ActivityConfig:
    """The options of one call. `queue`: None is the workflow's own."""
    config["summary"] = f"{what} attempt {state.attempt}: {state.phase}"
    if queue is not None:
        config["task_queue"] = queue
    return config


async def _short(command: Short, state: JobState, start: JobInput) -> Recorded | Fact | None:
    own = None if isinstance(command, LookCommand) else start.queue
    config = settings(options.short(start.heartbeat), command.kind, state, own)
    match command:
        case PollCommand():
            seen = await workflow.execute_activity_method(RuntimeActivities.poll, command, **config)
            return Observed(observation=seen)
        case StopCommand():
            stop = StopWork(state=state, command=command)
            return await workflow.execute_activity_method(RuntimeActivities.stop, stop, **config)
        case ControlCommand():
            control = ControlWork(state=state, command=command)
            return await workflow.execute_activity_method(RuntimeActivities.control, control, **config)
        case LookCommand():
            asked = LookWork(tenant=state.tenant, project=state.project, jobs=command.jobs)
            return await workflow.execute_activity_method(EndsActivities.look, asked, **config)
