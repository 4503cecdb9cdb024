"""The trace `openb`: 8,152 pods that a production cluster was asked for in 149 days, and its 1,213 nodes with GPUs."""

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

from policies.scheduling.model import Node, Request, Role, Shape
from simulator.trace import Job, Trace, in_order

NODES = "openb_node_list_gpu_node.csv"
PODS = "openb_pod_list_default.csv"
MIB = 2**20
PRIORITIES = {"LS": 100, "Guaranteed": 100, "Burstable": 50, "BE": 0}  # latency-sensitive and guaranteed ones first


def openb(folder: Path) -> Trace:
    """Read the trace and its nodes. A pod's class of service is its queue, and says its priority.

    It runs as long as it did there: from being scheduled (created, where it never was) until it was deleted.
    Raises FileNotFoundError without the data.
    """
    nodes = tuple(_node(row) for row in _rows(folder / NODES))
    return Trace("openb", in_order([_job(row) for row in _rows(folder / PODS)]), nodes)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    """Lines of a CSV file, which may be there with .gz behind its name."""
    packed = path.with_name(f"{path.name}.gz")
    if packed.is_file():
        with gzip.open(packed, "rt", encoding="utf-8") as file:
            yield from csv.DictReader(file)
    else:
        with path.open(encoding="utf-8") as file:
            yield from csv.DictReader(file)


def _node(row: dict[str, str]) -> Node:
    sizes = int(row["cpu_milli"]), int(row["memory_mib"]) * MIB, int(row["gpu"])
    return Node(row["sn"], *sizes, row["model"], simulated=True)


def _job(row: dict[str, str]) -> Job:
    gpus = int(row["num_gpu"])
    shape = Shape(
        cpu=int(row["cpu_milli"]),
        memory=int(row["memory_mib"]) * MIB,
        gpus=gpus,
        share=int(row["gpu_milli"]) if gpus else 1000,
        gpu_models=tuple(sorted(row["gpu_spec"].split("|"))) if row["gpu_spec"] else (),
    )
    created = int(row["creation_time"])
    begun = int(row["scheduled_time"] or created)
    qos = row["qos"]
    request = Request(row["name"], qos, (Role("pod", 1, shape),), submitted=created, priority=PRIORITIES[qos])
    return Job(request, int(row["deletion_time"]) - begun)
