"""Plain Jobs of the same pods: what the API server and its own scheduler do with them when nobody holds them back, or
with another controller that does."""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bench.cluster_rig import PLACE, RUN_FOR
from bench.cluster_rounds import Round, completed
from bench.cluster_watching import events, opened
from bench.cluster_witness import JOB
from bench.gangs_rig import GPUS, SUBMITTERS
from tests.support.cluster import Namespace


@dataclass(frozen=True)
class Ground:
    """Where plain Jobs are made. `state`: the folder of the cluster; `place`: the label of its nodes; `held_by`: labels
    by which a controller knows Jobs of its own, which are made suspended; none where nobody holds them back."""

    state: Path
    space: Namespace
    place: str
    held_by: Mapping[str, str] = field(default_factory=dict)


def bare_round(ground: Ground, stem: str, count: int, pods: int, seconds: float) -> Round:
    """All are made at once; over when the last is complete. They are deleted afterwards, outside of that time."""
    names = [f"{stem}-{number}" for number in range(count)]
    began, mark = time.time(), time.perf_counter()
    with opened(ground.state) as http, ThreadPoolExecutor(SUBMITTERS) as hands:
        changes = events(http, ground.space.jobs)
        next(changes)
        making = [
            hands.submit(ground.space.api.post, ground.space.jobs, job(ground, name, pods, seconds)) for name in names
        ]
        for each in making:
            each.add_done_callback(lambda done: http.close() if done.exception() else None)  # the watch ends with it
        try:
            over = list(completed(changes, count))
        except httpx.HTTPError:
            for each in making:
                each.result()  # raises what is the cause of the other
            raise
    took = time.perf_counter() - mark
    ground.space.api.delete(ground.space.jobs, propagationPolicy="Background")
    return Round(over, count, began, took)


def job(ground: Ground, name: str, pods: int, seconds: float | None) -> dict[str, Any]:
    """Its pods run for `seconds`, or until they are told to end."""
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(GPUS)}
    container = {
        "name": "main",
        "image": "perdure.test/train:1",
        "resources": {"requests": amounts, "limits": amounts},
    }
    labels = {JOB: name, **({} if seconds is None else {RUN_FOR: f"{seconds:g}s"})}
    pod = {"restartPolicy": "Never", "nodeSelector": {PLACE: ground.place}, "containers": [container]}
    return {
        "metadata": {"name": name, "labels": dict(ground.held_by)},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "suspend": bool(ground.held_by),
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
