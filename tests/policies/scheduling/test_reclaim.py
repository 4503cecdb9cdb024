from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.fair_share import FairShares
from policies.scheduling.model import QueueRules, Quota, Reclaim
from policies.scheduling.quotas import Quotas
from policies.scheduling.reclaim import Claims, may_reclaim
from tests.policies.scheduling.queue_parts import queue

Amounts = dict[str, dict[str, int]]


def shares(rules: list[QueueRules], used: Mapping[str, int], wanted: Mapping[str, int], pool: int = 12) -> FairShares:
    quotas = Quotas(rules, {"cpu": pool})
    for name, amount in used.items():
        quotas.add(name, {"cpu": amount})
    return FairShares(quotas, {name: {"cpu": amount} for name, amount in wanted.items()})


def test_a_queue_below_its_guarantee_takes_from_one_above_its_own() -> None:
    rules = [queue(name, cpu=Quota(guarantee=4)) for name in "abc"]
    made = shares(rules, {"a": 12}, {"a": 12, "b": 4, "c": 4})
    assert may_reclaim(made, "b", "a", {"cpu": 4}, {"cpu": 6}) is Claims.GUARANTEE
    assert may_reclaim(made, "b", "a", {"cpu": 5}, {"cpu": 6}) is None
    made.quotas.remove("a", {"cpu": 6})
    made.quotas.add("b", {"cpu": 4})
    assert may_reclaim(made, "c", "a", {"cpu": 4}, {"cpu": 6}) is Claims.GUARANTEE
    made.quotas.remove("a", {"cpu": 6})
    made.quotas.add("c", {"cpu": 4})
    assert [may_reclaim(made, "a", other, {"cpu": 4}) for other in "bc"] == [None, None]


def test_what_a_queue_never_lends_is_never_taken() -> None:
    rules = [queue("org1", cpu=Quota(guarantee=20, lending=0)), queue("b", cpu=Quota(guarantee=80))]
    made = shares(rules, {"org1": 60}, {"org1": 60, "b": 80}, 100)
    assert may_reclaim(made, "b", "org1", {"cpu": 40}, {"cpu": 40}) is Claims.GUARANTEE
    assert may_reclaim(made, "b", "org1", {"cpu": 40}, {"cpu": 41}) is None


def test_a_queue_below_its_fair_share_takes_only_while_the_victim_stays_as_saturated() -> None:
    rules = [queue("a"), queue("b")]
    made = shares(rules, {"a": 12}, {"a": 12, "b": 12})
    assert may_reclaim(made, "b", "a", {"cpu": 6}, {"cpu": 6}) is Claims.SHARE
    assert may_reclaim(made, "b", "a", {"cpu": 7}, {"cpu": 5}) is None
    assert may_reclaim(made, "b", "a", {"cpu": 6}, {"cpu": 7}) is None
    assert may_reclaim(made, "a", "b", {"cpu": 1}) is None


@pytest.mark.parametrize("theirs", [queue("b", gpu=Quota(1)), queue("b", cpu=Quota(1))])
def test_a_gang_within_its_guarantee_is_not_claimed_for_what_it_uses_beside(theirs: QueueRules) -> None:
    quotas = Quotas([queue("a", gpu=Quota(1)), theirs], {"cpu": 1, "gpu": 1})
    both = {"cpu": 1, "gpu": 1}
    quotas.add("b", both)
    assert may_reclaim(FairShares(quotas, {"a": both, "b": both}), "a", "b", both) is None


def test_a_guarantee_of_one_resource_claims_nothing_of_another() -> None:
    quotas = Quotas([queue("a", cpu=Quota(4)), queue("b", weight=9)], {"cpu": 8, "gpu": 4})
    quotas.add("b", {"cpu": 4, "gpu": 4})
    made = FairShares(quotas, {"a": {"cpu": 1, "gpu": 4}, "b": {"cpu": 4, "gpu": 4}})
    assert may_reclaim(made, "a", "b", {"cpu": 1, "gpu": 4}, {"gpu": 4}) is None


