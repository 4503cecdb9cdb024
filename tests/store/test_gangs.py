"""A gang's row follows its job: there while it waits or may run, gone when nothing of it is left."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from definitions.states import Phase
from store import gang_places, gangs, jobs, pools, queue_use, system
from store.engine import reading, session
from store.errors import BadCursor
from store.tables_jobs import JobRow
from store.tables_scheduling import GangRow, PoolChangeRow
from tests.store.builders import HERE, NOW, OTHERS, add_job, event
from tests.store.scheduling import (
    POOL,
    TREE,
    ask,
    count,
    decide,
    follow,
    gang_of,
    given,
    place,
    seen,
    told,
    verdict,
    waiting_job,
    waits,
)

LATER = NOW + timedelta(hours=1)
WITH_PODS = [phase for phase in Phase if phase.has_attempt]
GONE = [phase for phase in Phase if not phase.has_attempt and phase is not Phase.QUEUED]


def used(engine: Engine) -> dict[str, dict[str, int]]:
    with reading(engine) as active:
        assert queue_use.recount(active) == queue_use.used(active)
        return queue_use.used(active)


def news(engine: Engine) -> int:
    return count(engine, PoolChangeRow)[0]


def columns(row: GangRow | None) -> dict[str, Any] | None:
    return None if row is None else {name: getattr(row, name) for name in GangRow.__table__.columns.keys()}  # noqa: SIM118


def test_a_job_that_waits_has_a_gang_and_the_pool_hears_of_it(engine: Engine) -> None:
    job = waiting_job(engine, priority=70, priority_class="high")
    row = seen(engine, job)
    assert (row.tenant, row.project, row.job, row.pool, row.queue) == (*HERE, job.id, POOL, "vision")
    assert (row.attempt, row.state, row.asked_at) == (1, "waiting", NOW)
    assert (row.priority, row.priority_class, row.limit_seconds, row.shape) == (70, "high", 3600, '{"roles":[]}')
    assert (row.pods, row.amounts, row.placed_at, row.reason) == (None, None, None, None)
    with reading(engine) as active:
        assert [(change.kind, change.job) for change in pools.changes(active, POOL)] == [("gang", job.id)]


def test_while_there_may_be_pods_a_gang_keeps_its_places(engine: Engine) -> None:
    job = waiting_job(engine)
    place(engine, job)
    before, heard = columns(seen(engine, job)), news(engine)
    for phase in WITH_PODS:
        follow(engine, job, phase, 1, since=None)
        assert (columns(seen(engine, job)), news(engine)) == (before, heard), phase
    assert used(engine)["all"] == {"gpu": 4}


@pytest.mark.parametrize("holds", [True, False])
def test_without_pods_and_without_waiting_there_is_no_gang(engine: Engine, holds: bool) -> None:
    other = waiting_job(engine, "other")
    place(engine, other, amounts={"gpu": 1})
    for phase in GONE:
        job = waiting_job(engine, f"job-{phase}".lower())
        if holds:
            place(engine, job)
        heard = news(engine)
        for _repeat in range(3):
            follow(engine, job, phase, 1, since=None)
            assert gang_of(engine, job) is None, phase
            assert used(engine) == {queue: {"gpu": 1} for queue in TREE["vision"]}, phase
            assert news(engine) == heard + 1, phase


@pytest.mark.parametrize("leaves", [False, True])
def test_a_job_that_waits_after_an_attempt_gives_everything_back_once(engine: Engine, leaves: bool) -> None:
    job = waiting_job(engine)
    place(engine, job)
    if leaves:
        decide(engine, verdict(told=(told(seen(engine, job)),)))
    follow(engine, job, Phase.SUSPENDING, 1, since=None)
    held, heard = seen(engine, job), news(engine)
    for _repeat in range(3):
        follow(engine, job, Phase.QUEUED, 1, since=LATER)
        row = seen(engine, job)
        assert (row.attempt, row.state, row.version, row.asked_at) == (2, "waiting", held.version + 1, LATER)
        holding = (row.pods, row.amounts, row.placed_at, row.decision, row.leaves_for, row.reason)
        assert set(holding) == {None}
        assert (used(engine), news(engine)) == ({}, heard + 1)
    place(engine, job)
    follow(engine, job, Phase.QUEUED, 0, since=NOW)  # of the first asking, long over
    assert seen(engine, job).state == "placed"


def test_places_that_a_job_gave_up_unused_are_given_back_when_it_asks_again(engine: Engine) -> None:
    """It was suspended and resumed before it heard of them: both times it waits for attempt 1."""
    job = waiting_job(engine)
    place(engine, job)
    first = seen(engine, job)
    follow(engine, job, Phase.QUEUED, 0, since=LATER)
    row = seen(engine, job)
    assert (row.attempt, row.state, row.pods, row.asked_at) == (1, "waiting", None, LATER)
    assert row.version > first.version
    assert used(engine) == {}
    follow(engine, job, Phase.SUSPENDED, 0, since=None)
    follow(engine, job, Phase.QUEUED, 0, since=LATER + timedelta(seconds=1))
    assert seen(engine, job).version > row.version


def test_what_was_taken_is_given_back_although_the_tree_has_changed(engine: Engine) -> None:
    job, other = waiting_job(engine), waiting_job(engine, "other")
    place(engine, job, amounts={"gpu": 4, "cpu": 9})
    moved = verdict(given=(given(seen(engine, other), amounts={"gpu": 1}),), paths={"vision": ("vision", "elsewhere")})
    decide(engine, moved)
    assert used(engine) == {
        "vision": {"gpu": 5, "cpu": 9},
        "research": {"gpu": 4, "cpu": 9},
        "all": {"gpu": 4, "cpu": 9},
        "elsewhere": {"gpu": 1},
    }
    with reading(engine) as active:
        along = {"vision": ("vision", "top")}
        assert queue_use.recount(active, along) == {name: {"gpu": 5, "cpu": 9} for name in along["vision"]}
    follow(engine, job, Phase.CANCELLED, 1, since=None)
    assert used(engine) == {"vision": {"gpu": 1}, "elsewhere": {"gpu": 1}}
    follow(engine, other, Phase.SUCCEEDED, 1, since=None)
    assert used(engine) == {}


def test_what_is_given_back_is_news_where_a_limit_keeps_somebody_back_and_nowhere_else(engine: Engine) -> None:
    job = waiting_job(engine)
    place(engine, job)
    for name, pool, cause in (
        ("kept-back", "north", "limit"),
        ("crowded", "south", "no-room"),
        ("here", POOL, "limit"),
    ):
        other = waiting_job(engine, name, pool=pool)
        decide(engine, verdict(waits=(waits(seen(engine, other), cause=cause),)), pool)
    before = news(engine)
    follow(engine, job, Phase.SUCCEEDED, 1, since=None)
    with reading(engine) as active:
        assert [(change.kind, change.job) for change in pools.changes(active, "north")][1:] == [("use", None)]
        assert [change.kind for change in pools.changes(active, "south")] == ["gang"]
    assert news(engine) == before + 2  # the other one is that the gang itself is gone


def test_another_ask_is_another_version_and_the_same_ask_is_not(engine: Engine) -> None:
    job = waiting_job(engine)
    decide(engine, verdict(waits=(waits(seen(engine, job)),)))
    now: dict[str, Any] = {}
    for name, value in (
        ("priority", 60), ("priority_class", "high"), ("limit_seconds", None), ("shape", "{}"), ("queue", "speech"),
    ):  # fmt: skip
        before, heard = seen(engine, job), news(engine)
        now[name] = value
        for _repeat in range(2):
            follow(engine, job, Phase.QUEUED, **now)
            row = seen(engine, job)
            assert (getattr(row, name), row.version, news(engine)) == (value, before.version + 1, heard + 1), name
            assert (row.position, row.reason, row.asked_at) == (before.position, before.reason, NOW), name


def test_a_gang_with_places_takes_a_new_priority_and_no_new_shape(engine: Engine) -> None:
    job = waiting_job(engine)
    place(engine, job)
    for phase, attempt, priority in ((Phase.QUEUED, 0, 97), (Phase.STARTING, 1, 98), (Phase.RUNNING, 1, 99)):
        before = seen(engine, job)
        since = NOW if phase is Phase.QUEUED else None
        follow(engine, job, phase, attempt, since=since, priority=priority, shape="{}", queue="speech")
        row = seen(engine, job)
        assert (row.priority, row.version) == (priority, before.version + 1)
        assert (row.state, row.pods, row.attempt, row.shape, row.queue) == (
            "placed", before.pods, 1, before.shape, "vision",
        )  # fmt: skip


@pytest.mark.parametrize("deleted", [False, True])
def test_a_final_job_has_no_gang_and_gets_none_any_more(engine: Engine, deleted: bool) -> None:
    job = waiting_job(engine)
    place(engine, job)
    follow(engine, job, Phase.SUCCEEDED, 1, since=None)
    with session(engine) as active:
        assert not deleted or jobs.delete(active, *HERE, job.id, LATER, event())
        row = active.get_one(JobRow, job.id)
        gangs.follow(active, row, Phase.QUEUED, 1, ask(), LATER)
        system.mark_purged(active, row, LATER)
    assert gang_of(engine, job) is None
    assert used(engine) == {}


def test_a_job_that_waits_says_since_when(engine: Engine) -> None:
    job = add_job(engine)
    with pytest.raises(ValueError, match="not since when"):
        follow(engine, job, Phase.QUEUED, since=None)


@pytest.mark.parametrize("where", OTHERS)
def test_no_read_reaches_a_gang_of_others(engine: Engine, where: tuple[str, str]) -> None:
    job = waiting_job(engine)
    with reading(engine) as active:
        assert gangs.get(active, *where, job.id) is None
        assert gangs.get(active, *HERE, job.id) is not None
    theirs = waiting_job(engine, where=where)
    with reading(engine) as active:
        assert gangs.get(active, *HERE, theirs.id) is None
        for tenant, shown in ((HERE[0], {job.id} | ({theirs.id} if where[0] == HERE[0] else set())), ("third", set())):
            assert {row.job for row in gangs.page(active, tenant).items} == shown
        assert {row.job for row in gangs.page(active, None).items} == {job.id, theirs.id}


def test_gangs_are_paged_by_position_and_those_without_one_come_last(engine: Engine) -> None:
    rows = {
        name: waiting_job(engine, name, where, queue=queue)
        for name, where, queue in (
            ("c", HERE, "vision"), ("a", HERE, "vision"), ("b", HERE, "speech"), ("x", OTHERS[0], "vision"),
            ("new", HERE, "vision"), ("runs", HERE, "vision"),
        )
    }  # fmt: skip
    positions = {"a": 1, "x": 2, "b": 3, "c": 4}
    said = tuple(waits(seen(engine, rows[name]), position=position) for name, position in positions.items())
    decide(engine, verdict(waits=said))
    place(engine, rows["runs"])
    last = sorted(("new", "runs"), key=lambda name: rows[name].id)

    def shown(tenant: str | None, **wanted: Any) -> list[str]:
        found, after = [], None
        with reading(engine) as active:
            while True:
                page = gangs.page(active, tenant, **wanted, limit=2, after=after)
                found += [name for item in page.items for name, job in rows.items() if job.id == item.job]
                if (after := page.next) is None:
                    return found

    assert shown(None) == ["a", "x", "b", "c", *last]
    assert shown(HERE[0]) == ["a", "b", "c", *last]
    assert shown(HERE[0], queue="vision", state="waiting") == ["a", "c", "new"]
    assert shown(None, state="placed") == ["runs"]
    assert shown(OTHERS[0][0]) == ["x"]
    with reading(engine) as active, pytest.raises(BadCursor):
        gangs.page(active, None, after="x")


def test_everybody_has_an_exact_place_in_the_order_of_its_pool_whatever_gaps_positions_have(engine: Engine) -> None:
    first, second, third, new = (waiting_job(engine, name) for name in "abcd")
    positions = {first.id: 40, second.id: 41, third.id: 900}
    said = [waits(seen(engine, job), position=positions[job.id]) for job in (third, first, second)]
    decide(engine, verdict(waits=tuple(said)))
    with reading(engine) as active:
        rows = gangs.some(active, [second.id, third.id, new.id])
        assert gang_places.places(active, rows) == {second.id: 2, third.id: 3}
        assert gang_places.places(active, []) == {}
