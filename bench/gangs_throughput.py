"""Many gangs at once for a few nodes: how many are done in a second, and how much of that time the GPUs were useful."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench.cluster_rounds import Round
from bench.cluster_witness import witness
from bench.gangs_bare import Ground, bare_round
from bench.gangs_decisions import decided, durable_at, rounds
from bench.gangs_pods import wholeness
from bench.gangs_rig import GPUS, Field
from bench.harness import say, spread

PODS = 2  # of a gang, each on a node of its own


def throughput(field: Field, gangs: int, seconds: float) -> dict[str, Any]:
    """Half of the bare Jobs, ours, and the other half, so that a machine that others use changes both."""
    rig, half = field.rig, gangs // 2
    ground = Ground(rig.state, rig.bare, rig.place)
    with witness(rig.state, rig.bare.name, rig.stack.home.parent) as seen:
        say(f"{half} bare Jobs")
        bare = [bare_round(ground, "first", half, PODS, seconds)]
        say(f"{gangs} gangs through the control plane")
        before = rig.processor()
        own, submitted = own_round(field, gangs)
        spent = _less(rig.processor(), before)
        say(f"{gangs - half} bare Jobs")
        bare.append(bare_round(ground, "second", gangs - half, PODS, seconds))
        bare_pods = wholeness(seen.sightings(), [name for each in bare for name in each.jobs], PODS)
    say("reading histories")
    made = [each for each in asyncio.run(rounds(rig.stack)) if 0 <= each.begun - own.began <= own.seconds]
    ours, plain = summary(field.nodes, (own,), seconds), summary(field.nodes, bare, seconds)
    return {
        "gangs": gangs,
        "ours": {
            **ours,
            "submitting_seconds": round(submitted, 1),
            **_held(field, own),
            "wholeness": wholeness(rig.witness.sightings(), own.jobs, PODS),
            "decisions": decided(made),
            "queued_to_durable_seconds": _waits(field, own, durable_at(field.decisions_of("placed"), made)),
            "processor_seconds": {name: round(used, 1) for name, used in spent.items() if used >= 0.1},
        },
        "bare": {**plain, "wholeness": bare_pods},
        "ratio": round(ours["jobs_per_second"] / plain["jobs_per_second"], 3),
    }


def own_round(field: Field, gangs: int) -> tuple[Round, float]:
    """All are submitted at once, and each succeeds; also how many seconds it took to submit them."""
    began, mark = time.time(), time.perf_counter()
    jobs = field.submit([f"gang-{number}" for number in range(gangs)], PODS, GPUS)
    submitted = time.perf_counter() - mark
    field.until(jobs, "Succeeded")
    return Round(jobs, gangs, began, time.perf_counter() - mark), submitted


def summary(nodes: int, made: Sequence[Round], seconds: float) -> dict[str, float]:
    """`useful_gpu_percent`: GPUs times the seconds that pods are to run, of all GPUs over the whole time."""
    count, wall = sum(each.count for each in made), sum(each.seconds for each in made)
    useful = count * PODS * GPUS * seconds / (nodes * GPUS * wall)
    return {
        "wall_seconds": round(wall, 1),
        "jobs_per_second": round(count / wall, 2),
        "useful_gpu_percent": round(100 * useful, 1),
    }


def _held(field: Field, own: Round) -> dict[str, Any]:
    """GPUs that were given to gangs, whether their pods ran or not, and how soon after that each was over."""
    placed, ended = field.events("placed"), field.ended()
    held = [ended[job] - placed[job] for job in own.jobs]
    share = sum(held) * PODS * GPUS / (field.nodes * GPUS * own.seconds)
    return {"held_gpu_percent": round(100 * share, 1), "placed_to_over_seconds": spread(held)}


def _waits(field: Field, own: Round, durable: Mapping[str, float]) -> dict[str, float] | None:
    queued = field.events("queued")
    found = [durable[job] - queued[job] for job in own.jobs if job in durable]
    return spread(found) if found else None


def _less(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    return {name: used - before.get(name, 0.0) for name, used in after.items()}
