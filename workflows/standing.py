"""What workflows of jobs and of arrays share: they outlive the engine's own cancel, and show where they are."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from definitions.facts import Requested, Verb
    from definitions.search_attributes import FAILURE_CLASS, JOB_PHASE
    from definitions.states import FailureClass, Phase
    from policies.job_steps import SYSTEM

T = TypeVar("T")
Shown = tuple[Phase, str]  # phase and reason
ASK_AGAIN = "ask-again"  # type of the error with which a request is sent away for a moment


class Standing(Protocol):
    """Where a job or an array is."""

    @property
    def phase(self) -> Phase: ...
    @property
    def reason(self) -> str: ...
    @property
    def failure(self) -> FailureClass | None: ...


async def outlive_cancel(life: Coroutine[Any, Any, T], asked: Callable[[Requested], None]) -> T:
    """Live to the end. The engine's own cancel (its Web UI has a button) reaches this task alone, and `asked` is told
    what a person's cancel asks: something whose workflow just ended would go on with nobody to look after it."""
    living = asyncio.ensure_future(life)
    while True:
        try:
            return await asyncio.shield(living)
        except asyncio.CancelledError:
            if living.done():
                return await living
            why = "cancelled in the workflow engine"
            asked(Requested(verb=Verb.CANCEL, request_id="engine", actor=SYSTEM, reason=why, at=workflow.now()))


def show(state: Standing, shown: Shown | None) -> Shown:
    """Let the Temporal Web UI alone tell the story. `shown`: what it tells already. Returns what it tells now."""
    now = (state.phase, state.reason)
    if now == shown:
        return now
    workflow.set_current_details(f"**{now[0]}** {now[1]}")
    if shown is None or shown[0] is not now[0]:
        values = [JOB_PHASE.value_set(now[0].value)]
        if state.failure is not None:
            values.append(FAILURE_CLASS.value_set(state.failure.value))
        workflow.upsert_search_attributes(values)
    return now
