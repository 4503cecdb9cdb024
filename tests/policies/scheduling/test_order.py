import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduling.model import Cause, QueueRules, Quota, Request, Stop
from policies.scheduling.order import Round, places
from policies.scheduling.quotas import Quotas
from policies.scheduling.waiting import Waiting
from tests.policies.scheduling.queue_parts import GPU, end, gang, queue, start_all, used

A = queue("a")


def names(waiting: Waiting, made: Round) -> list[str]:
    """Everything that is offered, each started in its turn."""
    found = []
    for number in made:
        found.append(waiting.request(number).id)
        made.started(number)
    return found


def test_reservations_come_first_then_priority_then_age() -> None:
    waiting = Waiting(
        [
            gang("young", "a", at=9),
            gang("old", "a", at=1),
            gang("urgent", "a", at=8, priority=5),
            Request("booked", "a", gang("x", "a").roles, submitted=9, priority=-1, reservation="r"),
        ]
    )
    assert names(waiting, Round(waiting, Quotas([A], {}))) == ["booked", "urgent", "old", "young"]


def test_between_queues_of_equal_share_the_oldest_gang_comes_first_and_then_shares_alternate() -> None:
    waiting = Waiting([gang(f"{to}{at}", to, cpu=1, at=at) for to, at in [("a", 3), ("a", 4), ("b", 1), ("b", 2)]])
    assert names(waiting, Round(waiting, Quotas([A, queue("b")], {"cpu": 9}))) == ["b1", "a3", "b2", "a4"]


def test_what_is_within_a_guarantee_comes_before_all_that_borrow_whatever_its_priority() -> None:
    rules = [A, queue("b", cpu=Quota(guarantee=4))]
    waiting = Waiting(
        [*(gang(f"a{at}", "a", cpu=2, priority=9) for at in range(9)), *(gang(f"b{at}", "b", cpu=2) for at in range(9))]
    )
    quotas = Quotas(rules, {"cpu": 10})
    started = start_all(waiting, quotas, {})
    assert started[:2] == ["b0", "b1"]
    assert used(quotas, "ab", "cpu") == [6, 4]


def test_a_gang_that_exceeds_the_guarantee_does_not_count_as_within_it() -> None:
    rules = [queue("a", cpu=Quota(guarantee=4)), queue("b", cpu=Quota(guarantee=6))]
    waiting = Waiting([gang("big", "a", cpu=8, at=0), *(gang(f"b{at}", "b", cpu=1, at=1) for at in range(9))])
    quotas = Quotas(rules, {"cpu": 10})
    start_all(waiting, quotas, {})
    assert quotas.used("b", "cpu") >= 6


def test_a_guarantee_inside_an_organisation_comes_before_its_other_teams() -> None:
    rules = [
        queue("org", cpu=Quota(guarantee=4)),
        queue("team", "org", cpu=Quota(guarantee=2)),
        queue("rest", "org"),
        queue("out"),
    ]
    waiting = Waiting([gang(f"{to}{at}", to, cpu=1, priority=-at) for to in ("rest", "out", "team") for at in range(4)])
    assert start_all(waiting, Quotas(rules, {"cpu": 4}), {}) == ["team0", "team1", "rest0", "rest1"]


def test_in_a_best_effort_queue_smaller_gangs_pass_one_that_a_limit_keeps_back() -> None:
    waiting = Waiting([gang("big", "a", cpu=6, at=0), gang("small", "a", cpu=1, at=1)])
    made = Round(waiting, Quotas([queue("a", cpu=Quota(limit=5))], {"cpu": 9}))
    assert names(waiting, made) == ["small"]
    skipped = made.why(waiting.index["big"])
    assert skipped is not None
    assert skipped.cause is Cause.LIMIT
    assert skipped.shortage is not None
    assert (skipped.shortage.queue, skipped.shortage.needed, skipped.shortage.bound) == ("a", 6, 5)


