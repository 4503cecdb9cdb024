"""What queues use, borrow and lend."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as some

from policies.queue_usage import ResourceUse, lent_by, queues_in_use
from policies.scheduling.model import QueueRules, Quota

GPU = "gpu"
Tree = list[tuple[str, str | None, Quota]]


@some.composite
def trees(draw: some.DrawFn) -> tuple[list[QueueRules], dict[str, int], int]:
    """Queues whose guarantees fit into those above, with what gangs directly in each use, summed upwards."""
    parents: dict[str, str | None] = {}
    for number in range(draw(some.integers(1, 8))):
        parents[f"q{number}"] = draw(some.sampled_from([None, *parents]))
    guarantee = dict.fromkeys(parents, 0)
    used = dict.fromkeys(parents, 0)
    for name in reversed(parents):
        guarantee[name] += draw(some.integers(0, 10))
        used[name] += draw(some.integers(0, 20))
        if (parent := parents[name]) is not None:
            guarantee[parent] += guarantee[name]
            used[parent] += used[name]
    lending = {name: draw(some.none() | some.integers(0, guarantee[name])) for name in parents}
    queues = [
        QueueRules(name, parent, quotas={GPU: Quota(guarantee[name], lending=lending[name])})
        for name, parent in parents.items()
    ]
    roots = sum(guarantee[name] for name, parent in parents.items() if parent is None)
    return queues, used, roots + draw(some.integers(0, 20))


@given(trees())
def test_nobody_lends_more_than_is_idle_and_may_be_lent(
    tree: tuple[list[QueueRules], dict[str, int], int],
) -> None:
    queues, used, capacity = tree
    lent = lent_by(queues, GPU, used, capacity)
    for rules in queues:
        quota, amount = rules.quotas[GPU], sum(lent[rules.name].values())
        assert 0 <= amount <= max(0, quota.guarantee - used[rules.name])
        assert quota.lending is None or amount <= quota.lending
        assert rules.name not in lent[rules.name]
        assert all(each > 0 for each in lent[rules.name].values())


@given(trees())
def test_nobody_has_more_from_siblings_than_it_borrows(tree: tuple[list[QueueRules], dict[str, int], int]) -> None:
    queues, used, capacity = tree
    lent = lent_by(queues, GPU, used, capacity)
    roots = [rules for rules in queues if rules.parent is None]
    has = sum((Counter(lent[rules.name]) for rules in roots), Counter[str]())
    over = {rules.name: max(0, used[rules.name] - rules.quotas[GPU].guarantee) for rules in roots}
    assert all(amount <= over[name] for name, amount in has.items())


@given(trees())
def test_without_anybody_above_a_guarantee_nothing_is_lent(
    tree: tuple[list[QueueRules], dict[str, int], int],
) -> None:
    queues, _, capacity = tree
    assert not any(lent_by(queues, GPU, {rules.name: 0 for rules in queues}, capacity).values())


@given(some.integers(0, 50), some.integers(0, 50), some.lists(some.integers(0, 9), min_size=1, max_size=5))
def test_all_that_is_borrowed_of_a_full_pool_is_lent_by_somebody(own: int, more: int, idle: list[int]) -> None:
    lenders = [QueueRules(f"q{number}", quotas={GPU: Quota(amount)}) for number, amount in enumerate(idle)]
    queues = [QueueRules("taker", quotas={GPU: Quota(own)}), *lenders]
    borrowed = min(more, sum(idle))
    used = {"taker": own + borrowed, **{rules.name: 0 for rules in lenders}}
    lent = lent_by(queues, GPU, used, own + sum(idle))
    assert sum(sum(each.values()) for each in lent.values()) == borrowed


ALL = QueueRules("all", quotas={GPU: Quota(20)})
LOW = QueueRules("low", "all", quotas={GPU: Quota(8, 16)})
HIGH = QueueRules("high", "all", quotas={GPU: Quota(8)})
OTHER = QueueRules("other", quotas={GPU: Quota(10)})


@pytest.mark.parametrize(
    ("used", "capacity", "lent"),
    [
        # the four that nobody below `all` is guaranteed go first
        ({"all": 14, "low": 12, "high": 2, "other": 0}, 30, {}),
        ({"all": 16, "low": 14, "high": 2, "other": 0}, 30, {"high": {"low": 2}}),
        # all of `all` and more: the sibling's idle ones, then those of the other root
        ({"all": 24, "low": 22, "high": 2, "other": 0}, 30, {"high": {"low": 6}, "other": {"all": 4}}),
        # what a root lends is first what none of its own queues is guaranteed
        ({"all": 0, "low": 0, "high": 0, "other": 13}, 30, {"all": {"other": 3}}),
        (
            {"all": 0, "low": 0, "high": 0, "other": 20},
            30,
            {"all": {"other": 10}, "low": {"other": 3}, "high": {"other": 3}},
        ),
        # nodes that no queue is guaranteed are borrowed of nobody
        ({"all": 24, "low": 22, "high": 2, "other": 0}, 40, {"high": {"low": 6}}),
    ],
)
def test_the_nearest_relatives_lend_first(used: dict[str, int], capacity: int, lent: dict[str, dict[str, int]]) -> None:
    found = lent_by([ALL, OTHER, LOW, HIGH], GPU, used, capacity)
    assert {name: amounts for name, amounts in found.items() if amounts} == lent


def test_a_queue_is_told_of_what_it_has_uses_or_waits_for_and_what_waits_below_counts_above() -> None:
    used = {"all": {"gpu": 12, "cpu": 5}, "low": {"gpu": 12, "cpu": 5}}
    rows = queues_in_use([ALL, LOW, HIGH], used, {"high": {"gpu": 4, "memory": 7}}, {"gpu": 20})
    assert [(row.queue, row.resource, row.used, row.borrowed, row.waiting) for row in rows] == [
        ("all", "cpu", 5, 5, 0),
        ("all", "gpu", 12, 0, 4),
        ("all", "memory", 0, 0, 7),
        ("low", "cpu", 5, 5, 0),
        ("low", "gpu", 12, 4, 0),
        ("high", "gpu", 0, 0, 4),
        ("high", "memory", 0, 0, 7),
    ]
    assert rows[4] == ResourceUse("low", "gpu", 8, 16, 12, 0, {})
