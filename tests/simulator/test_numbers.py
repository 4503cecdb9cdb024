"""The numbers at the end and over time, against values worked out by hand."""

import pytest

from policies.scheduling.model import Promise
from simulator.baselines import Easy, Fifo
from simulator.fairness import alone, jain
from simulator.ledger import Ledger
from simulator.outcome import outcome, spread
from simulator.series import fragmentation
from tests.simulator.small import cluster, job, ran, trace


def test_alone_a_queue_has_its_part_of_the_gpus_and_runs_in_order_of_arrival() -> None:
    """8 GPUs and two queues: 4 each. In queue x the second waits for the first, in y both fit."""
    jobs = (
        job("x1", 0, 3, 100, queue="x"),
        job("x2", 10, 2, 50, queue="x"),
        job("y1", 0, 2, 100, queue="y"),
        job("y2", 5, 2, 50, queue="y"),
    )
    assert alone(trace(*jobs).jobs, 8000) == {"x1": 100, "x2": 140, "y1": 100, "y2": 50}


def test_alone_a_queue_has_at_least_what_its_largest_gang_needs_and_limits_stop_its_jobs() -> None:
    jobs = (job("wide", 0, 4, 100, pods=2, queue="x"), job("short", 0, 1, 100, queue="y", limit=30))
    assert alone(trace(*jobs).jobs, 8000) == {"wide": 100, "short": 30}


@pytest.mark.parametrize(
    ("values", "index"), [([1, 1, 1], 1), ([1, 0, 0, 0], 0.25), ([3, 1], 0.8), ([], 1), ([0, 0], 1)]
)
def test_jains_index(values: list[float], index: float) -> None:
    assert jain(values) == pytest.approx(index)


def test_a_run_is_counted_as_worked_out_by_hand() -> None:
    """a holds 4 of 4 GPUs from 0 to 100, b 2 of them from 100 to 150; each queue has 2 GPUs alone, or a's 4."""
    jobs = (job("a", 0, 4, 100, queue="x"), job("b", 50, 2, 50, queue="y"))
    found = outcome("fifo", trace(*jobs), ran(cluster(4), jobs, Fifo))
    assert (found.jobs, found.makespan, found.biggest_gpus, found.biggest_wait) == (2, 150, 4, 0)
    assert (found.wait.mean, found.wait.max, found.completion.mean) == (25, 50, 100)
    assert found.use == pytest.approx(500 / 600, abs=1e-5)
    assert found.use_arriving == 1
    assert found.useful_gpu_hours == pytest.approx(500 / 3600, abs=0.001)
    assert [(queue.queue, queue.ratio, queue.share) for queue in found.queues] == [("x", 1, 0.8), ("y", 2, 0.2)]
    assert (found.ratio.mean, found.worst_queue_ratio, found.jain) == (1.5, 2, 0.9)


def test_the_99th_percentile_is_the_value_at_its_place_in_order() -> None:
    assert (spread([*range(200)]).p99, spread([5]).p99, spread([]).p99) == (198, 5, 0)


def test_an_error_of_a_promise_is_the_first_start_against_the_start_first_told() -> None:
    """b is told 100 on a's declared 100 seconds, and a ends after 60."""
    jobs = (job("a", 0, 4, 60, limit=100), job("b", 1, 4, 10))
    found = outcome("easy", trace(*jobs), ran(cluster(4), jobs, Easy)).promises
    assert (found.gangs, found.firm, found.median_error, found.kept, found.slips) == (1, 1, 40, 1, 0)


@pytest.mark.parametrize(
    ("told", "counted"),  # (start, firm) as told one after the other -> promised, kept, slips
    [
        ([(90, False), (120, False)], (0, 1, 0)),
        ([(90, False), (100, True)], (1, 1, 0)),
        ([(90, True), (110, True), (100, False)], (1, 0, 1)),
        ([(90, True), (90, False)], (1, 0, 0)),
    ],
)
def test_a_promise_is_kept_when_the_gang_starts_no_later_than_first_promised(
    told: list[tuple[int, bool]], counted: tuple[int, float, int]
) -> None:
    jobs = (job("a", 0, 4, 100), job("b", 0, 4, 10))
    run = ran(cluster(4), jobs, Fifo)
    run.ledger.gangs["b"].told = [(0, Promise("b", start, None, (), firm)) for start, firm in told]
    found = outcome("fifo", trace(*jobs), run).promises
    assert (found.firm, found.kept, found.slips) == counted


def test_idle_gpus_are_fragmented_as_far_as_a_pod_cannot_use_them_where_they_are() -> None:
    """Two nodes with 2 of 4 GPUs idle each: all are useless to a pod of 4, and none to a pod of 1."""
    jobs = (job("a", 0, 2, 10), job("b", 0, 2, 10))
    ledger = Ledger(cluster(4, 4), 1800)
    for node, each in zip(("n0", "n1"), jobs, strict=True):
        gang = ledger.arrive(each)
        pods = ledger.pool.copy().place(each.request)
        assert pods is not None
        ledger.start(gang.job.request.id, tuple(type(pod)(pod.role, node, pod.devices) for pod in pods), 0)
    four, one = job("c", 0, 4, 1).request.roles[0].shape, job("d", 0, 1, 1).request.roles[0].shape
    assert fragmentation(ledger, [(four, 1.0)]) == 1
    assert fragmentation(ledger, [(one, 1.0)]) == 0
    assert fragmentation(ledger, [(four, 0.25), (one, 0.75)]) == 0.25


def test_use_over_time_is_what_gangs_held() -> None:
    jobs = (job("a", 0, 4, 100), job("b", 0, 2, 50))
    series = ran(cluster(4), jobs, Fifo).series
    assert list(zip(series.times, series.used, series.waiting, series.running, strict=True)) == [
        (0, 4000, 1, 1),
        (100, 2000, 0, 1),
        (150, 0, 0, 0),
    ]
    assert series.use(0, 200) == pytest.approx(500 / 800)
