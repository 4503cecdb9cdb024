"""Traces of one's own, as CSV with a heading or JSON lines. Every fault has its file, line and column."""

from pathlib import Path
from typing import Any

from policies.scheduling.model import WHOLE, Request, Role, Shape
from simulator.cells import cpus, gpus, moment, size, text, whole
from simulator.rows import Column, Faults, read
from simulator.trace import Job, Trace, in_order

NO_QUEUE = "default"  # of jobs that name none, until documents say which one they wait in
COLUMNS = (
    Column("id", text, needed=True),
    Column("submitted", moment, needed=True),
    Column("queue", text, NO_QUEUE),
    Column("priority", whole(-(10**9)), 0),
    Column("priorityClass", text, ""),
    Column("reservation", text, ""),
    Column("nodes", whole(1, 100_000), 1),
    Column("gpus", gpus, (0, WHOLE)),
    Column("gpuModel", text, ""),
    Column("cpus", cpus, 0),
    Column("memory", size, 0),
    Column("seconds", whole(0), needed=True),
    Column("limit", whole(1)),
)


def trace_file(path: Path, shown: str) -> Trace:
    """Read a trace. A job is `nodes` pods, each with `gpus`, `cpus` and `memory`; `gpuModel` may name several, with |
    between. `seconds` is how long the job runs, `limit` after how many it is stopped. Raises PD-4014 with every fault.
    """
    faults = Faults(shown)
    lines: dict[str, int] = {}
    jobs = []
    for line, values in read(path, shown, COLUMNS, faults):
        identity = values["id"]
        if identity in lines:
            faults.add(line, 1, f"{identity} is in line {lines[identity]} already", "give each job an id of its own")
            continue
        lines[identity] = line
        jobs.append(_job(values))
    if not jobs and not faults.count:
        faults.add(1, 1, "there is no job in the file", "write one line for each job")
    faults.settle()
    return Trace(path.stem, in_order(jobs))


def _job(values: dict[str, Any]) -> Job:
    devices, share = values["gpus"]
    models = tuple(sorted(name.strip() for name in values["gpuModel"].split("|") if name.strip())) if devices else ()
    shape = Shape(values["cpus"], values["memory"], devices, share, models)
    request = Request(
        values["id"],
        values["queue"],
        (Role("worker", values["nodes"], shape),),
        submitted=values["submitted"],
        priority=values["priority"],
        limit=values["limit"],
        reservation=values["reservation"] or None,
    )
    return Job(request, values["seconds"], values["priorityClass"])
