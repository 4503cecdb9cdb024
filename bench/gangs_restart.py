"""SIGKILL to every process of the control plane while as many jobs run as wait: how soon it decides again."""

import asyncio
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.cluster_rig import RUN_FOR
from bench.cluster_witness import JOB
from bench.gangs_decisions import Round, rounds
from bench.gangs_rig import GPUS, WITHIN, Field
from bench.harness import say
from tests.support.polling import eventually

ENDING = 10  # jobs whose pods end while nobody watches
AWAY = 2.0  # seconds between the kill and the next start


def restart(field: Field, running: int) -> dict[str, Any]:
    """`running` jobs fill all nodes, and as many wait. Pods of this part run until they are told to end."""
    rig, gpus = field.rig, field.nodes * GPUS // running
    jobs = field.submit([f"runs-{number}" for number in range(running)], 1, gpus)
    field.until(jobs, "Running")
    say(f"{running} jobs run")
    waiting = field.submit([f"waits-{number}" for number in range(running)], 1, gpus)
    field.until(waiting, "Queued")
    say(f"{running} jobs wait; killing the control plane")
    ending = jobs[: min(ENDING, running)]
    _kill(field)
    _let_end(field, ending)
    time.sleep(AWAY)  # so that their ends are older than the start
    started = time.time()
    with ThreadPoolExecutor(1) as hand:
        starting = hand.submit(rig.stack.up)

        def others_have_places() -> bool:
            if starting.done():
                starting.result()  # raises what kept it from starting
            return field.count(waiting, "Queued") <= running - len(ending)

        eventually(others_have_places, WITHIN, "others have their places")
    made = [each for each in asyncio.run(rounds(rig.stack)) if each.done > started]
    return {
        "running": running,
        "waiting": running,
        "first_decision_after_seconds": _after(made, started, 0),
        "first_placement_after_seconds": _after(made, started, 1),
        "places_of_all_that_ended_after_seconds": _after(made, started, len(ending)),
        "hold_places": field.holding(),
        "phases": dict(Counter(rig.phases().values())),
    }


def _kill(field: Field) -> None:
    """All at once, the cluster's worker too, which its keeper starts again."""
    mine = field.rig.stack.everything()
    for process in mine:
        process.kill()
    eventually(lambda: not any(process.alive() for process in mine), 30, "nothing of it lives")


def _let_end(field: Field, jobs: list[str]) -> None:
    space = field.rig.space
    pods = [pod["metadata"]["name"] for pod in space.pods(labelSelector=f"{JOB} in ({','.join(jobs)})")]
    body = {"metadata": {"annotations": {RUN_FOR: "1ms"}}}
    with ThreadPoolExecutor(4) as hands:
        for _ in hands.map(lambda name: space.api.patch(f"{space.path}/pods/{name}", body), pods):
            pass


def _after(made: list[Round], started: float, placed: int) -> float | None:
    """Seconds from the start until so many gangs had been placed since, durably."""
    sum_of = 0
    for each in made:
        sum_of += each.placed
        if sum_of >= placed:
            return round(each.done - started, 2)
    return None
