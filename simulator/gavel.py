"""The trace `gavel`: 13,716 jobs of 1 to 8 GPUs in 15 queues, with run times on one kind of GPU."""

import csv
import gzip
from functools import cache
from pathlib import Path
from random import Random

from policies.scheduling.model import Request, Role, Shape
from simulator.trace import Job, Trace, in_order

FILE = "msr_seed0_jobs.csv.gz"
BIG = ("16", "32")
LARGEST_NODE = 8
DRAWN = 7  # seed of the run times that the trace lacks


def gavel(folder: Path, *, gpus_per_node: int = LARGEST_NODE, big: bool = False) -> Trace:
    """Read the trace. Jobs of more GPUs than a node has become gangs of whole nodes.

    `big` adds the jobs of 16 and 32 GPUs, for which the trace has no run times: theirs are drawn, always the same, from
    those of jobs with 8. Raises FileNotFoundError without the data.
    """
    with gzip.open(folder / FILE, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    eight = [round(float(row["est_v100_s"])) for row in rows if row["gpus"] == "8" and row["est_v100_s"]]
    draw = Random(DRAWN)
    jobs = []
    for number, row in enumerate(rows):
        if row["est_v100_s"]:
            seconds = round(float(row["est_v100_s"]))
        elif big and row["gpus"] in BIG:
            seconds = draw.choice(eight)
        else:
            continue
        jobs.append(_job(number, row, seconds, gpus_per_node))
    return Trace("gavel", in_order(jobs))


def _job(number: int, row: dict[str, str], seconds: int, per_node: int) -> Job:
    gpus = int(row["gpus"])
    roles = _roles(gpus, -(-gpus // per_node))
    request = Request(f"gavel-{number:05d}", row["vc"], roles, submitted=round(float(row["arrival_s"])))
    return Job(request, seconds)


@cache
def _roles(gpus: int, pods: int) -> tuple[Role, ...]:
    """The same object for all jobs of a size, so that a planner need not compare them to see that they are alike."""
    return (Role("worker", pods, Shape(gpus=gpus // pods)),)
