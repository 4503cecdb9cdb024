"""What goes in and out of a simulation as JSON. Times and lengths are whole seconds of the simulated cluster."""

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from definitions.wire import Wire


class Model(Wire):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, extra="forbid")


class Spread(Model):
    """p99: of n values in order the one at place `int(0.99 n)`, counted from 0. All are 0 where there are no values."""

    mean: float
    median: float
    p99: float
    max: float


class Promises(Model):
    """What waiting gangs were told of their start, against when they first started; of those that were told anything.

    Errors are without sign. `firm`: gangs that were told a start that leans on declared times alone, which is a promise
    where the others are estimates; `kept`: part of them that started no later than first promised. `slips`: how often a
    gang with a promise was told a later start after it.
    """

    gangs: int
    firm: int
    median_error: float
    p90_error: float
    kept: float
    slips: int


class QueueOutcome(Model):
    """`share`: part of all GPU time that was held. `ratio`: mean of the finish-time ratios of its jobs."""

    queue: str
    jobs: int
    gpu_hours: float
    share: float
    mean_wait: float
    ratio: float


class PolicyOutcome(Model):
    """One policy's run. Jobs that fit nowhere, or that never ended, are counted and are in no other number.

    `use`: part of the cluster's GPU time that was held, from the first arrival to the last end; `use_arriving`: the
    same up to the last arrival. `biggest_gpus`: the largest gang's; `biggest_wait`: mean wait of gangs as large.
    `ratio`: finish-time ratios (see `simulator.fairness`), `worst_queue_ratio` the largest mean of a queue, `jain`
    the index over the queues' means. `overdue`: jobs that waited longer for their first start than their class allows.
    """

    policy: str
    jobs: int
    fits_nowhere: int
    unfinished: int
    stopped_at_limit: int
    wait: Spread
    completion: Spread
    biggest_gpus: float
    biggest_wait: float
    makespan: int
    use: float
    use_arriving: float
    useful_gpu_hours: float
    lost_gpu_hours: float
    evictions: int
    node_losses: int
    ratio: Spread
    worst_queue_ratio: float
    jain: float
    overdue: int
    promises: Promises
    queues: tuple[QueueOutcome, ...]
    rounds: int


class WhatIf(Model):
    """When a job starts as things are, and when if the change were made. None: it never starts."""

    change: str
    job: str
    policy: str
    start: int | None
    changed_start: int | None


class Asked(Model):
    """A simulation as it is asked for. Paths are absolute; `nodes` is a number or a file."""

    trace: str
    policies: tuple[str, ...]
    nodes: int | str | None = None
    gpus_per_node: int = 8
    documents: tuple[str, ...] = ()
    begin: str | None = None  # time with its zone at which second 0 of the trace is
    load: float = 1.0
    limit: int | None = None
    seed: int = 1
    overstated: float = 1.0
    failure_hours: float | None = None  # mean time between losses of a node
    repair_hours: float = 4.0
    report: str | None = None
    what_if: str | None = None
    job: str | None = None


class Answer(Model):
    trace: str
    jobs: int
    nodes: int
    gpus: int
    queues: int
    load: float
    seed: int
    policies: tuple[PolicyOutcome, ...]
    what_if: WhatIf | None = None
    report: tuple[str, ...] = ()
