"""What a cluster is asked for over time: gangs with the moments at which they arrive, and how long each really runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from policies.scheduling.model import WHOLE, Node, Request, Role


@dataclass(frozen=True, slots=True)
class Job:
    """A gang as a trace has it. `seconds`: that it needs from start to end, undisturbed; planners never see it.

    `priority_class`: as it is named, empty for none. `longest_wait`: seconds that its class lets it wait.
    """

    request: Request
    seconds: int
    priority_class: str = ""
    longest_wait: int | None = None


@dataclass(frozen=True)
class Trace:
    """Jobs in order of arrival. `nodes`: the cluster that the trace was recorded on, where it says so."""

    name: str
    jobs: tuple[Job, ...]
    nodes: tuple[Node, ...] = ()

    @cached_property
    def queues(self) -> tuple[str, ...]:
        return tuple(sorted({job.request.queue for job in self.jobs}))


def in_order(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """By arrival; jobs of one moment stay as they are."""
    return tuple(sorted(jobs, key=lambda job: job.request.submitted))


def first(trace: Trace, jobs: int) -> Trace:
    """Only so many jobs, the first to arrive."""
    return replace(trace, jobs=trace.jobs[:jobs])


def loaded(trace: Trace, load: float) -> Trace:
    """The same jobs at `load` times the rate: 2 makes them arrive in half the time."""
    jobs = [
        replace(job, request=replace(job.request, submitted=round(job.request.submitted / load))) for job in trace.jobs
    ]
    return replace(trace, jobs=tuple(jobs))


def declared(trace: Trace, overstated: float, seed: int) -> Trace:
    """Jobs without a limit declare one: their run time times a number drawn evenly from 1 to `overstated`.

    Nothing is drawn for 1, which declares the exact time.
    """
    draw = Random(seed)
    jobs = []
    for job in trace.jobs:
        if job.request.limit is None:
            factor = draw.uniform(1, overstated) if overstated > 1 else 1
            job = replace(job, request=replace(job.request, limit=max(1, round(job.seconds * factor))))
        jobs.append(job)
    return replace(trace, jobs=tuple(jobs))


def milli_gpus(roles: Sequence[Role]) -> int:
    """What a gang holds of GPUs, in parts of 1/1000."""
    return sum(role.count * role.shape.gpus * role.shape.share for role in roles)


def node_gpus(nodes: Sequence[Node]) -> int:
    """GPUs of a cluster, in parts of 1/1000."""
    return WHOLE * sum(node.gpus for node in nodes)
