"""From a pod's change to the workflow's knowledge: the witness's times beside those in the workflows' histories."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from bench.cluster_witness import Sighting
from bench.harness import spread
from definitions.ids import job_workflow_id
from tests.support.stack import Stack

TENANT = "default"
AT_ONCE = 8
PHASES = {"running": "Running", "ended": "Succeeded"}


class Told(NamedTuple):
    """A signal in a workflow's history. The times are the engine's, seconds since the epoch."""

    what: str
    at: float  # when the engine had it, from when on it cannot be lost
    acted: float | None  # when the workflow had decided what follows from it


async def told(stack: Stack, jobs: Sequence[str]) -> dict[str, list[Told]]:
    """What each job's workflow was told of its attempts, in order."""
    engine = await Client.connect(stack.temporal_address)
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(job: str) -> list[Told]:
        async with turns:
            history = await engine.get_workflow_handle(job_workflow_id(TENANT, job)).fetch_history()
        return _signals(list(history.events))

    return dict(zip(jobs, await asyncio.gather(*map(one, jobs)), strict=True))


def latencies(known: dict[str, list[Told]], seen: dict[str, list[Sighting]], pods: int) -> dict[str, Any]:
    """Seconds from when the last pod of a gang was seen to run, or to end, until its workflow was told, and acted."""
    found: dict[str, Any] = {}
    for what, phase in PHASES.items():
        until_told, until_acted, otherwise = [], [], 0
        for job, signals in known.items():
            at = {each.pod: each.at for each in seen[job] if each.phase == phase}
            signal = next((each for each in signals if each.what == what), None)
            if signal is None or signal.acted is None or len(at) < pods:
                otherwise += 1
                continue
            until_told.append(signal.at - max(at.values()))
            until_acted.append(signal.acted - max(at.values()))
        found[what] = {
            "told_seconds": spread(until_told) if until_told else None,
            "acted_seconds": spread(until_acted) if until_acted else None,
            "samples": len(until_told),
            "known_otherwise": otherwise,
        }
    return found


def _signals(events: list[HistoryEvent]) -> list[Told]:
    decided = [
        (event.event_id, _time(event)) for event in events if event.HasField("workflow_task_completed_event_attributes")
    ]
    found = []
    for event in events:
        signal = event.workflow_execution_signaled_event_attributes
        if signal.signal_name != "report":  # of other events it is empty
            continue
        (payload,) = signal.input.payloads
        seen = json.loads(payload.data)["observation"]
        what = "ended" if seen["ended"] else "running" if seen.get("running_since") else "waits"
        acted = next((at for number, at in decided if number > event.event_id), None)
        found.append(Told(what, _time(event), acted))
    return found


def _time(event: HistoryEvent) -> float:
    return event.event_time.seconds + event.event_time.nanos / 1e9
