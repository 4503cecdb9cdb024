from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduling.demands import capacity, demand, slice_parts, taken
from policies.scheduling.model import Cause, Node, Pod, QueueRules, Quota, Request, Role, Shape
from policies.scheduling.quotas import Bound, Quotas
from policies.scheduling.reclaim import reclaimable
from tests.policies.scheduling.queue_parts import gang, queue

TWO = Shape(cpu=1, memory=2, gpus=2)


def test_the_check_asks_whether_it_would_be_full_after() -> None:
    quotas = Quotas([queue("a", cpu=Quota(limit=10))], {"cpu": 100})
    quotas.add("a", {"cpu": 9})
    short = quotas.fits("a", {"cpu": 10})
    assert short is not None
    assert (short.rule, short.queue, short.needed, short.used, short.free, short.bound) == (
        Bound.LIMIT, "a", 10, 9, 1, 10,
    )  # fmt: skip
    assert quotas.fits("a", {"cpu": 1}) is None


def test_when_one_of_four_ends_at_limit_two_one_starts() -> None:
    quotas = Quotas([queue("a", gpu=Quota(limit=2))], {"gpu": 9})
    fitting = 0
    for _ in range(4):
        if quotas.fits("a", {"gpu": 1}) is None:
            quotas.add("a", {"gpu": 1})
            fitting += 1
    quotas.remove("a", {"gpu": 1})
    assert fitting == 2
    assert quotas.fits("a", {"gpu": 1}) is None
    quotas.add("a", {"gpu": 1})
    assert quotas.fits("a", {"gpu": 1}) is not None


@pytest.mark.parametrize(("evicted", "admitted"), [(0, 0), (1, 1), (2, 2)])
def test_two_newcomers_never_both_start_on_the_room_of_one_victim(evicted: int, admitted: int) -> None:
    quotas = Quotas([queue(name, cpu=Quota(guarantee=4)) for name in "abc"], {"cpu": 12})
    for _ in range(2):
        assert quotas.fits("a", {"cpu": 6}) is None
        quotas.add("a", {"cpu": 6})
    assert reclaimable(quotas, "a", "cpu", by="b") == 8
    for _ in range(evicted):
        quotas.remove("a", {"cpu": 6})
    started = 0
    for newcomer in "bc":
        if quotas.fits(newcomer, {"cpu": 4}) is None:
            quotas.add(newcomer, {"cpu": 4})
            started += 1
    assert started == admitted


def test_what_is_held_counts_as_used_and_is_named_apart() -> None:
    quotas = Quotas([queue("a", cpu=Quota(limit=10))], {"cpu": 100})
    quotas.add("a", {"cpu": 3})
    quotas.add("a", {"cpu": 4}, held=True)
    short = quotas.fits("a", {"cpu": 4})
    assert short is not None
    assert (short.used, short.held, short.free) == (3, 4, 3)
    quotas.remove("a", {"cpu": 4}, held=True)
    assert (quotas.used("a", "cpu"), quotas.held("a", "cpu")) == (3, 0)


def test_limits_hold_at_every_level_up_to_the_pool() -> None:
    rules = [queue("org", cpu=Quota(limit=10)), queue("t", "org", cpu=Quota(limit=8)), queue("u", "org")]
    quotas = Quotas(rules, {"cpu": 12})
    quotas.add("u", {"cpu": 7})
    assert [_at(quotas, "t", amount) for amount in (3, 4, 9)] == [None, ("org", Bound.LIMIT), ("t", Bound.LIMIT)]
    assert _at(Quotas(rules[2:] and [queue("u")], {"cpu": 12}), "u", 13) == ("", Bound.POOL)


@pytest.mark.parametrize(
    ("lending", "borrowing", "most"),
    [(None, None, 100), (0, None, 80), (5, None, 85), (None, 10, 50), (0, 50, 80)],
)
def test_a_queue_borrows_what_others_lend_and_do_not_use(lending: int | None, borrowing: int | None, most: int) -> None:
    rules = [queue("owner", cpu=Quota(20, lending=lending)), queue("a", cpu=Quota(40, borrowing=borrowing))]
    quotas = Quotas(rules, {"cpu": 100})
    assert quotas.fits("a", {"cpu": most}) is None
    assert quotas.fits("a", {"cpu": most + 1}) is not None
    quotas.add("a", {"cpu": most})
    kept = min(20 - (20 if lending is None else lending), 100 - most)
    assert quotas.fits("owner", {"cpu": kept}) is None


