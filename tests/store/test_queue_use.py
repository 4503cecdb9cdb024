"""What queues use: limits hold whoever takes at once, nothing is half taken, and no counter is ever below nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select

from store import queue_use
from store.engine import reading, session, transaction
from store.queue_use import Claim
from store.tables_scheduling import QueueUseRow
from tests.store.scheduling import TREE

PATH = TREE["vision"]


def used(engine: Engine) -> dict[str, dict[str, int]]:
    with reading(engine) as active:
        return queue_use.used(active)


@pytest.mark.parametrize("limited", PATH)
def test_of_fifty_who_want_the_last_ten_exactly_ten_get_one(engine: Engine, limited: str) -> None:
    """First of ten, when no counter is there yet; then of a hundred and ten, when a hundred are used."""
    _race(engine, limits={limited: {"gpu": 10}})
    with session(engine) as active:
        assert queue_use.take(active, PATH, {"gpu": 90}, {})
    _race(engine, limits={limited: {"gpu": 110}})
    assert used(engine) == {queue: {"gpu": 110, "cpu": 10_000} for queue in PATH}


def test_queues_below_one_limit_share_what_is_left_of_it(engine: Engine) -> None:
    gate = threading.Barrier(20)

    def race(number: int) -> bool:
        path = TREE["vision" if number % 2 else "speech"]
        gate.wait(30)
        return transaction(engine, lambda active: queue_use.take(active, path, {"gpu": 3}, {"all": {"gpu": 20}}))

    with ThreadPoolExecutor(20) as threads:
        assert sum(threads.map(race, range(20))) == 6
    found = used(engine)
    assert found["all"] == found["research"] == {"gpu": 18}
    assert sum(found.get(queue, {"gpu": 0})["gpu"] for queue in ("vision", "speech")) == 18


@pytest.mark.parametrize(
    "limits",
    [{"vision": {"cpu": 1}}, {"research": {"memory": 9}}, {"all": {"gpu": 3, "cpu": 100}}, {"all": {"gpu": 0}}],
)
def test_what_passes_one_limit_takes_nothing_at_all(engine: Engine, limits: dict[str, dict[str, int]]) -> None:
    with session(engine) as active:
        assert not queue_use.take(active, PATH, {"gpu": 4, "cpu": 8, "memory": 10}, limits)
    assert used(engine) == {}


def test_a_claim_that_does_not_fit_leaves_room_for_those_behind_it(engine: Engine) -> None:
    claims = [Claim(PATH, {"gpu": amount}) for amount in (6, 5, 3, 2, 1)]
    with session(engine) as active:
        assert queue_use.take_each(active, claims, {"all": {"gpu": 10}}) == [True, False, True, False, True]
        assert queue_use.take_each(active, [], {}) == []
    assert used(engine)["all"] == {"gpu": 10}


def test_what_is_given_back_can_be_taken_again_and_no_counter_falls_below_nothing(engine: Engine) -> None:
    with session(engine) as active:
        queue_use.take(active, PATH, {"gpu": 4, "cpu": 2}, {})
        queue_use.give(active, PATH[:2], {"gpu": 3, "cpu": 2})
    assert used(engine) == {"vision": {"gpu": 1}, "research": {"gpu": 1}, "all": {"gpu": 4, "cpu": 2}}
    with session(engine) as active:
        queue_use.give(active, (*PATH, "unheard-of"), {"gpu": 2})
        assert min(active.scalars(select(QueueUseRow.used))) == 0
    assert used(engine) == {"all": {"gpu": 2, "cpu": 2}}
    with session(engine) as active:
        assert queue_use.take(active, PATH, {"gpu": 8}, {"all": {"gpu": 10}})


def test_less_than_nothing_cannot_be_taken_or_given(engine: Engine) -> None:
    with session(engine) as active:
        with pytest.raises(ValueError, match="less than nothing of gpu"):
            queue_use.take(active, PATH, {"gpu": -1}, {})
        with pytest.raises(ValueError, match="less than nothing of cpu"):
            queue_use.give(active, PATH, {"gpu": 1, "cpu": -1})
    assert used(engine) == {}


def _race(engine: Engine, limits: dict[str, dict[str, int]]) -> None:
    gate = threading.Barrier(50)

    def race(_number: int) -> bool:
        gate.wait(30)
        return transaction(engine, lambda active: queue_use.take(active, PATH, {"gpu": 1, "cpu": 500}, limits))

    with ThreadPoolExecutor(50) as threads:
        assert sorted(threads.map(race, range(50))) == [False] * 40 + [True] * 10