@pytest.mark.parametrize("kept_back", ["limit", "failed", "its kind failed"])
def test_in_a_strict_queue_everybody_waits_for_the_first(kept_back: str) -> None:
    strict = QueueRules("a", strict=True, quotas={"cpu": Quota(limit=5)} if kept_back == "limit" else {})
    requests = [gang("big", "a", cpu=6, at=0, priority=1), gang("small", "a", cpu=1), gang("other", "b", cpu=6)]
    waiting = Waiting(
        requests if kept_back != "its kind failed" else [*requests, gang("first", "b", cpu=6, priority=2)]
    )
    made = Round(waiting, Quotas([strict, queue("b")], {"cpu": 99}))
    offered = []
    for number in made:
        offered.append(waiting.request(number).id)
        if kept_back == "failed" and offered[-1] == "big":
            made.failed(number)
        elif kept_back == "its kind failed":
            made.failed(number, whole_shape=True)
        else:
            made.started(number)
    assert offered == {"limit": ["other"], "failed": ["big", "other"], "its kind failed": ["first"]}[kept_back]
    skipped = made.why(waiting.index["small"])
    assert skipped is not None
    assert (skipped.cause, skipped.behind) == (Cause.ORDER, waiting.index["big"])


def test_a_kind_that_failed_is_offered_to_no_queue_again_and_says_on_whom_it_leans() -> None:
    waiting = Waiting([gang(f"{to}{at}", to, cpu=cpu, at=cpu) for to in "abc" for at, cpu in enumerate([4, 4, 1, 4])])
    made = Round(waiting, Quotas([A, queue("b"), queue("c")], {"cpu": 99}))
    offered = []
    for number in made:
        request = waiting.request(number)
        offered.append(request.id)
        if request.roles[0].shape.cpu == 4:
            made.failed(number, whole_shape=True)
        else:
            made.started(number)
    assert len(offered) == 4  # the smaller one of each queue, and one for all the others
    failed = next(name for name in offered if not name.endswith("2"))
    assert len(made.left()) == 9
    for number in made.left():
        skipped = made.why(int(number))
        assert skipped is not None
        assert (skipped.cause, skipped.behind) == (Cause.CAPACITY, waiting.index[failed])


def test_a_gang_that_failed_alone_leaves_others_of_its_kind_their_chance() -> None:
    waiting = Waiting([gang("first", "a", cpu=1, at=0), gang("second", "a", cpu=1, at=1)])
    made = Round(waiting, Quotas([A], {"cpu": 9}))
    first = made.next()
    assert first is not None
    made.failed(first)
    assert names(waiting, made) == ["second"]


def test_what_is_freed_gives_those_that_failed_another_chance_in_the_same_round() -> None:
    waiting = Waiting([gang("one", "a", cpu=6), gang("two", "b", cpu=6)])
    quotas = Quotas([A, queue("b")], {"cpu": 10})
    quotas.add("a", {"cpu": 6})
    made = Round(waiting, quotas)
    assert names(waiting, made) == []
    made.freed("a", {"cpu": 6})
    assert names(waiting, made) == ["one"]
    assert quotas.used("a", "cpu") == 6


def test_a_stopped_queue_and_those_below_it_start_nothing() -> None:
    rules = [QueueRules("a", stop=Stop.HOLD), queue("team", "a"), queue("b")]
    waiting = Waiting([gang("x", "team"), gang("y", "b")])
    made = Round(waiting, Quotas(rules, {}))
    assert names(waiting, made) == ["y"]
    skipped = made.why(waiting.index["x"])
    assert skipped is not None
    assert skipped.cause is Cause.STOPPED
    assert places(waiting, Quotas(rules, {}))[waiting.index["x"]] == 0


def test_a_gang_counts_against_every_holder_that_it_names() -> None:
    beside = [queue("tenant", cpu=Quota(limit=3)), queue("user", "tenant")]
    waiting = Waiting()
    for at in range(4):
        waiting.add(gang(f"own{at}", "a", cpu=1, at=at), beside=["user"])
    waiting.add(gang("foreign", "a", cpu=1, at=9))
    quotas = Quotas([A], {"cpu": 9}, beside)
    made = Round(waiting, quotas)
    assert names(waiting, made) == ["own0", "own1", "own2", "foreign"]
    assert (quotas.used("a", "cpu"), quotas.used("tenant", "cpu")) == (4, 3)
    skipped = made.why(waiting.index["own3"])
    assert skipped is not None
    assert skipped.shortage is not None
    assert skipped.shortage.queue == "tenant"


def test_past_use_counts_against_a_queue() -> None:
    waiting = Waiting([gang("a0", "a", cpu=1, at=0), gang("b0", "b", cpu=1, at=1)])
    past = {"a": {"cpu": 0.5}, "b": {}}
    assert names(waiting, Round(waiting, Quotas([A, queue("b")], {"cpu": 9}), past.__getitem__)) == ["b0", "a0"]