def test_a_guarantee_that_is_never_lent_stays_free_within_a_limited_organisation() -> None:
    rules = [queue("org", cpu=Quota(limit=30)), queue("owner", "org", cpu=Quota(20, lending=0)), queue("a", "org")]
    quotas = Quotas(rules, {"cpu": 100})
    assert quotas.fits("a", {"cpu": 10}) is None
    assert _at(quotas, "a", 11) == ("org", Bound.KEPT)
    quotas.add("a", {"cpu": 10})
    assert quotas.fits("owner", {"cpu": 20}) is None
    assert _at(quotas, "owner", 21) == ("org", Bound.LIMIT)


@pytest.mark.parametrize("lending", [None, 0])
def test_only_what_is_above_the_guarantee_can_be_claimed_back(lending: int | None) -> None:
    quotas = Quotas([queue("org1", cpu=Quota(20, lending=lending)), queue("org2", cpu=Quota(80))], {"cpu": 100})
    quotas.add("org1", {"cpu": 60})
    assert reclaimable(quotas, "org1", "cpu") == 40


def test_an_organisation_within_its_guarantee_gives_nothing_to_others_and_its_teams_give_to_each_other() -> None:
    rules = [queue("org", cpu=Quota(60)), queue("t", "org", cpu=Quota(10)), queue("u", "org"), queue("out")]
    quotas = Quotas(rules, {"cpu": 100})
    quotas.add("t", {"cpu": 50})
    assert [reclaimable(quotas, "t", "cpu", by) for by in ("u", "out")] == [40, 0]
    quotas.add("u", {"cpu": 25})
    assert [reclaimable(quotas, "t", "cpu", by) for by in ("u", "out")] == [40, 15]


@pytest.mark.parametrize(
    ("quota", "asked", "bound", "rule"),
    [
        (Quota(limit=5), 6, 5, Bound.LIMIT),
        (Quota(limit=5), 5, None, None),
        (Quota(guarantee=2, borrowing=2), 5, 4, Bound.BORROWING),
        (Quota(), 10**9, None, None),
    ],
)
def test_a_request_above_every_limit_is_refused_for_ever_with_the_limit(
    quota: Quota, asked: int, bound: int | None, rule: Bound | None
) -> None:
    quotas = Quotas([queue("a", cpu=quota)], {"cpu": 1})
    quotas.add("a", {"cpu": 1})
    short = quotas.can_ever("a", {"cpu": asked})
    if bound is None:
        assert short is None
    else:
        assert short is not None
        assert (short.queue, short.resource, short.needed, short.bound, short.free) == ("a", "cpu", asked, bound, bound)
        assert short.rule is rule
        assert short.refusal("j").cause is Cause.LIMIT


def test_what_others_never_lend_can_never_be_had() -> None:
    rules = [queue("org", cpu=Quota(limit=30)), queue("owner", "org", cpu=Quota(20, lending=0)), queue("a", "org")]
    quotas = Quotas(rules, {"cpu": 100})
    assert quotas.can_ever("a", {"cpu": 10}) is None
    short = quotas.can_ever("a", {"cpu": 11})
    assert short is not None
    assert (short.queue, short.free, short.rule) == ("org", 10, Bound.KEPT)
    assert quotas.can_ever("owner", {"cpu": 30}) is None


