"""Activities of the same names and types as the real ones, which do what a test's script says, and remember it."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.job import CollectResult, ControlWork, LaunchResult, Recorded, StateWork, StopWork, recorded
from activities.job_ends import LookWork
from definitions.attempt import AttemptObservation, CheckpointRecord, Collected, RankEvidence
from definitions.facts import (
    AttemptCollected,
    ControlCommand,
    EndsFound,
    Event,
    JobEnded,
    Launched,
    Observed,
    PollCommand,
    StopCommand,
)
from definitions.ids import job_workflow_id
from definitions.job_state import JobInput, JobState
from definitions.states import Phase
from policies.job_steps import attempt_launch
from policies.lifecycle import advance, moment
from tests.support.jobs import displaced, places
from tests.support.polling import eventually_async
from workers.workflow_runner import workflow_runner
from workflows.job import JobWorkflow

Ranks = tuple[RankEvidence, ...]


class Script:
    """What each attempt will turn out to have been, by attempt number; and what was asked of the activities."""

    def __init__(
        self, *attempts: Ranks | str, checkpoints: dict[int, tuple[CheckpointRecord, ...]] | None = None
    ) -> None:
        self.attempts = attempts  # evidence, or a message with which the launch fails for good
        self.checkpoints = checkpoints or {}
        self.launched: list[int] = []
        self.stops: list[StopCommand] = []
        self.controls: list[ControlCommand] = []
        self.polls = 0
        self.looks = 0
        self.ends: tuple[JobEnded, ...] = ()  # of other jobs, as the store would tell of them
        self.lost_recordings = False  # launch and collect claim to have recorded something else
        self.events: dict[str, Event] = {}
        self.last: JobState | None = None

    def remember(self, state: JobState) -> None:
        self.last = state
        for event in state.events:
            self.events.setdefault(event.key, event)

    def done(self, state: JobState) -> Recorded:
        answer = recorded(state)
        return answer.model_copy(update={"phase": Phase.PENDING}) if self.lost_recordings else answer

    @activity.defn(name="launch")
    async def launch(self, work: StateWork) -> LaunchResult:
        self.launched.append(work.state.attempt)
        planned = self.attempts[work.state.attempt - 1]
        if isinstance(planned, str):
            raise ApplicationError(planned, type="PD-3000", non_retryable=True)
        self.remember(work.state)
        fact = self.fact(work.state)
        after = advance(work.state, fact, fact.at).state
        self.remember(after)
        return LaunchResult(fact=fact, recorded=self.done(after))

    @activity.defn(name="collect")
    async def collect(self, work: StateWork) -> CollectResult:
        seen = self.observation(work.state)
        kept = Collected(observation=seen, checkpoints=self.checkpoints.get(work.state.attempt, ()))
        fact = AttemptCollected(attempt=work.state.attempt, collected=kept)
        after = advance(work.state, fact, moment(fact, seen.at)).state
        self.remember(after)
        return CollectResult(fact=fact, recorded=self.done(after))

    @activity.defn(name="stop")
    async def stop(self, work: StopWork) -> Recorded:
        self.remember(work.state)
        self.stops.append(work.command)
        return recorded(work.state)

    @activity.defn(name="control")
    async def control(self, work: ControlWork) -> Recorded:
        self.remember(work.state)
        self.controls.append(work.command)
        return recorded(work.state)

    @activity.defn(name="poll")
    async def poll(self, command: PollCommand) -> AttemptObservation:
        self.polls += 1
        assert self.last is not None
        return self.observation(self.last)

    @activity.defn(name="look")
    async def look(self, work: LookWork) -> EndsFound:
        self.looks += 1
        return EndsFound(ends=tuple(end for end in self.ends if end.job in work.jobs))

    @activity.defn(name="record")
    async def record(self, work: StateWork) -> Recorded:
        self.remember(work.state)
        return recorded(work.state)

    def observation(self, state: JobState) -> AttemptObservation:
        planned = self.attempts[state.attempt - 1]
        ranks = () if isinstance(planned, str) else planned
        ref = attempt_launch(state).ref
        return AttemptObservation(ref=ref, at=datetime.now(UTC), ranks=ranks, ended=True, exists=bool(ranks))

    def fact(self, state: JobState) -> Launched:
        return Launched(attempt=state.attempt, at=datetime.now(UTC))

    def activities(self) -> list[Callable[..., Any]]:
        return [self.launch, self.collect, self.stop, self.control, self.poll, self.look, self.record]


class WaitsForPods(Script):
    """Each launch returns before its pods run; a test says when they do."""

    def fact(self, state: JobState) -> Launched:
        return Launched(attempt=state.attempt, at=datetime.now(UTC), running=False, note="waits: no node can take it")


class NeverLaunches(Script):
    """Each try to launch fails, and might succeed another time: the engine tries for an hour."""

    @activity.defn(name="launch")
    async def launch(self, work: StateWork) -> LaunchResult:
        self.launched.append(work.state.attempt)
        raise ApplicationError("no space left on device", type="PD-3000")


class Running:
    """A job's workflow on a real engine, played against a script."""

    def __init__(self, client: Client, handle: WorkflowHandle[Any, JobState], script: Script) -> None:
        self.client = client
        self.handle = handle
        self.script = script

    async def state(self) -> JobState:
        return await self.handle.query(JobWorkflow.state)

    async def until(self, condition: Callable[[JobState], bool], seconds: float = 20) -> JobState:
        async def met() -> JobState | None:
            state = await self.state()
            return state if condition(state) else None

        return await eventually_async(met, seconds)

    async def attempt_ends(self) -> None:
        """Report the present attempt's scripted end, as the watcher would."""
        state = await self.state()
        await self.handle.signal(JobWorkflow.report, Observed(observation=self.script.observation(state)))

    async def placed(self, *nodes: str, **changes: Any) -> JobState:
        """Wait until the job waits for places, and give it some as the scheduler does."""
        state = await self.until(lambda state: state.phase is Phase.QUEUED)
        await self.handle.signal(JobWorkflow.place, places(state, *nodes, **changes))
        return state

    async def displaced(self, why: str = "job big needs its places", **changes: Any) -> None:
        """Want the places of the present attempt back."""
        await self.handle.signal(JobWorkflow.place, displaced(await self.state(), why, **changes))

    async def hears(self, *ends: JobEnded) -> None:
        """Tell it that other jobs have ended, as the control worker does."""
        for end in ends:
            await self.handle.signal(JobWorkflow.heard, end)

    async def pods_say(self, **news: Any) -> None:
        """Report what a cluster says of the present attempt's pods while they wait, or that they run."""
        seen = AttemptObservation(ref=attempt_launch(await self.state()).ref, at=datetime.now(UTC), **news)
        await self.handle.signal(JobWorkflow.report, Observed(observation=seen))

    async def pods_run(self) -> None:
        await self.pods_say(running_since=datetime.now(UTC))


@asynccontextmanager
async def job_on_engine(
    client: Client, state: JobState, script: Script, *, cached: int = 100, **given: Any
) -> AsyncIterator[Running]:
    """Start JobWorkflow with a state on a worker of its own that runs the script's activities."""
    queue = f"test-{uuid.uuid4().hex}"
    runner = workflow_runner()
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[JobWorkflow],
        activities=script.activities(),
        workflow_runner=runner,
        max_cached_workflows=cached,
        graceful_shutdown_timeout=timedelta(seconds=1),
    )
    async with worker:
        handle = await client.start_workflow(
            JobWorkflow.run,
            JobInput(state=state, queue=queue, **given),
            id=f"{job_workflow_id(state.tenant, state.job)}-{uuid.uuid4().hex}",
            task_queue=queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        )
        yield Running(client, handle, script)