def test_by_fair_share_nothing_is_taken_of_a_guarantee() -> None:
    rules = [queue("a", weight=0, cpu=Quota(guarantee=6)), queue("b"), queue("c")]
    made = shares(rules, {"a": 12}, {"a": 12, "b": 12, "c": 12})
    assert may_reclaim(made, "b", "a", {"cpu": 2}, {"cpu": 6}) is Claims.SHARE
    assert may_reclaim(made, "b", "a", {"cpu": 2}, {"cpu": 7}) is None


def test_a_victim_that_frees_nothing_of_what_is_asked_is_left_alone() -> None:
    made = shares([queue("a"), queue("b")], {"a": 12}, {"a": 12, "b": 12})
    assert may_reclaim(made, "b", "a", {"cpu": 2}, {"memory": 6}) is None


def test_a_queue_whose_rules_say_never_takes_nothing() -> None:
    rules = [queue("a"), QueueRules("b", quotas={"cpu": Quota(guarantee=4)}, reclaim=Reclaim.NEVER)]
    assert may_reclaim(shares(rules, {"a": 12}, {"a": 12, "b": 4}), "b", "a", {"cpu": 4}) is None


@pytest.mark.parametrize(("victim", "right"), [("u", Claims.GUARANTEE), ("v", None), ("org", None), ("t", None)])
def test_an_organisation_within_its_guarantee_gives_only_to_its_own_teams(victim: str, right: Claims | None) -> None:
    rules = [
        queue("org", cpu=Quota(guarantee=8)),
        queue("t", "org", cpu=Quota(guarantee=4)),
        queue("u", "org"),
        queue("v", cpu=Quota(guarantee=4)),
    ]
    made = shares(rules, {"u": 8, "v": 4}, {"t": 4, "u": 8, "v": 8})
    assert may_reclaim(made, "t", victim, {"cpu": 4}) is right
    assert may_reclaim(made, "v", "u", {"cpu": 2}) is None


MANY = 300
AMOUNT = st.fixed_dictionaries({"cpu": st.integers(0, 6), "gpu": st.integers(0, 6)})
RULES = st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans(), st.sampled_from([0.0, 1.0, 2.0]))
NAMES = {"o": None, "p": None, "t": "o", "u": "o"}


@settings(max_examples=MANY)
@given(
    st.fixed_dictionaries(dict.fromkeys(NAMES, RULES)),
    st.fixed_dictionaries(dict.fromkeys(("p", "t", "u"), st.lists(AMOUNT, max_size=4))),
    st.fixed_dictionaries(dict.fromkeys(("p", "t", "u"), st.lists(AMOUNT, min_size=1, max_size=3))),
)
def test_two_queues_never_take_from_each_other_in_turn(
    rules: dict[str, tuple[int, int, bool, float]],
    running: dict[str, list[dict[str, int]]],
    waiting: dict[str, list[dict[str, int]]],
) -> None:
    quotas = Quotas([_rule(name, *rule) for name, rule in rules.items()], {"cpu": 16, "gpu": 16})
    wanted = {name: _sum([*running[name], *waiting[name]]) for name in running}
    for name, gangs in running.items():
        for demand in gangs:
            quotas.add(name, demand)
    made = FairShares(quotas, wanted)
    for beneficiary, victim in (("p", "t"), ("t", "p"), ("t", "u")):
        for demand in waiting[beneficiary]:
            for given_ in running[victim]:
                if may_reclaim(made, beneficiary, victim, demand, given_) is None:
                    continue
                quotas.remove(victim, given_)
                quotas.add(beneficiary, demand)
                back = [
                    may_reclaim(made, victim, beneficiary, given_, each) for each in (demand, *running[beneficiary])
                ]
                quotas.remove(beneficiary, demand)
                quotas.add(victim, given_)
                assert back == [None] * len(back)


def _rule(name: str, cpu: int, gpu: int, keeps: bool, weight: float) -> QueueRules:
    lending = 0 if keeps else None
    return queue(name, NAMES[name], weight, cpu=Quota(cpu, lending=lending), gpu=Quota(gpu))


def _sum(gangs: list[dict[str, int]]) -> dict[str, int]:
    return {resource: sum(each[resource] for each in gangs) for resource in ("cpu", "gpu")}
