"""What each baseline decides on traces whose answers were worked out by hand."""

from collections.abc import Callable, Sequence

import pytest

from policies.scheduling.model import Node
from simulator.baselines import BASELINES, Easy, Fifo, FirstFit, StrictPriority
from simulator.planner import Planner
from tests.simulator.small import cluster, ends, job, ran, starts

Make = Callable[[Sequence[Node]], Planner]
FOUR = (
    job("a", 0, 3, 100),
    job("b", 1, 4, 50),
    job("c", 2, 1, 90),
    job("d", 3, 1, 200, priority=10),
)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (Fifo, {"a": 0, "b": 100, "c": 150, "d": 150}),
        # d is first in order when it comes, and then b needs the GPU that d holds until 203.
        (StrictPriority, {"a": 0, "d": 3, "b": 203, "c": 253}),
        # c and d pass b one after the other, and b waits for the end of d.
        (FirstFit, {"a": 0, "c": 2, "d": 92, "b": 292}),
        # c ends before a does and may pass; d would keep b from starting at 100.
        (Easy, {"a": 0, "c": 2, "b": 100, "d": 150}),
    ],
)
def test_four_jobs_on_four_gpus_start_as_worked_out_by_hand(make: Make, wanted: dict[str, int]) -> None:
    assert starts(ran(cluster(4), FOUR, make)) == wanted


def test_easy_lets_a_long_job_pass_that_takes_none_of_what_the_first_needs() -> None:
    jobs = (job("a", 0, 3, 100), job("b", 1, 3, 50), job("long", 2, 1, 900))
    assert starts(ran(cluster(4), jobs, Easy)) == {"a": 0, "long": 2, "b": 100}


def test_easy_lets_no_two_long_jobs_take_the_same_spare_room() -> None:
    jobs = (job("a", 0, 2, 100), job("b", 1, 3, 50), job("x", 2, 1, 900), job("y", 2, 1, 900))
    assert starts(ran(cluster(4), jobs, Easy)) == {"a": 0, "x": 2, "b": 100, "y": 150}


def test_easy_keeps_a_whole_node_for_a_gang_that_needs_one() -> None:
    """Enough GPUs are spare when the first starts, but not on one node."""
    jobs = (
        job("a", 0, 4, 100),
        job("b", 0, 3, 300),
        job("whole", 1, 4, 50),
        job("two", 2, 1, 900),
        job("three", 3, 1, 900),
    )
    assert starts(ran(cluster(4, 4), jobs, Easy)) == {"a": 0, "b": 0, "two": 2, "whole": 100, "three": 150}


def test_easy_promises_the_first_its_start_and_keeps_the_promise() -> None:
    found = ran(cluster(4), FOUR, Easy).ledger.gangs["b"]
    assert [(when, told.start, told.end, told.firm) for when, told in found.told] == [(1, 100, 150, True)]
    assert found.first_start == 100


def test_easy_plans_nothing_on_the_end_of_an_endless_gang_and_lets_all_pass_meanwhile() -> None:
    jobs = (job("a", 0, 3, 100, limit=None), job("b", 1, 4, 50), job("c", 2, 1, 90, limit=None))
    found = ran(cluster(4), jobs, Easy)
    assert starts(found) == {"a": 0, "c": 2, "b": 100}
    assert found.ledger.gangs["b"].told == []


@pytest.mark.parametrize("make", BASELINES.values(), ids=BASELINES)
def test_a_gang_starts_whole_or_not_at_all(make: Make) -> None:
    jobs = (job("wide", 0, 2, 10, pods=3), job("wider", 0, 2, 10, pods=4), job("one", 0, 2, 10))
    found = ran(cluster(4, 4), jobs, make)
    assert all(start is not None for start in starts(found).values())
    assert starts(found)["wider"] == 10


@pytest.mark.parametrize("make", BASELINES.values(), ids=BASELINES)
def test_parts_of_a_gpu_share_one_and_leave_the_others_whole(make: Make) -> None:
    jobs = (*(job(f"part-{number}", 0, 0.25, 10) for number in range(4)), job("three", 0, 3, 10))
    assert set(starts(ran(cluster(4), jobs, make)).values()) == {0}


@pytest.mark.parametrize("make", BASELINES.values(), ids=BASELINES)
def test_who_fits_nowhere_is_set_aside_and_blocks_nobody(make: Make) -> None:
    found = ran(cluster(4, 4), (job("huge", 0, 8, 10), job("small", 1, 4, 10)), make)
    assert found.nowhere == ("huge",)
    assert ends(found) == {"small": 11}