def test_gangs_of_an_inner_queue_compete_with_its_children() -> None:
    rules = [queue("org"), queue("team", "org")]
    waiting = Waiting([gang(f"{to}{at}", to, cpu=1, at=at) for to in ("org", "team") for at in range(4)])
    quotas = Quotas(rules, {"cpu": 4})
    start_all(waiting, quotas, {})
    assert used(quotas, ["org", "team"], "cpu") == [4, 2]


def test_an_elastic_gang_is_measured_at_its_smallest_size() -> None:
    request = gang("e", "a", cpu=1, pods=8)
    role = request.roles[0]
    elastic = Request("e", "a", (type(role)(role.name, 8, role.shape, least=2),))
    waiting = Waiting([elastic])
    quotas = Quotas([queue("a", cpu=Quota(limit=5))], {"cpu": 9})
    made = Round(waiting, quotas)
    number = made.next()
    assert number is not None
    made.started(number, {"cpu": 5})
    assert made.next() is None
    assert quotas.used("a", "cpu") == 5


def test_places_are_the_order_in_which_a_round_without_limits_would_offer_all() -> None:
    picked = random.Random(5)
    rules = [queue("o", cpu=Quota(guarantee=9)), queue("t", "o"), queue("u", "o", 2.0), queue("p"), queue("q", "p")]
    waiting = Waiting(
        [
            gang(str(at), picked.choice("tuq"), picked.randint(1, 5), picked.randint(0, 2), at=at, priority=at % 3)
            for at in range(300)
        ]
    )
    quotas = Quotas(rules, {"cpu": 1 << 40, "gpu": 1 << 40})
    found = places(waiting, quotas)
    by_place = [waiting.request(int(number)).id for number in np.argsort(found)]
    assert by_place == names(waiting, Round(waiting, quotas))
    assert sorted(found) == list(range(1, 301))


def test_kinds_and_priorities_of_which_nobody_waits_are_forgotten() -> None:
    waiting = Waiting([gang("stays", "a", cpu=7, at=1), gang("first", "a", cpu=8, priority=9999)])
    for at in range(5000):
        waiting.add(gang(f"j{at}", "a", cpu=at + 10, priority=at % 4000, at=at))
        if at % 3000 == 2999:
            waiting.settle()
        waiting.remove(f"j{at}")
    waiting.settle()
    waiting.add(gang("last", "a", cpu=9, priority=-1))
    made = Round(waiting, Quotas([A], {"cpu": 99}))
    assert len(waiting.kinds) < 2500
    assert names(waiting, made) == ["first", "stays", "last"]
    assert made.quotas.used("a", "cpu") == 24


def test_more_priorities_than_the_order_can_tell_apart_are_refused() -> None:
    waiting = Waiting(gang(str(at), "a", priority=at) for at in range(4096))
    with pytest.raises(ValueError, match="4096 different priorities"):
        waiting.add(gang("one more", "a", priority=-1))
    with pytest.raises(ValueError, match="7 waits already"):
        waiting.add(gang("7", "a"))


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.integers(1, 3), st.booleans()), max_size=40))
def test_kept_arrays_hold_what_a_new_one_would(steps: list[tuple[int, str, int, bool]]) -> None:
    kept, now = Waiting(), dict[str, Request]()
    for at, (priority, to, cpu, leave) in enumerate(steps):
        if leave and now:
            name = sorted(now)[at % len(now)]
            kept.remove(name)
            del now[name]
        else:
            request = gang(f"j{at}", to, cpu, at=at, priority=priority)
            kept.add(request)
            now[request.id] = request
        if at % 3 == 0:
            kept.settle()
    kept.settle()
    fresh = Waiting(sorted(now.values(), key=lambda request: request.submitted))
    fresh.settle()
    order = [[which.request(int(number)).id for number in which.sorted] for which in (kept, fresh)]
    by_queue = [[name for name in each if now[name].queue == "a"] for each in order]
    assert by_queue[0] == by_queue[1]
    assert sorted(order[0]) == sorted(now)


