"""Gangs that change their size hold both places until their attempt has gone, and the new ones from then on."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from definitions.places import Displaced, Placed, PlacedPod
from definitions.states import Phase
from store import outbox, pools, queue_use
from store.engine import reading
from store.tables_jobs import JobRow
from store.tables_scheduling import GangRow
from store.verdicts import Committed, GoesOn, Told
from tests.store.builders import NOW
from tests.store.scheduling import TREE, decide, follow, gang_of, given, place, seen, told, verdict, waiting_job, waits

PODS = tuple(PlacedPod(node=f"n{number}") for number in range(4))
LATER = NOW + timedelta(minutes=1)
HELD = {2: {"gpu": 2, "cpu": 2}, 4: {"gpu": 4, "cpu": 4}}


def used(engine: Engine) -> dict[str, int]:
    """Of the queue at the top; every one on the path has the same, and a recount finds it too."""
    with reading(engine) as active:
        now = queue_use.used(active)
        assert queue_use.recount(active) == now
    assert all(now.get(queue, {}) == now.get("all", {}) for queue in TREE["vision"])
    return now.get("all", {})


def at(engine: Engine, size: int, name: str = "wide") -> JobRow:
    """A job that runs on so many nodes."""
    job = waiting_job(engine, name)
    place(engine, job, pods=PODS[:size], amounts=HELD[size])
    follow(engine, job, Phase.RUNNING, 1)
    return job


def to(row: GangRow, size: int, **changes: Any) -> Told:
    given = dict(leaves_for=None, reason="another size", goes_on=GoesOn(PODS[:size], HELD[size]))
    return told(row, **{**given, **changes})


def resize(engine: Engine, job: JobRow, size: int, limit: int = 9) -> Committed:
    limits = {"all": {"gpu": limit}}
    return decide(engine, verdict(told=(to(seen(engine, job), size),), limits=limits))


def messages(engine: Engine) -> list[tuple[str, dict[str, Any]]]:
    with reading(engine) as active:
        return [(row.key, row.body) for row in outbox.waiting(active, "pool/local", 99)]


def nodes(row: GangRow) -> list[str]:
    return [pod["node"] for pod in row.pods or []]


@pytest.mark.parametrize(("old", "new"), [(2, 4), (4, 2)])
def test_both_places_are_held_until_the_attempt_has_gone_and_then_only_the_new_ones(
    engine: Engine, old: int, new: int
) -> None:
    job = at(engine, old)
    assert resize(engine, job, new).dropped == frozenset()
    row = seen(engine, job)
    assert (row.state, nodes(row), used(engine)) == ("leaving", [f"n{n}" for n in range(old)], HELD[4])
    key, body = messages(engine)[-1]
    fact = Displaced.model_validate(body)
    assert (key, fact.resizes, fact.attempt) == (f"displaced/{job.id}/1/2", True, 1)
    for phase in (Phase.SUSPENDING, Phase.COLLECTING):
        follow(engine, job, phase, 1)
        assert used(engine) == HELD[4]
    for _repeat in range(3):
        follow(engine, job, Phase.QUEUED, 1, now=LATER)
        row = seen(engine, job)
        assert (row.state, row.attempt, nodes(row)) == ("placed", 2, [f"n{n}" for n in range(new)])
        assert (row.next_pods, row.next_amounts, row.leaves_for, row.placed_at) == (None, None, None, LATER)
        assert used(engine) == HELD[new]
        key, body = [one for one in messages(engine) if one[0].startswith("placed/")][-1]
        start = Placed.model_validate(body)
        assert (key, start.attempt, start.asked_at) == (f"placed/{job.id}/2/2", 2, NOW)
        assert [pod.node for pod in start.placement.pods] == nodes(row)
    follow(engine, job, Phase.RUNNING, 2)
    follow(engine, job, Phase.SUCCEEDED, 2)
    assert (gang_of(engine, job), used(engine)) == (None, {})


def by_itself(engine: Engine, job: JobRow) -> None:
    follow(engine, job, Phase.COLLECTING, 1)
    follow(engine, job, Phase.SUCCEEDED, 1)


def cancelled(engine: Engine, job: JobRow) -> None:
    follow(engine, job, Phase.CANCELLING, 1)
    follow(engine, job, Phase.CANCELLED, 1)


def suspended(engine: Engine, job: JobRow) -> None:
    follow(engine, job, Phase.SUSPENDING, 1)
    follow(engine, job, Phase.SUSPENDED, 1)


def failed(engine: Engine, job: JobRow) -> None:
    follow(engine, job, Phase.BACKING_OFF, 1)


ENDS = [by_itself, cancelled, suspended, failed]


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("size", [2, 4])
def test_a_gang_that_ends_on_the_way_to_another_size_leaves_nothing_held(
    engine: Engine, ends: Callable[[Engine, JobRow], None], size: int
) -> None:
    job = at(engine, 6 - size)
    resize(engine, job, size)
    ends(engine, job)
    assert (gang_of(engine, job), used(engine)) == (None, {})
    assert not [key for key, _ in messages(engine) if key.startswith(f"placed/{job.id}/2")]


@pytest.mark.parametrize("ends", ENDS)
def test_a_size_that_was_decided_for_a_gang_that_is_gone_by_then_is_dropped(
    engine: Engine, ends: Callable[[Engine, JobRow], None]
) -> None:
    job = at(engine, 2)
    row = seen(engine, job)
    ends(engine, job)
    assert decide(engine, verdict(told=(to(row, 4),))).dropped == {job.id}
    assert used(engine) == {}


def test_a_gang_that_was_told_to_go_meanwhile_does_not_grow_and_the_other_way_round(engine: Engine) -> None:
    first, second = at(engine, 2, "first"), at(engine, 2, "second")
    before = seen(engine, first), seen(engine, second)
    decide(engine, verdict(told=(told(before[0]), to(before[1], 4))))
    again = decide(engine, verdict(told=(to(before[0], 4), told(before[1]))))
    assert again.dropped == {first.id, second.id}
    assert used(engine) == {"gpu": 6, "cpu": 6}
    assert seen(engine, first).next_pods is None
    follow(engine, first, Phase.QUEUED, 1)
    assert (seen(engine, first).state, used(engine)) == ("waiting", HELD[4])


def test_a_gang_on_its_way_to_a_size_is_given_no_other_one(engine: Engine) -> None:
    job = at(engine, 2)
    assert resize(engine, job, 4).dropped == frozenset()
    for size in (4, 2):
        assert resize(engine, job, size).dropped == {job.id}
    assert [key for key, _ in messages(engine) if key.startswith("displaced/")] == [f"displaced/{job.id}/1/2"]
    assert used(engine) == HELD[4]


@pytest.mark.parametrize(("limit", "grows"), [(4, True), (3, False)])
def test_a_larger_size_stays_below_every_limit(engine: Engine, limit: int, grows: bool) -> None:
    job = at(engine, 2)
    assert (resize(engine, job, 4, limit).dropped == frozenset()) is grows
    assert used(engine) == HELD[4 if grows else 2]
    assert (seen(engine, job).state, seen(engine, job).next_pods is not None) == (
        ("leaving", True) if grows else ("placed", False)
    )


def test_who_starts_goes_before_who_grows(engine: Engine) -> None:
    """Both want the last two below the limit."""
    job, other = at(engine, 2), waiting_job(engine, "other")
    starts = given(seen(engine, other), pods=PODS[2:], amounts={"gpu": 2})
    said = verdict(given=(starts,), told=(to(seen(engine, job), 4),), limits={"all": {"gpu": 4}})
    done = decide(engine, said)
    assert (set(done.given), set(done.dropped)) == ({other.id}, {job.id})


def test_of_two_pools_that_grow_at_once_one_gets_the_last_of_a_limit(engine: Engine) -> None:
    here, there = at(engine, 2, "here"), waiting_job(engine, "there", pool="north")
    decide(engine, verdict(given=(given(seen(engine, there), pods=PODS[:2], amounts=HELD[2]),)), "north")
    follow(engine, there, Phase.RUNNING, 1, pool="north")
    assert resize(engine, here, 4, limit=6).dropped == frozenset()
    said = verdict(told=(to(seen(engine, there), 4),), limits={"all": {"gpu": 6}})
    assert decide(engine, said, "north").dropped == {there.id}
    assert used(engine) == {"gpu": 6, "cpu": 6}


def test_a_gang_keeps_its_size_where_the_tree_of_its_queue_has_changed(engine: Engine) -> None:
    job = at(engine, 2)
    moved = {"vision": ("vision", "elsewhere")}
    assert decide(engine, verdict(told=(to(seen(engine, job), 4),), paths=moved)).dropped == {job.id}
    other = at(engine, 4, "other")
    assert decide(engine, verdict(told=(to(seen(engine, other), 2),), paths=moved)).dropped == frozenset()


def test_a_job_that_asks_for_something_else_by_then_waits_anew_with_nothing_held(engine: Engine) -> None:
    job = at(engine, 2)
    resize(engine, job, 4)
    follow(engine, job, Phase.QUEUED, 1, shape='{"roles":[1]}')
    row = seen(engine, job)
    assert (row.state, row.pods, row.next_pods, row.next_amounts, used(engine)) == ("waiting", None, None, None, {})


def test_what_a_gang_gives_up_is_news_where_a_limit_keeps_somebody_back(engine: Engine) -> None:
    job, kept = at(engine, 4), waiting_job(engine, "kept-back", pool="north")
    decide(engine, verdict(waits=(waits(seen(engine, kept), cause="limit"),)), "north")
    resize(engine, job, 2)
    follow(engine, job, Phase.QUEUED, 1)
    with reading(engine) as active:
        assert [change.kind for change in pools.changes(active, "north")] == ["gang", "use"]


@pytest.mark.parametrize("ends", ENDS)
def test_whoever_comes_first_the_end_of_a_gang_and_its_growth_leave_the_counters_right(
    engine: Engine, ends: Callable[[Engine, JobRow], None]
) -> None:
    """Both are committed at once, again and again; afterwards nothing is held, and nobody waited for the other."""
    for number in range(5):
        job = at(engine, 2, f"wide-{number}")
        row = seen(engine, job)
        both = threading.Barrier(2)

        def grow(row: GangRow = row, both: threading.Barrier = both) -> None:
            both.wait(10)
            decide(engine, verdict(told=(to(row, 4),)))

        def end(job: JobRow = job, both: threading.Barrier = both) -> None:
            both.wait(10)
            ends(engine, job)

        with ThreadPoolExecutor(2) as threads:
            for done in [threads.submit(grow), threads.submit(end)]:
                done.result(timeout=30)
        assert (gang_of(engine, job), used(engine)) == (None, {})
