"""Record histories of JobWorkflow: `python -m tests.replay.record NAME…`, for new names only."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from definitions.attempt import StoppedBy
from definitions.facts import JobEnded, Verb
from definitions.ids import job_workflow_id
from definitions.job_order import Awaited
from definitions.job_relations import Outcome
from definitions.job_state import JobState, RetryRules, Sizes
from definitions.places import Ticket
from definitions.pod_needs import PodNeeds
from definitions.states import Phase
from tests.replay.recording import Recorder
from tests.support.jobs import NOW, asked, checkpoint, new_state, places, rank
from tests.support.polling import eventually_async
from tests.support.scripted import NeverLaunches, Running, Script, WaitsForPods, job_on_engine
from workers.operator import TemporalJobOperator
from workflows.job import JobWorkflow

FOLDER = Path(__file__).parent / "histories"
QUICK = RetryRules(limit=30, first_delay=timedelta(milliseconds=1))
OK = (rank(0),)
KILLED = (rank(0, exit_code=None, signal=9),)
STOPPED = (rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST),)

FIRST_ENDED = JobEnded(job="f" * 26, name="first", phase=Phase.FAILED, at=NOW)
OTHER_ENDED = JobEnded(job="0" * 26, name="other", phase=Phase.SUCCEEDED, at=NOW)
AFTER = (
    Awaited(job=FIRST_ENDED.job, name="first", outcome=Outcome.FINISHED),
    Awaited(job=OTHER_ENDED.job, name="other"),
)

Play = Callable[[Running], Awaitable[None]]


async def happy(run: Running) -> None:
    await attempts(run, 1)


async def retry(run: Running) -> None:
    await attempts(run, 3)


async def cancel(run: Running) -> None:
    await run.until(running(1))
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.CANCEL, reason="wrong data"))
    await run.attempt_ends()


async def suspend_resume(run: Running) -> None:
    await run.until(running(1))
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.SUSPEND))
    await run.attempt_ends()
    await run.until(lambda state: state.phase is Phase.SUSPENDED)
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESUME, "r2"))
    await run.until(running(2))
    await run.attempt_ends()


async def requests(run: Running) -> None:
    await run.until(running(1))
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.CHECKPOINT))
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.EXTEND, "r2", extend_by=timedelta(hours=1)))
    await run.attempt_ends()


async def continue_as_new(run: Running) -> None:
    await attempts(run, 12)


async def launch_refused(run: Running) -> None:
    await run.handle.result()


async def safety_poll(run: Running) -> None:
    await run.handle.result()


async def launch_stopped(run: Running) -> None:
    await eventually_async(lambda: run.script.launched)
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.CANCEL))


async def engine_cancel(run: Running) -> None:
    await run.until(running(1))
    await run.handle.cancel()
    await run.until(lambda state: state.phase is Phase.CANCELLING)
    await run.attempt_ends()


async def pods_wait(run: Running) -> None:
    """Pods that wait for a node and then for their preparation, are killed, and are suspended while they wait again."""
    await run.until(waiting(1))
    await run.pods_say(note="waits: its pods are being prepared")
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.EXTEND, extend_by=timedelta(hours=1)))
    await run.pods_run()
    await attempts(run, 1)
    await run.until(waiting(2))
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.SUSPEND, "r2"))
    await run.attempt_ends()
    await run.until(lambda state: state.phase is Phase.SUSPENDED)
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESUME, "r3"))
    await run.until(waiting(3))
    await run.pods_run()
    await run.until(running(3))
    await run.attempt_ends()


async def busy(run: Running) -> None:
    """Four people who never stop asking, until the job sends them away to continue as new."""
    await run.until(running(1))
    operator = TemporalJobOperator(run.client, timedelta(minutes=1))
    job = run.handle.id.removeprefix(job_workflow_id("default", ""))

    async def person(name: int) -> None:
        for number in range(10):
            await operator.request("default", job, asked(Verb.CHECKPOINT, f"p{name}-{number}"))

    await asyncio.gather(*(person(name) for name in range(4)))
    await run.attempt_ends()


async def queued(run: Running) -> None:
    """Places, word to leave them, suspension while it waits for others, a new priority, and places again."""
    await run.placed("node-1")
    await run.until(running(1))
    await run.displaced()
    await run.until(lambda state: state.phase is Phase.SUSPENDING)
    await run.attempt_ends()
    late = await run.placed("node-2", attempt=1)  # of the attempt before: nothing happens
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.SUSPEND))
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESUME, "r2"))
    await run.handle.signal(JobWorkflow.place, places(late, "node-3"))  # given up by the suspension
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.REPRIORITISE, "r3", priority=90))
    await run.placed("node-4")
    await attempts(run, 1, first=2)
    await run.placed("node-5")  # after a back-off
    await attempts(run, 1, first=3)


async def ordered(run: Running) -> None:
    """One job is found by looking, and the other is heard of, twice, while this one is suspended."""
    await run.until(lambda state: state.reason == "waits for job other to succeed")
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.SUSPEND))
    await run.hears(OTHER_ENDED, OTHER_ENDED)
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESUME, "r2"))
    await attempts(run, 1)


async def never_begins(run: Running) -> None:
    await run.until(lambda state: state.phase is Phase.PENDING and bool(state.event_count))
    await run.hears(OTHER_ENDED.model_copy(update={"phase": Phase.CANCELLED}))


async def resized(run: Running) -> None:
    """It starts on two of four nodes, grows to four, and is resized: while it runs, and while it waits."""
    await run.placed("node-1", "node-2")
    await run.until(running(1))
    await run.displaced("grows from 2 to 4 nodes", resizes=True)
    await run.until(lambda state: state.phase is Phase.SUSPENDING)
    await run.attempt_ends()
    await run.placed("node-1", "node-2", "node-3", "node-4")
    await run.until(running(2))
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESIZE, nodes=3))
    await run.attempt_ends()
    await run.until(lambda state: state.phase is Phase.QUEUED)
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESIZE, "r2", nodes=1))
    await run.placed("node-1")
    await attempts(run, 1, first=3)


async def resized_at_once(run: Running) -> None:
    """Where there are no queues."""
    await run.until(running(1))
    await run.handle.execute_update(JobWorkflow.request, asked(Verb.RESIZE, nodes=2))
    await run.attempt_ends()
    await attempts(run, 1, first=2)


def _looking(*ends: JobEnded) -> Script:
    script = Script(OK)
    script.ends = ends
    return script


PLAYS: dict[str, tuple[Play, Script]] = {
    "happy": (happy, Script(OK)),
    "retry": (retry, Script(KILLED, KILLED, OK, checkpoints={2: (checkpoint(30),)})),
    "cancel": (cancel, Script(STOPPED)),
    "suspend-resume": (suspend_resume, Script(STOPPED, OK, checkpoints={1: (checkpoint(40),)})),
    "requests": (requests, Script(OK)),
    "continue-as-new": (continue_as_new, Script(*[KILLED] * 11, OK)),
    "launch-refused": (launch_refused, Script("no secret named TOKEN")),
    "safety-poll": (safety_poll, Script(OK)),
    "launch-stopped": (launch_stopped, NeverLaunches(STOPPED)),
    "engine-cancel": (engine_cancel, Script(STOPPED)),
    "busy": (busy, Script(OK)),
    "pods-wait": (pods_wait, WaitsForPods(KILLED, STOPPED, OK)),
    "queued": (queued, Script(STOPPED, KILLED, OK, checkpoints={1: (checkpoint(40),)})),
    "resized": (resized, Script(STOPPED, STOPPED, OK, checkpoints={1: (checkpoint(40),), 2: (checkpoint(60),)})),
    "resized-at-once": (resized_at_once, Script(STOPPED, OK, checkpoints={1: (checkpoint(40),)})),
    "ordered": (ordered, _looking(FIRST_ENDED)),
    "never-begins": (never_begins, Script()),
}


async def attempts(run: Running, count: int, first: int = 1) -> None:
    for number in range(first, first + count):
        await run.until(running(number))
        await run.attempt_ends()


def running(attempt: int) -> Callable[[JobState], bool]:
    return lambda state: state.phase is Phase.RUNNING and state.attempt == attempt


def waiting(attempt: int) -> Callable[[JobState], bool]:
    """Launched, and told so: the launch's own words are the reason."""
    return lambda state: state.phase is Phase.STARTING and state.attempt == attempt and state.reason.startswith("waits")


async def play(name: str, client: Client) -> WorkflowHandle[Any, Any]:
    """Run one scene to its end."""
    scene, script = PLAYS[name]
    poll = timedelta(milliseconds=200) if name in ("safety-poll", "ordered") else timedelta(minutes=2)
    launch = {"pod": PodNeeds()} if name == "pods-wait" else {}
    ticket = Ticket(queue="research") if name in ("queued", "resized") else None
    sizes = Sizes(least=1, most=4, asked=4, ceiling=4) if name.startswith("resized") else None
    after = AFTER if name in ("ordered", "never-begins") else ()
    state = new_state(
        f"job-{uuid.uuid4().hex[:8]}", retry=QUICK, timeout=timedelta(days=1), launch=launch, ticket=ticket,
        after=after, sizes=sizes,
    )  # fmt: skip
    async with job_on_engine(client, state, script, safety_poll=poll) as run:
        await scene(run)
        await run.handle.result()
        return run.handle


RECORDER = Recorder(FOLDER, PLAYS, play, long=("continue-as-new", "busy"))

if __name__ == "__main__":
    RECORDER.main()