@given(
    st.lists(
        st.tuples(st.sampled_from(["t", "u", "q"]), st.integers(0, 4), st.integers(0, 2), st.integers(0, 2)),
        max_size=40,
    ),
    st.integers(0, 40),
)
def test_the_order_is_a_permutation_of_what_starts_and_limits_hold(
    gangs: list[tuple[str, int, int, int]], capacity: int
) -> None:
    rules = [
        queue("o", cpu=Quota(limit=20)),
        queue("t", "o", cpu=Quota(guarantee=5, lending=2)),
        queue("u", "o", gpu=Quota(limit=6 * GPU)),
        QueueRules("q", strict=True, quotas={"cpu": Quota(guarantee=6, borrowing=3)}),
    ]
    waiting = Waiting([gang(str(at), to, cpu, gpus, priority=p) for at, (to, cpu, gpus, p) in enumerate(gangs)])
    quotas, running = Quotas(rules, {"cpu": capacity, "gpu": 9 * GPU}), dict[str, Request]()
    before = set(waiting.index)
    started = start_all(waiting, quotas, running)
    assert len(started) == len(set(started))
    assert set(started) | set(waiting.index) == before
    assert quotas.used("o", "cpu") <= 20
    assert quotas.used("u", "gpu") <= 6 * GPU
    assert quotas.used("q", "cpu") <= 9
    assert quotas.used("", "cpu") <= max(capacity, 3)
    assert quotas.used("", "gpu") <= 9 * GPU
    for name in running.copy():
        end(quotas, running, name)
    assert [quotas.used("", resource) for resource in ("cpu", "gpu")] == [0, 0]


def test_a_gang_that_would_delay_somebody_keeps_those_alike_back_that_run_as_long_and_have_no_places_of_their_own() -> (
    None
):
    limited = queue("limited", cpu=Quota(limit=50))
    long, short, endless = 60, 59, None
    requests = [
        replace(gang(name, to, cpu=cpu, at=at), limit=limit)
        for at, (name, to, cpu, limit) in enumerate(
            [
                ("first", "a", 4, long),
                ("as-long", "b", 4, long),
                ("shorter", "b", 4, short),
                ("endless", "a", 4, endless),
                ("other-shape", "b", 2, long),
                ("other-bounds", "limited", 4, long),
                ("with-places", "b", 4, endless),
            ]
        )
    ]
    waiting = Waiting(requests)
    made = Round(waiting, Quotas([A, queue("b"), limited], {"cpu": 99}))
    offered = []
    for number in made:
        offered.append(waiting.request(number).id)
        made.failed(number)
        if offered == ["first"]:
            made.pass_over(number, but={"with-places"})
    assert sorted(offered) == ["first", "other-bounds", "other-shape", "shorter", "with-places"]
    assert {waiting.ids[number] for number in made.left()} == {each.id for each in requests}
    assert made.why(waiting.index["as-long"]) is None, "no bound of the order keeps it: whoever asks says why"
    made.freed("a", {})
    again = []
    for number in made:
        again.append(waiting.request(number).id)
        made.failed(number)
    assert sorted(again) == sorted(each.id for each in requests), "what was freed may be enough for any of them"


LIMITS = st.none() | st.integers(1, 4)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "limited"]), st.integers(1, 2), LIMITS, st.booleans()), max_size=25)
)
def test_nobody_is_offered_who_runs_as_long_as_one_alike_that_failed(
    gangs: list[tuple[str, int, int | None, bool]],
) -> None:
    requests = [
        replace(gang(f"g{at}", to, cpu=cpu, at=at), limit=limit) for at, (to, cpu, limit, _) in enumerate(gangs)
    ]
    with_places = {request.id for request, (*_, has) in zip(requests, gangs, strict=True) if has}
    waiting = Waiting(requests)
    made = Round(waiting, Quotas([A, queue("b"), queue("limited", cpu=Quota(limit=50))], {"cpu": 99}))
    failed: dict[tuple[bool, int], float] = {}
    offered = set()
    for number in made:
        request = waiting.request(number)
        offered.add(request.id)
        key, seconds = (request.queue == "limited", request.roles[0].shape.cpu), request.limit or math.inf
        made.failed(number)
        if request.id not in with_places:
            assert key not in failed or seconds < failed[key]
            failed[key] = seconds
            made.pass_over(number, but=with_places)
    for request in requests:
        key = (request.queue == "limited", request.roles[0].shape.cpu)
        assert request.id in offered or failed[key] <= (request.limit or math.inf)
    assert with_places <= offered
