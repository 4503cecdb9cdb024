"""What came of a simulation, in numbers."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from simulator.fairness import alone, jain
from simulator.ledger import Gang
from simulator.loop import Ran
from simulator.trace import Trace
from simulator.wire import PolicyOutcome, Promises, QueueOutcome, Spread

GPU_HOUR = 3_600_000  # in 1/1000 of a GPU for a second


def outcome(policy: str, trace: Trace, ran: Ran, apart: dict[str, int] | None = None) -> PolicyOutcome:
    """Count one run. `apart`: what `fairness.alone` says for the trace, where it is known already."""
    gangs = list(ran.ledger.gangs.values())
    ended = [gang for gang in gangs if gang.end is not None]
    ratios = _ratios(ended, alone(trace.jobs, ran.series.capacity) if apart is None else apart)
    begin = trace.jobs[0].request.submitted if trace.jobs else 0
    end = max((gang.end for gang in ended if gang.end is not None), default=begin)
    biggest = max((gang.gpus for gang in ended), default=0)
    queues = _queues(ended, ratios)
    means = [queue.ratio for queue in queues]
    return PolicyOutcome(
        policy=policy,
        jobs=len(ended),
        fits_nowhere=len(ran.nowhere),
        unfinished=len(gangs) - len(ended),
        stopped_at_limit=sum(gang.stopped for gang in ended),
        wait=spread([_wait(gang) for gang in ended]),
        completion=spread([_completion(gang) for gang in ended]),
        biggest_gpus=biggest / 1000,
        biggest_wait=_mean([_wait(gang) for gang in ended if gang.gpus == biggest]),
        makespan=end - begin,
        use=ran.series.use(begin, end),
        use_arriving=ran.series.use(begin, trace.jobs[-1].request.submitted if trace.jobs else 0),
        useful_gpu_hours=round(sum(gang.held - gang.lost for gang in gangs) / GPU_HOUR, 3),
        lost_gpu_hours=round(sum(gang.lost for gang in gangs) / GPU_HOUR, 3),
        evictions=sum(gang.evictions for gang in gangs),
        node_losses=sum(gang.losses for gang in gangs),
        ratio=spread(list(ratios.values())),
        worst_queue_ratio=max(means, default=0),
        jain=round(jain(means), 4),
        overdue=sum(_is_overdue(gang) for gang in gangs),
        promises=_promises(ended),
        queues=queues,
        rounds=ran.rounds,
    )


def spread(values: Sequence[float]) -> Spread:
    """Mean, median, 99th percentile and the most, to 1/1000."""
    ordered = sorted(values) or [0.0]
    found = fmean(ordered), median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1]
    mean, middle, p99, most = (round(value, 3) for value in found)
    return Spread(mean=mean, median=middle, p99=p99, max=most)


def promise_errors(gangs: Sequence[Gang]) -> list[tuple[int, int]]:
    """For each gang that was told a start: when it was first told, and the true first start less the told one."""
    return [
        (gang.told[0][0], gang.first_start - gang.told[0][1].start)
        for gang in gangs
        if gang.told and gang.first_start is not None
    ]


def _is_overdue(gang: Gang) -> bool:
    """Whether it started later than its class allows, or never."""
    longest = gang.job.longest_wait
    return longest is not None and (gang.first_start is None or _wait(gang) > longest)


def _promises(gangs: Sequence[Gang]) -> Promises:
    errors = [error for _, error in promise_errors(gangs)]
    sizes = sorted(abs(error) for error in errors) or [0]
    promised = [(gang, firm) for gang in gangs if (firm := _from_first_firm(gang)) and gang.first_start is not None]
    return Promises(
        gangs=len(errors),
        median_error=float(median(sizes)),
        p90_error=float(sizes[int(len(sizes) * 0.9)]),
        firm=len(promised),
        kept=round(_mean([(gang.first_start or 0) <= firm[0] for gang, firm in promised]), 4) if promised else 1.0,
        slips=sum(after > before for _, firm in promised for before, after in pairwise(firm)),
    )


def _from_first_firm(gang: Gang) -> list[int]:
    """Starts that it was told, from the first promise on; none when it was told estimates alone."""
    at = next((number for number, (_, told) in enumerate(gang.told) if told.firm), len(gang.told))
    return [told.start for _, told in gang.told[at:]]


def _ratios(gangs: Sequence[Gang], apart: dict[str, int]) -> dict[str, float]:
    """By job; a job that would take no time at all has none."""
    ids = ((gang.job.request.id, gang) for gang in gangs)
    return {identity: _completion(gang) / apart[identity] for identity, gang in ids if apart[identity]}


def _queues(gangs: Sequence[Gang], ratios: dict[str, float]) -> tuple[QueueOutcome, ...]:
    held = sum(gang.held for gang in gangs) or 1
    by_queue: dict[str, list[Gang]] = {}
    for gang in gangs:
        by_queue.setdefault(gang.job.request.queue, []).append(gang)
    found = []
    for queue, mine in sorted(by_queue.items()):
        own = sum(gang.held for gang in mine)
        rated = [ratios[gang.job.request.id] for gang in mine if gang.job.request.id in ratios]
        found.append(
            QueueOutcome(
                queue=queue,
                jobs=len(mine),
                gpu_hours=round(own / GPU_HOUR, 3),
                share=round(own / held, 4),
                mean_wait=round(_mean([_wait(gang) for gang in mine]), 1),
                ratio=round(_mean(rated), 4),
            )
        )
    return tuple(found)


def _wait(gang: Gang) -> int:
    """From its arrival to its first start."""
    return 0 if gang.first_start is None else gang.first_start - gang.job.request.submitted


def _completion(gang: Gang) -> int:
    return 0 if gang.end is None else gang.end - gang.job.request.submitted


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 3) if values else 0.0
