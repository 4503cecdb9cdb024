import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduling.model import QueueRules, Request
from policies.scheduling.quotas import Quotas
from policies.scheduling.usage import Usage
from policies.scheduling.waiting import Waiting
from tests.policies.scheduling.queue_parts import gang, start_all

LIFE = 1000
ONE = [QueueRules("a", half_life=LIFE), QueueRules("b", half_life=LIFE)]


def test_use_grows_and_fades_exactly_by_the_half_life() -> None:
    usage = Usage(ONE, entry=0)
    usage.started("a", "j", {"cpu": 8}, 0)
    assert usage.past("a", LIFE)["cpu"] == pytest.approx(4)
    assert usage.past("a", 2 * LIFE)["cpu"] == pytest.approx(6)
    usage.ended("j", 2 * LIFE)
    assert usage.past("a", 3 * LIFE)["cpu"] == pytest.approx(3)
    assert usage.past("a", 13 * LIFE)["cpu"] == pytest.approx(3 / 1024)
    assert usage.past("b", 13 * LIFE) == {}


def test_steady_use_for_ever_is_the_amount_itself() -> None:
    usage = Usage(ONE, entry=0)
    usage.started("a", "j", {"cpu": 8}, 0)
    assert usage.past("a", 100 * LIFE)["cpu"] == pytest.approx(8)


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 5000), st.integers(1, 9)), min_size=1, max_size=8),
    st.lists(st.integers(0, 10_000), max_size=5),
    st.integers(0, 700),
)
def test_the_past_is_the_sum_of_what_each_gang_left_however_often_one_looks(
    gangs: list[tuple[int, int, int]], looks: list[int], entry: int
) -> None:
    usage, end = Usage(ONE, entry), 12_000
    steps = [(at, 0, number) for number, (at, _, _) in enumerate(gangs)]
    steps += [(at + length, 1, number) for number, (at, length, _) in enumerate(gangs)]
    steps += [(at, 2, 0) for at in looks]
    for at, what, number in sorted(steps):
        if what == 0:
            usage.started("a", str(number), {"cpu": gangs[number][2]}, at)
        elif what == 1:
            usage.ended(str(number), at)
        else:
            usage.past("a", at)
    expected = 0.0
    for at, length, amount in gangs:
        expected += amount * (1 - 0.5 ** (entry / LIFE)) * 0.5 ** ((end - at) / LIFE)
        if length > entry:
            expected += amount * (0.5 ** ((end - at - length) / LIFE) - 0.5 ** ((end - at - entry) / LIFE))
    assert usage.past("a", end)["cpu"] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_first_seconds_are_counted_at_once_and_not_again() -> None:
    usage = Usage(ONE, entry=300)
    usage.started("a", "j", {"cpu": 8}, 0)
    at_once = 8 * (1 - 0.5 ** (300 / LIFE))
    assert usage.past("a", 0)["cpu"] == pytest.approx(at_once)
    assert usage.past("a", 300)["cpu"] == pytest.approx(at_once * 0.5 ** (300 / LIFE))


def test_a_burst_of_gangs_that_end_at_once_does_not_win_twice() -> None:
    quotas, running = Quotas(ONE, {"cpu": 4}), dict[str, Request]()
    usage = Usage(ONE)
    waiting = Waiting([gang(f"{name}{at}", name, cpu=4, at=ord(name)) for name in "ab" for at in range(4)])
    order = []
    for now in range(4):
        (started,) = start_all(waiting, quotas, running, partial(usage.past, now=now))
        order.append(started[0])
        usage.started(started[0], started, {"cpu": 4}, now)
        usage.ended(started, now)
        quotas.remove(running.pop(started).queue, {"cpu": 4})
    assert order == ["a", "b", "a", "b"]


def test_the_half_life_holds_for_queues_below_that_state_none() -> None:
    rules = [
        QueueRules("org", half_life=LIFE),
        QueueRules("t", "org"),
        QueueRules("u", "org", half_life=2 * LIFE),
        QueueRules("free"),
    ]
    usage = Usage(rules, entry=0)
    for name in ("t", "u", "free"):
        usage.started(name, name, {"cpu": 2}, 0)
    assert usage.past("t", LIFE)["cpu"] == pytest.approx(1)
    assert usage.past("u", LIFE)["cpu"] == pytest.approx(2 * (1 - math.sqrt(0.5)))
    assert usage.past("free", LIFE) == {}
    usage.ended("free", LIFE)


@pytest.mark.parametrize("entry", [0, 300, 5000])
def test_a_past_that_is_remembered_goes_on_as_if_nothing_had_happened(entry: int) -> None:
    usage, again = Usage(ONE, entry), Usage(ONE, entry)
    usage.started("a", "j", {"cpu": 8}, 0)
    again.remember("a", usage.past("a", 700), 700)
    again.goes_on("a", "j", {"cpu": 8}, since=0, now=700)
    for which in (usage, again):
        which.ended("j", 6000)
    assert again.past("a", 9000) == pytest.approx(usage.past("a", 9000))


def test_the_end_of_a_gang_that_did_not_start_is_refused() -> None:
    with pytest.raises(KeyError, match="j"):
        Usage(ONE).ended("j", 1)