def test_one_request_counts_against_holders_of_several_trees() -> None:
    beside = [queue("tenant", cpu=Quota(limit=6)), queue("user", "tenant", cpu=Quota(limit=4))]
    quotas = Quotas([queue("a", cpu=Quota(limit=9))], {"cpu": 20}, beside)
    quotas.add(["a", "user"], {"cpu": 4})
    quotas.add(["a", "tenant"], {"cpu": 1})
    assert [quotas.used(name, "cpu") for name in ("a", "user", "tenant", "")] == [5, 4, 5, 5]
    for holders, at in ((["a", "user"], "user"), (["a", "tenant"], None), (["tenant", "a"], None), ("a", None)):
        short = quotas.fits(holders, {"cpu": 1})
        assert (short and short.queue) == at
    assert quotas.room(["a", "tenant"])[quotas.resources.index("cpu")] == 1
    assert quotas.can_ever(["a", "user"], {"cpu": 5}) is not None


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ([queue("a"), queue("a")], "same name"),
        ([queue("a", "lost")], "'a' has no parent 'lost'"),
        ([queue("a", "b"), queue("b", "a")], "'a' is below itself"),
    ],
)
def test_a_tree_that_is_none_is_refused(rules: list[QueueRules], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Quotas(rules, {})


def test_parents_may_be_named_after_their_children() -> None:
    quotas = Quotas([queue("t", "org"), queue("org", cpu=Quota(limit=1))], {"cpu": 9})
    assert _at(quotas, "t", 2) == ("org", Bound.LIMIT)


def test_a_scratch_leaves_the_amounts_as_they_were() -> None:
    quotas = Quotas([queue("a", cpu=Quota(limit=5))], {"cpu": 9})
    scratch = quotas.copy()
    scratch.add("a", {"cpu": 5, "gpu/new": 1})
    assert quotas.fits("a", {"cpu": 5}) is None
    assert scratch.fits("a", {"cpu": 1}) is not None
    assert "gpu/new" not in quotas.resources


def test_nodes_that_join_make_room_and_nodes_that_leave_take_it() -> None:
    quotas = Quotas([queue("a")], {"cpu": 2})
    quotas.add("a", {"cpu": 2})
    quotas.resize({"cpu": 5})
    assert quotas.fits("a", {"cpu": 3}) is None
    quotas.resize({"cpu": 1})
    short = quotas.fits("a", {"cpu": 1})
    assert short is not None
    assert (short.refusal("j").cause, short.free, short.bound) == (Cause.CAPACITY, 0, 1)


@pytest.mark.parametrize(
    ("shape", "amounts"),
    [
        (TWO, {"cpu": 3, "memory": 6, "gpu": 6000}),
        (Shape(gpus=1, share=250, gpu_models=("a100",)), {"gpu": 750, "gpu/a100": 750}),
        (Shape(gpus=1, gpu_models=("a100", "h100")), {"gpu": 3000}),
        (Shape(slices=(("3g.40gb", 2),)), {"gpu": 3 * 2 * 428}),
        (Shape(cpu=1), {"cpu": 3}),
    ],
)
def test_a_gang_asks_what_all_its_pods_ask(shape: Shape, amounts: Mapping[str, int]) -> None:
    request = Request("j", "a", (Role("r", 3, shape),))
    assert demand(request) == Quotas.demand(request) == amounts
    assert demand(request, [0]) == {}


def test_where_its_pods_are_a_gang_takes_the_models_that_it_got() -> None:
    request = Request("j", "a", (Role("r", 2, Shape(gpus=1, gpu_models=("a100", "h100"))),))
    pods = [Pod(0, "n1"), Pod(0, "n2")]
    models = {"n1": "a100", "n2": "h100"}
    assert taken(request, pods, models) == {"gpu": 2000, "gpu/a100": 1000, "gpu/h100": 1000}


def test_capacity_is_the_sum_of_all_nodes_by_model() -> None:
    nodes = [
        Node("n1", 8, 16, 2, "a100"),
        Node("n2", 8, 16, 4, "h100"),
        Node("n3", 8, 16, model="h100", slices={"1g.10gb": 7}),
        Node("n4", 1, 1),
    ]
    assert capacity(nodes) == {"cpu": 25, "memory": 49, "gpu": 6994, "gpu/a100": 2000, "gpu/h100": 4994}
    assert (slice_parts("7g.80gb"), slice_parts("whole")) == (1000, 1000)


QUOTA = st.builds(
    lambda guarantee, more, borrowing, lending: Quota(
        guarantee, None if more is None else guarantee + more, borrowing, lending
    ),
    st.integers(0, 8), *[st.none() | st.integers(0, 8)] * 3,
)  # fmt: skip
PARENTS = {"o": None, "p": None, "t": "o", "u": "o", "v": "t"}
TREES = st.fixed_dictionaries({name: QUOTA for name in PARENTS})
STEPS = st.lists(st.tuples(st.sampled_from(sorted(PARENTS)), st.integers(1, 9), st.booleans()), max_size=40)


@given(TREES, STEPS, st.integers(0, 40))
def test_whatever_comes_and_goes_no_bound_is_exceeded(
    rules: dict[str, Quota], steps: list[tuple[str, int, bool]], pool: int
) -> None:
    quotas = Quotas([queue(name, PARENTS[name], cpu=rule) for name, rule in rules.items()], {"cpu": pool})
    running: list[tuple[str, int]] = []
    for name, amount, leave in steps:
        if leave and running:
            gone, freed = running.pop(amount % len(running))
            quotas.remove(gone, {"cpu": freed})
        else:
            short, room = quotas.fits(name, {"cpu": amount}), quotas.room(name)[0]
            assert (short is None) == (amount <= room)
            if short is None:
                quotas.add(name, {"cpu": amount})
                running.append((name, amount))
            else:
                assert short.free < amount
                assert short.free >= room
        _check(quotas, rules)
    assert all(quotas.used(name, "cpu") == _sum(running, name) for name in PARENTS)


@given(TREES, STEPS, st.integers(0, 40))
def test_what_can_never_fit_never_does(rules: dict[str, Quota], steps: list[tuple[str, int, bool]], pool: int) -> None:
    quotas = Quotas([queue(name, PARENTS[name], cpu=rule) for name, rule in rules.items()], {"cpu": pool})
    never = {(name, amount) for name in PARENTS for amount in range(1, 10) if quotas.can_ever(name, {"cpu": amount})}
    for name, amount, _ in steps:
        if quotas.fits(name, {"cpu": amount}) is None:
            assert (name, amount) not in never
            quotas.add(name, {"cpu": amount})


@given(st.integers(0, 9), st.integers(0, 9), STEPS)
def test_a_guarantee_that_is_not_lent_always_finds_its_room(
    guarantee: int, lent: int, steps: list[tuple[str, int, bool]]
) -> None:
    rules = [queue(name, PARENTS[name]) for name in PARENTS if name != "v"]
    quotas = Quotas([*rules, queue("v", "t", cpu=Quota(guarantee, lending=min(lent, guarantee)))], {"cpu": 20})
    for name, amount, _ in steps:
        if name != "v" and quotas.fits(name, {"cpu": amount}) is None:
            quotas.add(name, {"cpu": amount})
    assert quotas.fits("v", {"cpu": guarantee - min(lent, guarantee)}) is None


def _at(quotas: Quotas, name: str, amount: int) -> tuple[str, Bound] | None:
    short = quotas.fits(name, quotas.demand(gang("j", name, cpu=amount)))
    return None if short is None else (short.queue, short.rule)


def _check(quotas: Quotas, rules: dict[str, Quota]) -> None:
    for name, rule in rules.items():
        used = quotas.used(name, "cpu")
        assert rule.limit is None or used <= rule.limit
        assert rule.borrowing is None or used <= quotas.guarantee(name, "cpu") + rule.borrowing
    kept = {top: quotas.kept(top, "cpu") for top in ("o", "p")}
    if sum(kept.values()) <= quotas.capacity("cpu"):
        occupied = sum(max(quotas.used(top, "cpu"), amount) for top, amount in kept.items())
        assert occupied <= quotas.capacity("cpu")


def _sum(running: list[tuple[str, int]], name: str) -> int:
    below = {each for each in PARENTS if name in _up(each)}
    return sum(amount for each, amount in running if each in below)


def _up(name: str | None) -> list[str]:
    return [] if name is None else [name, *_up(PARENTS[name])]
