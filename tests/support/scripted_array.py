"""An array's workflow on a real engine, above jobs that a test ends."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from activities.array import ArrayRecorded, MakeWork, PassWork, RecordWork
from activities.job_ends import LookWork
from definitions.array_state import ArrayInput, ArrayState, Made, Passed
from definitions.facts import EndsFound, JobEnded
from definitions.ids import job_workflow_id, new_id
from definitions.states import Phase
from policies.array_children import child_id
from policies.index_ranges import numbers, span
from tests.support.array_world import array_state, end_of
from tests.support.polling import eventually_async
from workers.workflow_runner import workflow_runner
from workflows.array import ArrayWorkflow


@dataclass
class ArrayScript:
    """What the jobs do. `deaf`: how often nobody can hear a request at first. `over`: index -> how it ended."""

    deaf: int = 0
    made: list[int] = field(default_factory=list)
    asked: list[tuple[str, int]] = field(default_factory=list)  # verb, index
    over: dict[int, JobEnded] = field(default_factory=dict)
    phases: list[Phase] = field(default_factory=list)
    others: dict[str, JobEnded] = field(default_factory=dict)  # jobs that the array waits for

    @activity.defn(name="make_jobs")
    async def make(self, work: MakeWork) -> Made:
        command = work.command
        indexes = [work.state.indexes.at(command.start + place) for place in range(command.count)]
        self.made += indexes
        ended = tuple(self.over[index] for index in indexes if index in self.over)
        return Made(start=command.start, count=command.count, ended=ended)

    @activity.defn(name="pass_on")
    async def pass_on(self, work: PassWork) -> Passed:
        request = work.command.request
        if self.deaf:
            self.deaf -= 1
            return Passed(request_id=request.request_id, done=())
        places = list(numbers(work.command.positions))
        self.asked += [(request.verb.value, work.state.indexes.at(place)) for place in places]
        return Passed(request_id=request.request_id, done=span(places[0], len(places)))

    @activity.defn(name="record_array")
    async def record(self, work: RecordWork) -> ArrayRecorded:
        self.phases.append(work.state.phase)
        return ArrayRecorded(phase=work.state.phase)

    @activity.defn(name="look")
    async def look(self, work: LookWork) -> EndsFound:
        known = {end.job: end for end in self.over.values()} | self.others
        return EndsFound(ends=tuple(known[job] for job in work.jobs if job in known))


@dataclass
class RunningArray:
    client: Client
    handle: WorkflowHandle[ArrayWorkflow, ArrayState]
    start: ArrayState
    script: ArrayScript

    async def state(self) -> ArrayState:
        return await self.handle.query(ArrayWorkflow.state)

    async def until(self, wanted: Callable[[ArrayState], bool]) -> ArrayState:
        async def there() -> ArrayState | None:
            state = await self.state()
            return state if wanted(state) else None

        return await eventually_async(there, 60)

    async def ends(self, index: int, phase: Phase = Phase.SUCCEEDED, *, said: int = 1) -> None:
        """A job ends once it was made; word of it comes `said` times."""
        await eventually_async(lambda: index in self.script.made, 60)
        word = end_of(self.start, index, phase)
        self.script.over[index] = word
        for _ in range(said):
            await self.handle.signal(ArrayWorkflow.heard, word)

    def child(self, index: int) -> str:
        return child_id(self.start.job, index)


@asynccontextmanager
async def array_on_engine(
    client: Client,
    script: ArrayScript,
    last: int = 4,
    *,
    cached: int = 100,
    suspended: bool = False,
    poll: timedelta = timedelta(minutes=2),
    **changes: Any,
) -> AsyncIterator[RunningArray]:
    state = array_state(last, job=new_id(), poll=poll, **changes)
    queue = f"arrays-{uuid.uuid4().hex[:8]}"
    async with Worker(
        client, task_queue=queue, workflows=[ArrayWorkflow], workflow_runner=workflow_runner(),
        activities=[script.make, script.pass_on, script.record, script.look], max_cached_workflows=cached,
    ):  # fmt: skip
        start = ArrayInput(state=state, suspended=suspended)
        name = job_workflow_id(state.tenant, state.job)
        handle = await client.start_workflow(ArrayWorkflow.run, start, id=name, task_queue=queue)
        yield RunningArray(client, handle, state, script)
