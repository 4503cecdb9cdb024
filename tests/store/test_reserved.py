"""What a decision writes of windows and of their use, on both databases."""

from datetime import timedelta

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from definitions.states import Phase
from store import gangs, reservations, reserved
from store.engine import reading, transaction
from store.outbox import waiting
from store.tables_jobs import JobRow
from store.tables_reservations import BookingRow, ReservationRow, ReservedUseRow
from store.verdicts import InWindow, Kept
from tests.store.builders import NOW
from tests.store.scheduling import POOL, ask, decide, place, seen, told, verdict, waiting_job
from tests.store.test_reservations import applied, booked, changes, new, windows

HOUR = timedelta(hours=1)


def window(engine: Engine) -> tuple[ReservationRow, BookingRow]:
    life = applied(engine)
    booked(engine, life, new(1, -1))
    return life, windows(engine, life)[0]


def kept(row: BookingRow, *nodes: str, version: int | None = None) -> Kept:
    key = (row.reservation, row.made_at, row.number)
    return Kept(key, row.version if version is None else version, nodes or None, None if nodes else {"needed": 2})


def uses(engine: Engine, life: ReservationRow) -> list[ReservedUseRow]:
    with reading(engine) as active:
        return reservations.uses(active, life.name, life.made_at, NOW - HOUR, NOW + 9 * HOUR)


def test_a_decision_writes_the_nodes_of_a_window_as_it_saw_it(engine: Engine) -> None:
    life, row = window(engine)
    done = decide(engine, verdict(kept=(kept(row, "n1", "n2"),)))
    assert (done.decision, set(done.kept)) == (1, {("nightly", life.made_at, 1)})
    (now,) = windows(engine, life)
    assert (now.nodes, now.short, now.version) == (["n1", "n2"], None, 2)
    assert decide(engine, verdict(kept=(kept(now),))).kept
    (now,) = windows(engine, life)
    assert (now.nodes, now.short, now.version) == (None, {"needed": 2}, 3)


def test_nodes_for_a_window_that_has_changed_meanwhile_are_not_written(engine: Engine) -> None:
    life, row = window(engine)
    changes(engine, row, ends_at=NOW + HOUR)
    assert decide(engine, verdict(kept=(kept(row, "n1"),))).kept == frozenset()
    assert windows(engine, life)[0].nodes is None


def test_a_use_begins_with_the_places_and_ends_when_they_are_given_back(engine: Engine) -> None:
    life, _ = window(engine)
    jobs = [
        waiting_job(engine, reservation="nightly"),
        waiting_job(engine, where=("globex", "vision"), reservation="nightly"),
    ]
    for job in jobs:
        place(engine, job, uses=(InWindow("nightly", life.made_at, 2, 4000),))
    before = uses(engine, life)
    assert {(use.job, use.tenant, use.nodes, use.gpus, use.until) for use in before} == {
        (job.id, job.tenant, 2, 4000, None) for job in jobs
    }
    follow(engine, jobs[0], Phase.RUNNING)
    assert [use.until for use in uses(engine, life)] == [None, None]
    for _ in "ab":
        follow(engine, jobs[0], Phase.SUCCEEDED)
    assert {(use.job, use.until) for use in uses(engine, life)} == {(jobs[0].id, NOW + HOUR), (jobs[1].id, None)}


def test_whoever_holds_places_in_a_reservation_is_known_with_its_end(engine: Engine) -> None:
    first = waiting_job(engine, reservation="nightly", limit_seconds=60)
    place(engine, first)
    waiting_job(engine, "second", reservation="nightly")
    place(engine, waiting_job(engine, "third"))
    with reading(engine) as active:
        found = reserved.holders(active, POOL, "nightly")
        assert [(one.job, one.since, one.until) for one in found] == [(first.id, NOW, NOW + timedelta(seconds=60))]
        assert reserved.holders(active, "north", "nightly") == []


def test_whoever_has_to_go_for_good_is_told_so_with_the_time_that_is_left(engine: Engine) -> None:
    job = waiting_job(engine)
    place(engine, job)
    decide(engine, verdict(told=(told(seen(engine, job), leaves_for=None, for_good=True, within=90),)))
    with reading(engine) as active:
        (_, message) = waiting(active, f"pool/{POOL}", 9)
        assert (message.body["for_good"], message.body["within"]) == (True, "PT1M30S")


def follow(engine: Engine, job: JobRow, phase: Phase) -> None:
    """As the journal does it, an hour later."""

    def work(active: Session) -> None:
        row = active.get_one(JobRow, job.id, with_for_update=True)
        row.phase, row.attempt = phase, 1
        if gangs.follow(active, row, phase, 1, ask(reservation="nightly"), NOW):
            reserved.end_uses(active, job.id, NOW + HOUR)

    transaction(engine, work)
