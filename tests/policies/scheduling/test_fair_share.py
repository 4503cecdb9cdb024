import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduling.fair_share import Claim, FairShares, borrowed_share, split
from policies.scheduling.model import Quota, Request, Role, Shape
from policies.scheduling.partial import largest_sizes
from policies.scheduling.quotas import Quotas
from policies.scheduling.waiting import Waiting
from tests.policies.scheduling.queue_parts import GPU, gang, queue, start_all, used
from tests.policies.scheduling.share_reference import Endless, Reference, Starter, by_order

STARVATION = [queue("n1"), queue("n2"), queue("cpu", "n2"), queue("gpu", "n2")]
BLOCKING = [queue("n1"), queue("n2"), queue("n3"), queue("cpu", "n3"), queue("gpu", "n3"), queue("n4")]
NAIVE = Reference(rescale=False, spare_blocked=False, ignore_saturated=False)


def test_two_tasks_of_different_kind_get_equal_dominant_shares() -> None:
    pool = Endless([queue("a"), queue("b")], {"cpu": 9, "memory": 18}, {})
    pool.tasks = {"a": gang("a", "a", cpu=1, memory=4), "b": gang("b", "b", cpu=3, memory=1)}
    by_order(pool)
    assert pool.tasks_of("a", "b") == [3, 2]
    assert (pool.quotas.used("a", "memory") / 18, pool.quotas.used("b", "cpu") / 9) == (2 / 3, 2 / 3)


def starvation() -> Endless:
    tasks = {"n1": gang("x", "n1", gpus=1), "cpu": gang("x", "cpu", cpu=1), "gpu": gang("x", "gpu", gpus=1)}
    return Endless(STARVATION, {"cpu": 10, "gpu": 10 * GPU}, tasks)


def blocking() -> Endless:
    tasks = {
        "n1": gang("x", "n1", cpu=1),
        "n2": gang("x", "n2", cpu=1),
        "cpu": gang("x", "cpu", cpu=1),
        "gpu": gang("x", "gpu", gpus=1),
        "n4": gang("x", "n4", gpus=1),
    }
    return Endless(BLOCKING, {"cpu": 12, "gpu": 12 * GPU}, tasks)


@pytest.mark.parametrize(("starter", "off"), [(by_order, 0), (Reference(), 0), (NAIVE, 1)])
def test_a_queue_is_not_starved_by_its_sibling_of_another_resource(starter: Starter, off: int) -> None:
    pool = starvation()
    pool.churn(starter, 0, [], 0)
    assert _off(pool, n1=5, cpu=10, gpu=5) == off


@pytest.mark.parametrize("ending", [["n1 gpu"], ["n1 cpu gpu"], ["cpu", "n1 gpu"]])
@pytest.mark.parametrize("seed", range(3))
def test_nor_is_it_when_tasks_end(ending: list[str], seed: int) -> None:
    pool = starvation()
    pool.churn(by_order, 40, ending, seed)
    assert _off(pool, n1=5, cpu=10, gpu=5) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_the_naive_algorithm_fails_where_tasks_end(seed: int) -> None:
    pool = starvation()
    pool.churn(NAIVE, 40, ["n1 gpu"], seed)
    assert _off(pool, n1=5, cpu=10, gpu=5) > 1


@pytest.mark.parametrize("starter", [by_order, Reference()])
def test_a_blocked_child_takes_nothing_from_its_sibling(starter: Starter) -> None:
    pool = blocking()
    pool.churn(starter, 0, [], 0)
    assert pool.tasks_of("n1", "n2", "cpu", "gpu", "n4") == [4, 4, 4, 6, 6]


@pytest.mark.parametrize("ending", [["gpu n4"], ["n1 n2 cpu"], ["n1 n2 cpu gpu n4"], ["n1 n2 cpu", "gpu n4"]])
@pytest.mark.parametrize("seed", range(3))
def test_nor_does_it_when_tasks_end(ending: list[str], seed: int) -> None:
    pool = blocking()
    pool.churn(by_order, 60, ending, seed)
    assert _off(pool, n1=4, n2=4, cpu=4, gpu=6, n4=6) <= 1


