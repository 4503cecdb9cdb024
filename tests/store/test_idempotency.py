"""One key, one effect: what the first, the repeat, the racer and the impostor get."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from definitions.errors import PerdureError
from store import idempotency, jobs, system
from store.engine import reading, session, transaction
from store.errors import KeyInFlight, KeyReused
from store.idempotency import ABANDONED, KEPT, Answered, Request, Reserved
from store.tables import IdempotencyRow, JobRow
from tests.store.builders import NOW, new_job

REQUEST = Request("acme", "ada", "key-1", "POST", "/v1/jobs", "d" * 64)


def _reserve(engine: Engine, request: Request = REQUEST, now: datetime = NOW) -> Reserved | Answered:
    return transaction(engine, lambda active: idempotency.reserve(active, request, now))


def _complete(engine: Engine, reserved: Reserved | Answered, status: int = 201) -> bool:
    assert isinstance(reserved, Reserved)
    return transaction(engine, lambda active: idempotency.complete(active, reserved, status, {"id": str(status)}))


def test_a_repeat_gets_the_first_answer(engine: Engine) -> None:
    assert _complete(engine, _reserve(engine))
    assert _reserve(engine) == _reserve(engine, now=NOW + KEPT / 2) == Answered(201, {"id": "201"})


@pytest.mark.parametrize(
    "other",
    [{"sha256": "e" * 64}, {"path": "/v1/jobs/x:cancel"}, {"method": "DELETE"}],
    ids=lambda other: next(iter(other)),
)
@pytest.mark.parametrize("answered", [True, False])
def test_the_key_of_another_request_is_refused(engine: Engine, other: dict[str, str], answered: bool) -> None:
    first = _reserve(engine)
    if answered:
        _complete(engine, first)
    with pytest.raises(KeyReused, match="POST /v1/jobs") as refused:
        _reserve(engine, replace(REQUEST, **other))
    assert isinstance(refused.value, PerdureError)
    assert (refused.value.code.code, refused.value.code.status) == ("PD-3710", 409)


def test_a_repeat_meanwhile_is_told_to_wait(engine: Engine) -> None:
    _reserve(engine)
    with pytest.raises(KeyInFlight) as refused:
        _reserve(engine, now=NOW + timedelta(seconds=30))
    assert (refused.value.code.code, refused.value.code.status) == ("PD-3711", 409)


@pytest.mark.parametrize("other", [{"tenant": "rival"}, {"principal": "ben"}, {"key": "key-2"}])
def test_others_keys_are_their_own(engine: Engine, other: dict[str, str]) -> None:
    _complete(engine, _reserve(engine))
    theirs = _reserve(engine, replace(REQUEST, **other))
    assert isinstance(theirs, Reserved)
    assert _complete(engine, theirs, 202)
    assert _reserve(engine) == Answered(201, {"id": "201"})


def test_a_request_whose_process_died_is_taken_over_and_its_late_answer_does_not_count(engine: Engine) -> None:
    dead = _reserve(engine)
    taken = _reserve(engine, now=NOW + ABANDONED)
    assert isinstance(taken, Reserved)
    assert not _complete(engine, dead, 500)
    assert _complete(engine, taken, 201)
    assert not _complete(engine, dead, 500)
    assert _reserve(engine, now=NOW + ABANDONED) == Answered(201, {"id": "201"})


def test_a_request_that_did_nothing_gives_its_key_back(engine: Engine) -> None:
    reserved = _reserve(engine)
    assert isinstance(reserved, Reserved)
    for _ in range(2):
        transaction(engine, lambda active: idempotency.give_back(active, reserved))
    again = _reserve(engine)
    assert isinstance(again, Reserved)
    assert _complete(engine, again)
    transaction(engine, lambda active: idempotency.give_back(active, again))
    assert _reserve(engine) == Answered(201, {"id": "201"})  # an answer is never given back


def test_a_key_is_free_again_after_a_day_for_any_request(engine: Engine) -> None:
    _complete(engine, _reserve(engine))
    assert isinstance(_reserve(engine, replace(REQUEST, sha256="e" * 64), NOW + KEPT), Reserved)


def test_old_keys_are_swept(engine: Engine) -> None:
    _reserve(engine)
    _reserve(engine, replace(REQUEST, key="young"), NOW + timedelta(hours=1))
    with session(engine) as active:
        assert system.forget_requests(active, NOW + timedelta(minutes=1), 10) == 1
        assert active.scalars(select(IdempotencyRow.key)).all() == ["young"]


def test_of_fifty_racers_with_one_key_exactly_one_submits(engine: Engine) -> None:
    """Reserve, insert and answer in one transaction: the others wait for it and repeat its answer."""
    gate = threading.Barrier(50)

    def submit(active: Session) -> tuple[str, str]:
        mine = idempotency.reserve(active, REQUEST, NOW)
        if isinstance(mine, Answered):
            return "repeated", (mine.body or {})["id"]
        job = jobs.insert(active, new_job())
        assert idempotency.complete(active, mine, 201, {"id": job.id})
        return "submitted", job.id

    def race(_number: int) -> tuple[str, str]:
        gate.wait(30)
        return transaction(engine, submit)

    with ThreadPoolExecutor(50) as pool:
        outcomes = list(pool.map(race, range(50)))
    assert Counter(how for how, _ in outcomes) == {"submitted": 1, "repeated": 49}
    assert len({job for _, job in outcomes}) == 1
    with reading(engine) as active:
        assert active.scalar(select(func.count()).select_from(JobRow)) == 1


def test_of_fifty_racers_whose_work_is_elsewhere_exactly_one_works(engine: Engine) -> None:
    gate = threading.Barrier(50)

    def race(_number: int) -> str:
        gate.wait(30)
        try:
            return type(_reserve(engine)).__name__
        except KeyInFlight:
            return "in flight"

    with ThreadPoolExecutor(50) as pool:
        assert Counter(pool.map(race, range(50))) == {"Reserved": 1, "in flight": 49}


def test_of_fifty_racers_for_an_abandoned_request_exactly_one_takes_it_over(engine: Engine) -> None:
    _reserve(engine)
    gate = threading.Barrier(50)

    def race(_number: int) -> str:
        gate.wait(30)
        try:
            return type(_reserve(engine, now=NOW + ABANDONED)).__name__
        except KeyInFlight:
            return "in flight"

    with ThreadPoolExecutor(50) as pool:
        assert Counter(pool.map(race, range(50))) == {"Reserved": 1, "in flight": 49}
