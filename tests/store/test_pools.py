"""Decisions: who may commit, what of a verdict counts, and that no news gets lost."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from definitions.errors import PerdureError
from definitions.places import Displaced, Placed, Placement
from definitions.states import Phase
from store import decisions, gangs, outbox, pools, queue_use, scheduling_documents
from store.engine import reading, session, transaction
from store.errors import Fenced
from store.tables_jobs import JobRow
from store.tables_scheduling import DecisionRow, GangRow, OutboxRow, PoolChangeRow, QueuePastRow, QueueUseRow
from store.verdicts import Committed, Past
from tests.store.builders import NOW, add_job
from tests.store.scheduling import (
    PODS,
    POOL,
    TREE,
    count,
    decide,
    everything,
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

LATER = NOW + timedelta(minutes=5)
TOLD = (DecisionRow, OutboxRow, QueuePastRow, QueueUseRow)


def messages(engine: Engine, pool: str = POOL) -> list[OutboxRow]:
    with reading(engine) as active:
        return outbox.waiting(active, f"pool/{pool}", 10_000)


def used(engine: Engine) -> dict[str, dict[str, int]]:
    with reading(engine) as active:
        return queue_use.used(active)


def news(engine: Engine) -> dict[str, int]:
    with reading(engine) as active:
        return pools.waiting_pools(active)


def test_every_taker_of_a_pool_gets_a_token_of_its_own(engine: Engine) -> None:
    gate = threading.Barrier(16)

    def race(_number: int) -> int:
        gate.wait(30)
        return transaction(engine, lambda active: pools.take(active, POOL))

    with ThreadPoolExecutor(16) as threads:
        assert sorted(threads.map(race, range(16))) == list(range(1, 17))
    with reading(engine) as active:
        row = pools.get(active, POOL)
        assert row is not None
        assert (row.token, row.decision, row.decided_at) == (16, 0, None)
        assert pools.get(active, "north") is None


@pytest.mark.parametrize(
    ("pool", "token", "decided", "why"),
    [
        (POOL, 1, 0, "token 1 was overtaken by 2"),
        (POOL, 3, 0, "token 3 was overtaken by 2"),
        (POOL, 2, 1, "decision 1 was its last, now that is 0"),
        ("north", 1, 0, "the pool is gone"),
    ],
)
def test_a_verdict_that_was_overtaken_writes_nothing(
    engine: Engine, pool: str, token: int, decided: int, why: str
) -> None:
    job = waiting_job(engine)
    with session(engine) as active:
        assert [pools.take(active, POOL), pools.take(active, POOL)] == [1, 2]
        seqs = [change.seq for change in pools.changes(active, POOL)]
    said = everything(seen(engine, job), seqs)
    # The transaction ends well, so that what was written before the refusal would be there.
    with session(engine) as active, pytest.raises(Fenced, match=why) as refused:
        pools.commit(active, pool, token, decided, said, NOW)
    assert isinstance(refused.value, PerdureError)
    assert (refused.value.code.code, refused.value.code.status) == ("PD-3740", 409)
    assert count(engine, *TOLD) == [0, 0, 0, 0]
    assert (seen(engine, job).state, news(engine)) == ("waiting", {POOL: seqs[-1]})


def test_a_verdict_is_carried_out_once(engine: Engine) -> None:
    job = waiting_job(engine)
    with session(engine) as active:
        token = pools.take(active, POOL)
    said = everything(seen(engine, job))
    with session(engine) as active:
        assert pools.commit(active, POOL, token, 0, said, NOW) == Committed(1, frozenset({job.id}))
    with session(engine) as active, pytest.raises(Fenced):
        pools.commit(active, POOL, token, 0, said, NOW)
    assert used(engine) == {queue: {"gpu": 4} for queue in TREE["vision"]}
    assert len(messages(engine)) == 1


def test_a_start_takes_its_amounts_and_tells_the_job(engine: Engine) -> None:
    job, other = waiting_job(engine), waiting_job(engine, "waits")
    decide(engine, verdict(waits=(waits(seen(engine, job), start_at=LATER, end_at=LATER, firm=True),)))
    row = seen(engine, job)
    assert (row.position, row.cause, row.refusal, row.reason) == (3, "quota", {"needed": 4}, "2 of 4 GPUs are free")
    assert (row.start_at, row.end_at, row.firm, row.decision, row.state) == (LATER, LATER, True, 1, "waiting")
    made = decide(engine, verdict(given=(given(row),), past=(Past("vision", "gpu", 1.5),)))
    assert made == Committed(2, frozenset({job.id}))
    row = seen(engine, job)
    assert (row.state, row.placed_at, row.decision, row.reason) == ("placed", NOW, 2, "it fits")
    assert (row.pods, row.amounts) == (
        [pod.model_dump(mode="json") for pod in PODS],
        {"path": list(TREE["vision"]), "of": {"gpu": 4}},
    )
    assert {row.position, row.cause, row.refusal, row.start_at, row.end_at, row.firm, row.leaves_for} == {None}
    assert used(engine) == {queue: {"gpu": 4} for queue in TREE["vision"]}
    (message,) = messages(engine)
    fact = Placed(attempt=1, at=NOW, asked_at=NOW, placement=Placement(pool=POOL, decision=2, pods=PODS))
    assert (message.key, message.target) == (f"placed/{job.id}/1/2", f"job/acme/{job.id}")
    assert Placed.model_validate(message.body) == fact
    assert seen(engine, other).reason is None


def test_a_gang_that_is_told_to_leave_keeps_its_places_until_its_job_has_gone(engine: Engine) -> None:
    job = waiting_job(engine)
    place(engine, job)
    made = decide(engine, verdict(told=(told(seen(engine, job)),)))
    assert made == Committed(2)
    row = seen(engine, job)
    assert (row.state, row.leaves_for, row.reason, row.decision) == ("leaving", "another", "another needs it", 2)
    assert row.pods is not None
    assert used(engine)["all"] == {"gpu": 4}
    body = messages(engine)[-1].body
    assert Displaced.model_validate(body) == Displaced(
        attempt=1, at=NOW, reason="another job needs it"
    )  # it is no job of its tenant
    again = decide(engine, verdict(told=(told(row),)))
    assert again.dropped == {job.id}
    assert len(messages(engine)) == 2


def cancelled(engine: Engine, job: JobRow) -> None:
    follow(engine, job, Phase.CANCELLED)


def reprioritised(engine: Engine, job: JobRow) -> None:
    follow(engine, job, Phase.QUEUED, priority=90)


def asked_again(engine: Engine, job: JobRow) -> None:
    follow(engine, job, Phase.SUSPENDED)
    follow(engine, job, Phase.QUEUED, since=LATER)


def placed_before(engine: Engine, job: JobRow) -> None:
    place(engine, job, amounts={})


@pytest.mark.parametrize("meanwhile", [cancelled, reprioritised, asked_again, placed_before])
def test_a_start_of_a_gang_that_has_changed_is_dropped_and_takes_nothing(
    engine: Engine, meanwhile: Callable[[Engine, JobRow], None]
) -> None:
    moved, other = waiting_job(engine), waiting_job(engine, "other")
    starts = (given(seen(engine, moved)), given(seen(engine, other), amounts={"gpu": 1}))
    meanwhile(engine, moved)
    before = gang_of(engine, moved)
    told_before = {message.key for message in messages(engine)}
    made = decide(engine, verdict(given=starts))
    assert made == Committed(made.decision, frozenset({other.id}), frozenset({moved.id}))
    after = gang_of(engine, moved)
    assert (after and (after.state, after.version, after.pods)) == (
        before and (before.state, before.version, before.pods)
    )
    assert used(engine) == {queue: {"gpu": 1} for queue in TREE["vision"]}
    new = [message for message in messages(engine) if message.key not in told_before]
    assert [message.target for message in new] == [f"job/acme/{other.id}"]
    with reading(engine) as active:
        kept = decisions.get(active, POOL, made.decision)
    assert kept is not None
    assert kept.document == {"round": 1, "dropped": [moved.id]}


@pytest.mark.parametrize("change", [{"attempt": 2}, {"version": 0}, {"job": "unheard-of"}])
def test_what_a_verdict_says_of_no_gang_as_it_is_is_not_written(engine: Engine, change: dict[str, Any]) -> None:
    waiting, placed = waiting_job(engine), waiting_job(engine, "placed")
    place(engine, placed)
    start, stop = given(seen(engine, waiting)), told(seen(engine, placed))
    start, stop = replace(start, **change), replace(stop, **change)
    why = waits(seen(engine, waiting), **{name: value for name, value in change.items() if name != "attempt"})
    made = decide(engine, verdict(given=(start,), told=(stop,)))
    assert made == Committed(2, frozenset(), frozenset({start.job, stop.job}))
    if change != {"attempt": 2}:
        decide(engine, verdict(waits=(why, waits(seen(engine, placed)))))
    assert (seen(engine, waiting).state, seen(engine, waiting).cause) == ("waiting", None)
    assert (seen(engine, placed).state, seen(engine, placed).cause) == ("placed", None)


def test_a_gang_of_another_pool_is_none_of_its_business(engine: Engine) -> None:
    job = waiting_job(engine, pool="north")
    row = seen(engine, job)
    made = decide(engine, verdict(given=(given(row),), waits=(waits(row),)))
    assert made.dropped == {job.id}
    assert (seen(engine, job).state, seen(engine, job).cause, used(engine)) == ("waiting", None, {})


def test_jobs_that_are_cancelled_while_they_get_places_keep_none(engine: Engine) -> None:
    """Whichever comes first for each of them; and neither waits for the other for ever."""
    jobs = [waiting_job(engine, f"job-{number}") for number in range(20)]
    starts = tuple(given(seen(engine, job), amounts={"gpu": 1}) for job in jobs)
    gate = threading.Barrier(3)

    def start() -> int:
        gate.wait(30)
        made = decide(engine, verdict(given=starts))
        return len(made.given) + len(made.dropped)

    def cancel(some: list[JobRow]) -> None:
        gate.wait(30)
        for job in some:
            cancelled(engine, job)

    with ThreadPoolExecutor(3) as threads:
        cancels = [threads.submit(cancel, some) for some in (jobs[:10], jobs[:9:-1])]
        assert threads.submit(start).result(60) == 20
        for done in cancels:
            done.result(60)
    assert (count(engine, GangRow), used(engine)) == ([0], {})


def test_a_start_beyond_a_limit_is_dropped_and_the_next_that_fits_is_not(engine: Engine) -> None:
    jobs = [waiting_job(engine, f"job-{number}") for number in range(3)]
    starts = tuple(
        given(seen(engine, job), amounts={"gpu": amount}) for job, amount in zip(jobs, (3, 2, 1), strict=True)
    )
    made = decide(engine, verdict(given=starts, limits={"all": {"gpu": 4}}))
    assert made == Committed(1, frozenset({jobs[0].id, jobs[2].id}), frozenset({jobs[1].id}))
    assert used(engine)["all"] == {"gpu": 4}


@pytest.mark.parametrize("limited", ["vision", "all"])
def test_of_fifty_pools_that_commit_at_once_exactly_ten_get_the_last_ten(engine: Engine, limited: str) -> None:
    names = [f"pool-{number}" for number in range(50)]
    rows = [seen(engine, waiting_job(engine, name, pool=name)) for name in names]
    gate = threading.Barrier(50)

    def race(row: GangRow) -> int:
        gate.wait(30)
        start = given(row, amounts={"gpu": 1})
        return len(decide(engine, verdict(given=(start,), limits={limited: {"gpu": 10}}), row.pool).given)

    with ThreadPoolExecutor(50) as threads:
        assert sorted(threads.map(race, rows)) == [0] * 40 + [1] * 10
    assert used(engine) == {queue: {"gpu": 10} for queue in TREE["vision"]}
    assert sum(len(messages(engine, name)) for name in names) == 10


def test_two_pools_with_one_limit_neither_pass_it_nor_block_each_other(engine: Engine) -> None:
    """One names the queues in one order, the other in the other one, ten times over."""
    gate = threading.Barrier(2)

    def rounds(pool: str, queues: tuple[str, ...]) -> int:
        got = 0
        for number in range(10):
            jobs = [waiting_job(engine, f"{pool}-{number}-{queue}", pool=pool, queue=queue) for queue in queues]
            said = verdict(
                given=tuple(given(seen(engine, job), amounts={"gpu": 1}) for job in jobs), limits={"all": {"gpu": 25}}
            )
            gate.wait(30)
            got += len(decide(engine, said, pool).given)
        return got

    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(rounds, *each) for each in (("a", ("vision", "speech")), ("b", ("speech", "vision")))]
        assert sum(one.result(60) for one in both) == 25
    assert used(engine)["all"] == {"gpu": 25}


def test_a_verdict_that_says_nothing_is_no_decision_and_settles_the_news(engine: Engine) -> None:
    waiting_job(engine)
    with session(engine) as active:
        pools.note(active, "north", "nodes")
        seqs = tuple(change.seq for change in pools.changes(active, POOL))
        north = pools.changes(active, "north")[0].seq
    assert decide(engine, verdict(seen=(*seqs, north), past=(Past("all", "gpu", 0.5),))) == Committed(0)
    assert count(engine, DecisionRow, OutboxRow) == [0, 0]
    assert news(engine) == {"north": north}


def test_the_past_of_queues_is_replaced(engine: Engine) -> None:
    for amount in (1.5, 0.25):
        decide(engine, verdict(past=(Past("vision", "gpu", amount), Past("all", "gpu", 2.0))))
    with reading(engine) as active:
        found = [(row.queue, row.resource, row.amount, row.at) for row in pools.past(active, POOL)]
        assert found == [("all", "gpu", 2.0, NOW), ("vision", "gpu", 0.25, NOW)]
        assert pools.past(active, "north") == []


def test_news_for_all_goes_to_every_pool_that_is_there(engine: Engine) -> None:
    with session(engine) as active:
        for name in (POOL, "north"):
            pools.take(active, name)
        pools.note_all(active, "documents")
        assert [(row.kind, row.job) for row in pools.changes(active, "north")] == [("documents", None)]
        assert [row.name for row in pools.every(active)] == [POOL, "north"]
    assert sorted(news(engine)) == [POOL, "north"]


def test_a_pool_is_not_made_between_a_change_of_documents_and_its_news(postgres_engine: Engine) -> None:
    """It would read the old documents and hear nothing of the new ones. On SQLite writers take turns anyway."""
    with session(postgres_engine) as changing:
        scheduling_documents.lock(changing)
        scheduling_documents.put(changing, "Queue", "all", {"kind": "Queue"}, "ada", NOW)
        with session(postgres_engine) as active:
            active.execute(text("SET LOCAL lock_timeout = '50ms'"))
            with pytest.raises(OperationalError, match="lock timeout"):
                pools.take(active, POOL)
    with session(postgres_engine) as active:
        assert pools.take(active, POOL) == 1
        assert scheduling_documents.every(active) == [{"kind": "Queue"}]


def test_no_news_is_lost_that_comes_while_other_news_is_settled(engine: Engine) -> None:
    wanted = {f"{writer}-{number}" for writer in range(4) for number in range(25)}
    writing = threading.Event()
    writing.set()
    heard: list[str | None] = []

    def write(writer: int) -> None:
        for number in range(25):
            with session(engine) as active:
                pools.note(active, POOL, "gang", f"{writer}-{number}")

    def listen() -> None:
        while writing.is_set() or news(engine):
            with reading(engine) as active:
                found = pools.changes(active, POOL, limit=7)
            decide(engine, verdict(seen=tuple(change.seq for change in found)))
            heard.extend(change.job for change in found)

    with ThreadPoolExecutor(5) as threads:
        listener = threads.submit(listen)
        for done in [threads.submit(write, writer) for writer in range(4)]:
            done.result(60)
        writing.clear()
        listener.result(60)
    assert sorted(job or "" for job in heard) == sorted(wanted)
    assert count(engine, PoolChangeRow) == [0]


def test_a_large_verdict_is_carried_out_whole(engine: Engine) -> None:
    """More rows than one statement can name."""
    with session(engine) as active:
        for _number in range(6_000):
            active.add(PoolChangeRow(pool=POOL, kind="nodes", job=None))
    rows = [seen(engine, waiting_job(engine, f"job-{number}")) for number in range(40)]
    with reading(engine) as active:
        seqs = tuple(change.seq for change in pools.changes(active, POOL))
    said = verdict(
        given=tuple(given(row) for row in rows[:20]), waits=tuple(waits(row) for row in rows[20:]), seen=seqs
    )
    assert len(decide(engine, said).given) == 20
    assert news(engine) == {}
    with reading(engine) as active:
        states = [(row.state, row.cause) for row in gangs.page(active, None).items]
    assert sorted(states, key=str) == [("placed", None)] * 20 + [("waiting", "quota")] * 20


def test_a_commit_that_fails_leaves_nothing(engine: Engine) -> None:
    job = waiting_job(engine)
    row = seen(engine, job)

    def broken(_session: Session) -> Any:
        return verdict(given=(given(row),), paths={})  # names no queue

    with pytest.raises(KeyError):
        decide(engine, broken)
    assert count(engine, *TOLD) == [0, 0, 0, 0]
    assert seen(engine, job).state == "waiting"
    add_job(engine, "another")  # the lock is free
