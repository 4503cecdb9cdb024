"""Full nodes, and a gang of a higher class that needs a quarter of them: how soon they are its own."""

import asyncio
import time
from typing import Any

from bench.cluster_witness import Sighting
from bench.gangs_decisions import Round, durable_at, rounds
from bench.gangs_pods import all_run_at
from bench.gangs_rig import GPUS, HIGH, LOW, WITHIN, Field
from bench.harness import say
from tests.support.polling import eventually


def preempt(field: Field) -> dict[str, Any]:
    """Simulated pods cannot be asked to save, so they are told to end at once: no time of a checkpoint is in it. Those
    of this part run until then."""
    rig, wanted = field.rig, max(1, field.nodes // 4)
    mark = time.perf_counter()
    low = field.submit([f"low-{number}" for number in range(field.nodes)], 1, GPUS, priorityClass=LOW)
    field.until(low, "Running")
    filled = time.perf_counter() - mark
    say(f"{field.nodes} nodes are full; a gang of {wanted} pods is submitted")
    before, submitted = rig.processor(), time.time()
    [gang] = field.submit(["urgent"], wanted, GPUS, priorityClass=HIGH)
    field.until([gang], "Running")
    running = eventually(lambda: all_run_at(_seen(field, gang), wanted), WITHIN, "all pods of the gang run")
    after = rig.processor()
    displaced = sorted(job for job in field.decisions_of("displaced") if job in set(low))
    eventually(lambda: field.count(displaced, "Queued") == len(displaced), WITHIN, "who was displaced waits again")
    made = asyncio.run(rounds(rig.stack))
    told = _displacing(made, submitted)
    return {
        "nodes": field.nodes,
        "gang_pods": wanted,
        "victims": len(displaced),
        "others_that_went": len(low) - len(displaced) - field.count(low, "Running"),
        "filled_after_seconds": round(filled, 1),
        "victims_told_after_seconds": round(told - submitted, 2),
        "admitted_after_seconds": round(durable_at(field.decisions_of("placed"), made)[gang] - submitted, 2),
        "all_pods_run_after_seconds": round(running - submitted, 2),
        "processor_seconds": {name: round(after[name] - before.get(name, 0.0), 1) for name in after},
    }


def _seen(field: Field, gang: str) -> list[Sighting]:
    return field.rig.witness.sightings().get(gang, [])


def _displacing(made: list[Round], since: float) -> float:
    """When the decision that told the victims was durable."""
    return next(each.done for each in made if each.displaced and each.done >= since)