@pytest.mark.parametrize(
    "wrong", [NAIVE, Reference(rescale=False), Reference(spare_blocked=False), Reference(ignore_saturated=False)]
)
def test_each_rule_of_rescaling_is_needed_by_one_of_the_two_cases(wrong: Starter) -> None:
    worst = 0
    for pool, fair, ending in (
        (starvation(), {"n1": 5, "cpu": 10, "gpu": 5}, ["cpu", "n1 gpu"]),
        (blocking(), {"n1": 4, "n2": 4, "cpu": 4, "gpu": 6, "n4": 6}, ["n1 n2 cpu gpu n4"]),
    ):
        pool.churn(wrong, 60, ending, 1)
        worst = max(worst, _off(pool, **fair))
    assert worst > 1


def test_a_resource_is_saturated_when_what_is_left_is_too_little_for_whoever_needs_it_most() -> None:
    """The processor task asks two and one is left; GPU tasks ask a little of them too, as they do in life."""
    pool = starvation()
    pool.capacity = {"cpu": 1010, "gpu": 10 * GPU}
    pool.tasks = {
        "n1": gang("x", "n1", cpu=1, gpus=1),
        "cpu": gang("x", "cpu", cpu=400),
        "gpu": gang("x", "gpu", cpu=1, gpus=1),
    }
    pool.quotas.resize(pool.capacity)
    pool.quotas.add("cpu", {"cpu": 800})
    pool.churn(by_order, 40, ["n1 gpu"], 1)
    assert _off(pool, n1=5, gpu=5) <= 1


def test_what_is_guaranteed_comes_first_and_the_rest_by_weight() -> None:
    rules = [queue("a", gpu=Quota(4)), queue("b", weight=3, gpu=Quota(2))]
    shares = FairShares(Quotas(rules, {"gpu": 10}), {"a": {"gpu": 10}, "b": {"gpu": 10}})
    assert [shares.fair(name, "gpu") for name in "ab"] == [5, 5]
    pool = Endless(rules, {"gpu": 10}, {})
    waiting = Waiting([gang(f"{name}{at}", name, gpus=1) for name in "ab" for at in range(10)])
    pool.quotas = Quotas([queue("a", gpu=Quota(4 * GPU)), queue("b", weight=3, gpu=Quota(2 * GPU))], {"gpu": 10 * GPU})
    start_all(waiting, pool.quotas, pool.running)
    assert used(pool.quotas, "ab", "gpu") == [5 * GPU, 5 * GPU]


@pytest.mark.parametrize(("weight", "share"), [(1.0, 200.0), (2.0, 100.0), (0.0, math.inf)])
def test_the_share_is_what_is_borrowed_of_all_that_there_is_by_weight(weight: float, share: float) -> None:
    rules = [queue("a", weight=weight, gpu=Quota(10)), queue("b", gpu=Quota(10)), queue("c", gpu=Quota(10))]
    quotas = Quotas(rules, {"gpu": 30})
    assert borrowed_share(quotas, "a") == 0
    quotas.add("a", {"gpu": 16})
    assert borrowed_share(quotas, "a") == pytest.approx(share)
    explained = FairShares(quotas, {"a": {"gpu": 16}, "b": {"gpu": 4}}).explain("a")
    assert (explained.used["gpu"], explained.guarantee["gpu"], explained.borrowed["gpu"]) == (16, 10, 6)
    assert explained.weight == weight
    assert explained.value == pytest.approx(share)
    assert explained.fair["gpu"] == (16 if weight else 10)


def test_a_queue_of_weight_zero_borrows_last() -> None:
    waiting = Waiting([gang(f"{name}{at}", name, cpu=1) for name in "ab" for at in range(4)])
    rules = [queue("a", weight=0, cpu=Quota(1)), queue("b")]
    assert start_all(waiting, Quotas(rules, {"cpu": 6}), {}) == ["a0", "b0", "b1", "b2", "b3", "a1"]


@pytest.mark.parametrize(("free", "size"), [(5, 5), (8, 8), (99, 8), (2, 2), (1, None)])
def test_a_gang_that_can_run_smaller_starts_at_the_largest_size_that_fits(free: int, size: int | None) -> None:
    request = Request("j", "a", (Role("r", 8, Shape(cpu=1), least=2),))
    quotas = Quotas([queue("a", cpu=Quota(limit=free))], {"cpu": 99})
    found = largest_sizes(request, lambda sizes: quotas.fits("a", quotas.demand(request, sizes)) is None)
    assert found == (None if size is None else (size,))


def test_roles_of_a_gang_grow_together() -> None:
    request = Request("j", "a", (Role("r", 9, Shape(cpu=1), least=1), Role("s", 5, Shape(cpu=1), least=3)))
    assert largest_sizes(request, lambda sizes: sum(sizes) <= 9) == (5, 4)
    rigid = Request("j", "a", (Role("r", 3, Shape(cpu=1)),))
    assert largest_sizes(rigid, lambda sizes: True) == (3,)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(5, 80), st.integers(2, 4))
