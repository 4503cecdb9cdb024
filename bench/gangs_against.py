"""The same gangs for the same nodes with Kueue instead of our control plane, on a cluster of its own."""

import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from bench import gangs_kueue
from bench.cluster_rig import PLACE
from bench.cluster_watching import events, opened
from bench.cluster_witness import Witness, witness
from bench.gangs_bare import Ground, bare_round, job
from bench.gangs_pods import all_run_at, wholeness
from bench.gangs_rig import GPUS, SUBMITTERS, WITH_GPUS, WITHIN
from bench.gangs_throughput import PODS, summary
from bench.harness import say
from tests.support.cluster import TestCluster, running_cluster
from tests.support.polling import eventually


def against_throughput(nodes: int, gangs: int, seconds: float) -> dict[str, Any]:
    """All are made at once, suspended, and a gang's pods begin when it is admitted."""
    with _field(nodes) as (cluster, ground, seen):
        say(f"{gangs} Jobs in a queue of Kueue")
        before = gangs_kueue.processor(cluster)
        made = bare_round(ground, "gang", gangs, PODS, seconds)
        spent = gangs_kueue.processor(cluster)
        return {
            "kueue": gangs_kueue.version(),
            **summary(nodes, [made], seconds),
            "wholeness": wholeness(seen.sightings(), made.jobs, PODS),
            "processor_seconds": {name: round(used - before[name], 1) for name, used in spent.items()},
        }


def against_preempt(nodes: int) -> dict[str, Any]:
    """Full nodes, and a gang of a higher class that needs a quarter of them."""
    wanted = max(1, nodes // 4)
    with _field(nodes) as (_, ground, seen), opened(ground.state) as http:
        low, high = (_of_class(ground, name) for name in (gangs_kueue.LOW, gangs_kueue.HIGH))
        names = [f"low-{number}" for number in range(nodes)]
        with ThreadPoolExecutor(SUBMITTERS) as hands:
            list(hands.map(lambda name: ground.space.api.post(ground.space.jobs, job(low, name, 1, None)), names))
        eventually(lambda: _running(seen, names) == nodes, WITHIN, "all nodes are taken")
        say(f"{nodes} nodes are full; a gang of {wanted} pods is made")
        changes = events(http, f"{gangs_kueue.BASE}/namespaces/{ground.space.name}/workloads")
        next(changes)
        submitted = time.time()
        made = ground.space.api.post(ground.space.jobs, job(high, "urgent", wanted, None))
        admitted = next(each.at for each in changes if is_admitted(each.object, made["metadata"]["uid"]))
        running = eventually(lambda: all_run_at(seen.sightings().get("urgent", []), wanted), WITHIN, "the gang runs")
        return {
            "kueue": gangs_kueue.version(),
            "nodes": nodes,
            "gang_pods": wanted,
            "victims": nodes - _running(seen, names),
            "admitted_after_seconds": round(admitted - submitted, 2),
            "all_pods_run_after_seconds": round(running - submitted, 2),
        }


@contextmanager
def _field(nodes: int) -> Iterator[tuple[TestCluster, Ground, Witness]]:
    place = secrets.token_hex(4)
    with ExitStack() as held:
        say("starting a cluster for Kueue")
        cluster = held.enter_context(running_cluster(real=False))
        held.enter_context(cluster.simulated_nodes(nodes, WITH_GPUS, {PLACE: place}))
        space = held.enter_context(cluster.namespace())
        folder = cluster.cluster.layout.folder
        quota = {"cpu": f"{nodes * 32}", "memory": f"{nodes * 256}Gi", "nvidia.com/gpu": f"{nodes * GPUS}"}
        held.enter_context(gangs_kueue.kueue(cluster, space.name, quota))
        seen = held.enter_context(witness(folder, space.name, folder))
        yield cluster, Ground(folder, space, place, gangs_kueue.IN_QUEUE), seen


def _running(seen: Witness, names: list[str]) -> int:
    """How many of these Jobs, of one pod each, have a pod that was last seen to run."""
    told = seen.sightings()
    return sum(1 for name in names if told.get(name) and told[name][-1].phase == "Running")


def _of_class(ground: Ground, name: str) -> Ground:
    return replace(ground, held_by={**ground.held_by, gangs_kueue.PRIORITY: name})


def is_admitted(workload: dict[str, Any], job: str) -> bool:
    owners = {owner["uid"] for owner in workload["metadata"].get("ownerReferences", ())}
    return job in owners and gangs_kueue.holds(workload, "Admitted")
