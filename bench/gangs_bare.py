"""Plain Jobs of the same pods, which nobody holds back: what the API server and its own scheduler do with them."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from bench.cluster_rig import PLACE, RUN_FOR, Rig
from bench.cluster_rounds import Round, completed
from bench.cluster_watching import events, opened
from bench.cluster_witness import JOB
from bench.gangs_rig import GPUS, SUBMITTERS


def bare_round(rig: Rig, stem: str, count: int, pods: int, seconds: float) -> Round:
    """All are made at once; over when the last is complete. They are deleted afterwards, outside of that time."""
    names = [f"{stem}-{number}" for number in range(count)]
    began, mark = time.time(), time.perf_counter()
    with opened(rig.state) as http, ThreadPoolExecutor(SUBMITTERS) as hands:
        changes = events(http, rig.bare.jobs)
        next(changes)
        making = [hands.submit(rig.bare.api.post, rig.bare.jobs, _job(rig, name, pods, seconds)) for name in names]
        for each in making:
            each.add_done_callback(lambda done: http.close() if done.exception() else None)  # the watch ends with it
        try:
            over = list(completed(changes, count))
        except httpx.HTTPError:
            for each in making:
                each.result()  # raises what is the cause of the other
            raise
    took = time.perf_counter() - mark
    rig.bare.api.delete(rig.bare.jobs, propagationPolicy="Background")
    return Round(over, count, began, took)


def _job(rig: Rig, name: str, pods: int, seconds: float) -> dict[str, Any]:
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(GPUS)}
    container = {
        "name": "main",
        "image": "perdure.test/train:1",
        "resources": {"requests": amounts, "limits": amounts},
    }
    labels = {JOB: name, RUN_FOR: f"{seconds:g}s"}
    pod = {"restartPolicy": "Never", "nodeSelector": {PLACE: rig.place}, "containers": [container]}
    return {
        "metadata": {"name": name},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