def test_equal_queues_with_equal_endless_demands_differ_by_at_most_one_largest_gang(
    sizes: list[int], capacity: int, count: int
) -> None:
    names = "abcd"[:count]
    waiting = Waiting(
        [gang(f"{name}{at}", name, cpu=sizes[at % len(sizes)], at=at) for name in names for at in range(capacity)]
    )
    quotas = Quotas([queue(name) for name in names], {"cpu": capacity})
    start_all(waiting, quotas, {})
    got = used(quotas, names, "cpu")
    assert max(got) - min(got) <= max(sizes)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12), st.integers(0, 3)), min_size=4, max_size=4),
    st.integers(0, 6),
)
def test_when_everybody_demands_each_gets_at_least_what_it_is_guaranteed_or_demands(
    queues: list[tuple[int, int, int]], more: int
) -> None:
    parents = [None, None, "o", "o"]
    names = ["p", "q", "t", "u"]
    rules = [queue("o")] + [
        queue(name, parent, cpu=Quota(guarantee=guarantee))
        for name, parent, (guarantee, _, _) in zip(names, parents, queues, strict=True)
    ]
    waiting = Waiting()
    for name, (_, wanted, priority) in zip(names, queues, strict=True):
        for at in range(wanted):
            waiting.add(gang(f"{name}{at}", name, cpu=1, priority=priority))
    quotas = Quotas(rules, {"cpu": sum(guarantee for guarantee, _, _ in queues) + more})
    start_all(waiting, quotas, {})
    for name, (guarantee, wanted, _) in zip(names, queues, strict=True):
        assert quotas.used(name, "cpu") >= min(guarantee, wanted)


@given(st.lists(st.integers(1, 6), min_size=3, max_size=3), st.integers(1, 4), st.integers(1, 40))
def test_more_weight_never_gives_less(weights: list[int], more: int, capacity: int) -> None:
    got = []
    for extra in (0, more):
        rules = [
            queue(name, weight=weight + extra * (name == "a")) for name, weight in zip("abc", weights, strict=True)
        ]
        waiting = Waiting([gang(f"{name}{at}", name, cpu=1) for name in "abc" for at in range(capacity)])
        quotas = Quotas(rules, {"cpu": capacity})
        start_all(waiting, quotas, {})
        got.append(quotas.used("a", "cpu"))
    assert got[1] >= got[0]


CLAIMS = st.builds(
    lambda floor, more, weight: Claim(floor, floor + more, weight),
    st.integers(0, 20), st.integers(0, 20), st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)  # fmt: skip


@given(st.lists(CLAIMS, max_size=6), st.integers(0, 60))
def test_a_split_spends_all_that_is_wanted_and_gives_floors_first(claims: list[Claim], amount: int) -> None:
    got = split(amount, claims)
    assert sum(got) <= amount + 1e-6
    if sum(claim.floor for claim in claims) <= amount:
        assert all(claim.floor - 1e-6 <= part <= claim.cap + 1e-6 for claim, part in zip(claims, got, strict=True))
        full = all(part >= claim.cap - 1e-6 for claim, part in zip(claims, got, strict=True) if claim.weight)
        assert full or sum(got) == pytest.approx(amount)


@given(st.lists(CLAIMS, min_size=1, max_size=6), st.integers(0, 60), st.floats(0.1, 5))
def test_more_weight_never_gets_less_of_a_split(claims: list[Claim], amount: int, more: float) -> None:
    first = claims[0]
    heavier = [Claim(first.floor, first.cap, first.weight + more), *claims[1:]]
    assert split(amount, heavier)[0] >= split(amount, claims)[0] - 1e-6


def test_what_is_never_lent_and_not_wanted_is_nobodys_share() -> None:
    rules = [queue("a", cpu=Quota(4, lending=1)), queue("b"), queue("c", "b", cpu=Quota(limit=3)), queue("d", "b")]
    wanted: Mapping[str, Mapping[str, int]] = {"c": {"cpu": 9}, "d": {"cpu": 9}}
    shares = FairShares(Quotas(rules, {"cpu": 10}), wanted)
    assert [shares.fair(name, "cpu") for name in "abcd"] == [0, 7, 3, 4]


def _off(pool: Endless, **fair: int) -> int:
    return max(abs(count - wanted) for count, wanted in zip(pool.tasks_of(*fair), fair.values(), strict=True))
