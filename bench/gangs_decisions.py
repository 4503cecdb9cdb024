"""What a pool was decided for, and when, as the engine's histories of its workflow have it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from bench.cluster_rig import NAME
from bench.harness import spread
from definitions.ids import pool_workflow_id
from tests.support.stack import Stack


class Round(NamedTuple):
    """One call of the activity that decides. Times are the engine's, seconds since the epoch; when it was `done`, what
    it decided was durable and told. `decision`: the pool's last; `placed`, `displaced`: gangs."""

    begun: float
    done: float
    decision: int
    placed: int
    displaced: int


async def rounds(stack: Stack) -> list[Round]:
    """All of them, in order."""
    engine = await Client.connect(stack.temporal_address)
    found: list[Round] = []
    identity = pool_workflow_id(NAME)
    async for run in engine.list_workflows(f"WorkflowId = '{identity}'"):
        history = await engine.get_workflow_handle(identity, run_id=run.run_id).fetch_history()
        found += _rounds(list(history.events))
    return sorted(found)


def decided(made: Sequence[Round]) -> dict[str, Any]:
    """How fast gangs were placed, by the time that the calls took which placed any."""
    placing = [each for each in made if each.placed]
    seconds = sum(each.done - each.begun for each in placing)
    return {
        "rounds": len(made),
        "placed": sum(each.placed for each in placing),
        "seconds_of_placing_rounds": round(seconds, 2),
        "placed_per_second": round(sum(each.placed for each in placing) / seconds, 1) if placing else 0.0,
        "round_seconds": spread([each.done - each.begun for each in made]) if made else None,
    }


def durable_at(decisions: Mapping[str, int], made: Iterable[Round]) -> dict[str, float]:
    """When each job's decision was surely durable: when the call that made it was over."""
    ends = {each.decision: each.done for each in sorted(made, reverse=True)}
    return {job: ends[number] for job, number in decisions.items() if number in ends}


def _rounds(events: Sequence[HistoryEvent]) -> list[Round]:
    begun: dict[int, float] = {}
    found = []
    for event in events:
        if event.HasField("activity_task_started_event_attributes"):
            begun[event.activity_task_started_event_attributes.scheduled_event_id] = _time(event)
        if event.HasField("activity_task_completed_event_attributes"):
            said = event.activity_task_completed_event_attributes
            (payload,) = said.result.payloads
            told = json.loads(payload.data)
            counts = (told.get("decision", 0), told.get("placed", 0), told.get("told", 0))
            found.append(Round(begun[said.scheduled_event_id], _time(event), *counts))
    return found


def _time(event: HistoryEvent) -> float:
    return event.event_time.seconds + event.event_time.nanos / 1e9
