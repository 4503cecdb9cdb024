"""Record histories of ArrayWorkflow: `python -m tests.replay.record_arrays NAME…`, for new names only."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from definitions.facts import Verb
from definitions.job_order import Awaited
from definitions.states import Phase
from policies.index_ranges import size
from tests.replay.recording import Recorder
from tests.support.array_world import array_state, end_of
from tests.support.jobs import asked
from tests.support.scripted_array import ArrayScript, RunningArray, array_on_engine
from workflows.array import ArrayWorkflow

FOLDER = Path(__file__).parent / "array_histories"
PREPARE = end_of(array_state(0, job="0" * 26, name="prepare"), 0)
WAITS = Awaited(job=PREPARE.job, name="prepare")
Play = Callable[[RunningArray], Awaitable[None]]


async def plain(run: RunningArray) -> None:
    """One fails, and word of another comes twice."""
    await run.ends(0)
    await run.ends(1, Phase.FAILED)
    await run.ends(2, said=2)
    await run.ends(3)
    await run.ends(4)


async def requests(run: RunningArray) -> None:
    """Suspended, resumed, extended, moved forward, asked to save, and cancelled while nobody can hear it at first."""
    await run.until(lambda state: size(state.open) == 2)
    await ask(run, Verb.SUSPEND, "r1")
    await run.until(lambda state: state.phase is Phase.SUSPENDED)
    await ask(run, Verb.RESUME, "r2")
    await ask(run, Verb.EXTEND, "r3", extend_by=timedelta(hours=1))
    await ask(run, Verb.REPRIORITISE, "r4", priority=70)
    await ask(run, Verb.CHECKPOINT, "r5")
    await run.until(lambda state: not state.telling)
    run.script.deaf = 1
    await ask(run, Verb.CANCEL, "r6")
    await run.until(lambda state: not state.telling)
    await run.ends(0, Phase.CANCELLED)
    await run.ends(1, Phase.CANCELLED)


async def looked(run: RunningArray) -> None:
    """No word of any end arrives."""
    for index in range(5):
        await run.ends(index, said=0)


async def waits(run: RunningArray) -> None:
    """Another job has to end first; word of it is lost."""
    await run.until(lambda state: state.phase is Phase.PENDING and bool(state.events) is False)
    run.script.others[PREPARE.job] = PREPARE
    await looked(run)


async def continued(run: RunningArray) -> None:
    for index in range(20):
        await run.ends(index)


async def engine_cancel(run: RunningArray) -> None:
    await run.until(lambda state: size(state.open) == 2)
    await run.handle.cancel()
    await run.until(lambda state: state.phase is Phase.CANCELLING and not state.telling)
    await run.ends(0, Phase.CANCELLED)
    await run.ends(1)


async def suspended(run: RunningArray) -> None:
    await run.until(lambda state: state.phase is Phase.SUSPENDED)
    await ask(run, Verb.RESUME, "r1")
    await plain(run)


async def ask(run: RunningArray, verb: Verb, name: str, **given: Any) -> None:
    await run.handle.execute_update(ArrayWorkflow.request, asked(verb, name, **given), id=name)


SOON = {"poll": timedelta(milliseconds=200)}
PLAYS: dict[str, tuple[Play, dict[str, Any]]] = {
    "plain": (plain, {}),
    "requests": (requests, {"bounded": True, "queued": True}),
    "looked": (looked, SOON),
    "waits": (waits, SOON | {"after": (WAITS,)}),
    "continued": (continued, {"last": 19}),
    "engine-cancel": (engine_cancel, {}),
    "suspended": (suspended, {"suspended": True}),
}


async def play(name: str, client: Client) -> WorkflowHandle[Any, Any]:
    """Run one scene to its end."""
    scene, given = PLAYS[name]
    async with array_on_engine(client, ArrayScript(), **{"limit": 2, **given}) as run:
        await scene(run)
        await run.handle.result()
        return run.handle


RECORDER = Recorder(FOLDER, PLAYS, play, long=("continued",))

if __name__ == "__main__":
    RECORDER.main()
