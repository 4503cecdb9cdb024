"""Promises of waiting gangs: what they hold against, and the only ways in which they change."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.model import Near, Request, Running
from policies.scheduling.profile import Profile
from policies.scheduling.promises import Change, Outlook, arrived, promised
from policies.scheduling.time_rows import Row
from tests.policies.scheduling.recount import Placed, faults
from tests.policies.scheduling.time_parts import (
    HORIZON,
    LEVELS,
    gang,
    machines,
    mixed,
    placed,
    profile,
    queues,
    requests,
    runs,
)

BUSY = gang("busy", limit=100)


def starts(outlooks: Sequence[Outlook]) -> list[int | None]:
    return [each.promise.start if each.promise else None for each in outlooks]


def test_gangs_are_planned_in_order_and_a_short_one_fills_the_gap() -> None:
    held = profile(machines(2), [runs(BUSY, "n0")])

    found = promised(held, [gang("wide", 2), gang("long", limit=120), gang("short", limit=100)])

    assert starts(found) == [100, 150, 0]
    assert {each.change for each in found} == {Change.NEW}


@pytest.mark.parametrize(
    ("busy", "asked", "firm"),
    [
        (gang("busy", limit=100), gang("a"), True),
        (gang("busy", limit=None, estimate=100), gang("a"), False),
        (gang("busy", limit=100), gang("a", limit=None, estimate=50), True),
        (gang("busy", limit=100), gang("a", limit=None), True),
        (gang("busy", limit=None), gang("a", gpus=0), True),
    ],
)
def test_a_promise_is_firm_if_what_frees_its_nodes_has_a_declared_end(
    busy: Request, asked: Request, firm: bool
) -> None:
    (found,) = promised(profile(machines(1), [runs(busy, "n0")]), [asked])

    assert found.promise is not None
    assert found.promise.firm is firm


def test_what_follows_an_estimate_is_an_estimate_too() -> None:
    held = profile(machines(1), [runs(gang("busy", limit=None, estimate=100), "n0")])

    found = promised(held, [gang("a"), gang("b")])

    assert [each.promise and (each.promise.start, each.promise.firm) for each in found] == [(100, False), (150, False)]


def test_an_estimate_becomes_firm_when_what_it_leaned_on_has_gone() -> None:
    held = profile(machines(1), [runs(gang("busy", limit=None, estimate=100), "n0")])
    promised(held, [gang("a"), gang("b")])
    held.end(["busy"])

    found = promised(held, [gang("a"), gang("b")])

    assert [each.promise and (each.promise.start, each.promise.firm) for each in found] == [(0, True), (50, True)]


def test_later_arrivals_do_not_move_a_promise_whatever_their_place_in_order() -> None:
    held = profile(machines(1), [runs(BUSY, "n0")])
    promised(held, [gang("a")])

    found = promised(held, [gang("first", priority=9), gang("a")])

    assert starts(found) == [150, 100]
    assert [each.change for each in found] == [Change.NEW, Change.KEPT]


@pytest.mark.parametrize("all_at_once", [True, False])
def test_a_class_that_displaces_promises_moves_lower_ones_and_is_named(all_at_once: bool) -> None:
    held = profile(machines(1), [runs(BUSY, "n0")])
    low, equal, high = gang("low", priority=1), gang("equal", priority=5), gang("high", priority=5, displaces=True)
    promised(held, [equal, low])

    found = promised(held, [high, equal, low]) if all_at_once else arrived(held, high)

    seen = {each.request.id: each for each in found}
    assert seen["high"].promise is not None
    assert (seen["high"].promise.start, seen["low"].change) == (150, Change.SLIPPED)
    assert seen["low"].reason == "displaced by high"
    assert starts([seen["low"]]) == [200]
    assert held.pins["equal"].start == 100


def test_a_displacing_class_leaves_promises_that_are_not_in_its_way() -> None:
    held = profile(machines(2), [runs(BUSY, "n0")])
    promised(held, [gang("low", priority=0), gang("next", priority=0)])

    found = promised(held, [gang("high", priority=5, displaces=True, limit=40), *_waiting("low", "next")])

    assert starts(found) == [0, 100, 50]
    assert [each.change for each in found] == [Change.NEW, Change.SLIPPED, Change.KEPT]


def _waiting(*names: str) -> list[Request]:
    return [gang(name, priority=0) for name in names]


def test_an_early_end_moves_promises_earlier_in_order() -> None:
    held = profile(machines(1), [runs(BUSY, "n0")])
    promised(held, _waiting("a", "b"))
    held.advance(20)
    held.end(["busy"])

    found = promised(held, _waiting("a", "b"))

    assert starts(found) == [20, 70]
    assert [(each.change, each.before and each.before.start) for each in found] == [
        (Change.MOVED, 100),
        (Change.MOVED, 150),
    ]


def _overruns(held: Profile) -> None:
    held.advance(105)


def _loses(held: Profile) -> None:
    held.nodes.shut(0)
    held.changed("n0")


@pytest.mark.parametrize(
    ("happens", "start", "reason"),
    [(_overruns, 115, "busy runs past its end"), (_loses, 120, "n0 takes no pods")],
)
def test_a_promise_slips_only_for_an_overrun_or_a_lost_node_and_says_so(
    happens: Callable[[Profile], None], start: int, reason: str
) -> None:
    held = profile(machines(2), [runs(BUSY, "n0"), runs(gang("other", limit=120), "n1")])
    first = promised(held, _waiting("a", "b"))
    assert starts(first) == [100, 120]
    happens(held)

    slipped, kept = promised(held, _waiting("a", "b"))

    assert slipped.change == Change.SLIPPED
    assert slipped.reason == reason
    assert kept.change == Change.KEPT
    assert starts([slipped]) == [start if happens is _overruns else 170]


def test_an_overrun_counts_twice_as_long_each_time() -> None:
    held = profile(machines(1), [runs(BUSY, "n0")])
    seen = []
    for now in (100, 110, 120, 140, 180):
        held.advance(now)
        seen.append(starts(promised(held, _waiting("a")))[0])

    assert seen == [110, 120, 140, 180, 260]


def test_promises_are_kept_by_a_profile_made_anew() -> None:
    first = promised(profile(machines(2), [runs(BUSY, "n0")]), [gang("wide", 2), gang("short")])
    kept = [each.promise for each in first if each.promise]

    anew = promised(profile(machines(2), [runs(BUSY, "n0")], now=50), [gang("wide", 2), gang("short")], kept)

    assert [each.change for each in anew] == [Change.KEPT, Change.SLIPPED]
    assert anew[1].reason == "it did not start when it was due"
    assert starts(anew) == [100, 50]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda: profile(machines(1), [runs(BUSY, "n0")], now=105), "busy runs past its end"),
        (lambda: profile(machines(2)[1:], [runs(gang("b", limit=120), "n1")]), "a node of its place is gone"),
    ],
)
def test_a_profile_made_anew_says_why_a_promise_slips(changed: Callable[[], Profile], reason: str) -> None:
    (first,) = promised(profile(machines(1), [runs(BUSY, "n0")]), [gang("a", limit=60)])
    assert first.promise is not None

    (found,) = promised(changed(), [gang("a", limit=60)], [first.promise])

    assert (found.change, found.reason) == (Change.SLIPPED, reason)


@pytest.mark.parametrize(
    ("asked", "reason", "too_large"),
    [
        (gang("a", 3), "larger than the cluster", True),
        (gang("a", 2, role={"near": Near(required="rack")}), "larger than the cluster", True),
        (gang("a", 2), "beyond the horizon", False),
    ],
)
def test_who_gets_no_promise_is_told_why(asked: Request, reason: str, too_large: bool) -> None:
    held = profile(machines(2, racks=1), [runs(gang("long", limit=HORIZON * 2), "n0")])

    (found,) = promised(held, [asked])

    assert (found.change, found.promise, found.reason, found.too_large) == (Change.NONE, None, reason, too_large)


def test_who_waits_no_longer_gives_its_place_to_others() -> None:
    held = profile(machines(1), [runs(BUSY, "n0")])
    promised(held, _waiting("a", "b"))

    found = promised(held, _waiting("b"))

    assert starts(found) == [100]
    assert held.pins.keys() == {"b"}


def test_an_elastic_gang_is_promised_its_fewest_pods() -> None:
    (found,) = promised(profile(machines(2), [runs(BUSY, "n0")]), [gang("a", 2, role={"least": 1})])

    assert found.promise is not None
    assert (found.promise.start, len(found.promise.pods)) == (0, 1)


@settings(max_examples=80, deadline=None)
@given(queues(), st.integers(1, 5))
def test_no_plan_overbooks_a_node_or_breaks_a_rule(waiting: list[Request], count: int) -> None:
    nodes = machines(count)

    found = promised(profile(nodes), waiting)

    rows = [placed(each.request, each.promise) for each in found if each.promise]
    assert not faults(nodes, LEVELS, rows)


@settings(max_examples=80, deadline=None)
@given(queues(), requests("late"), st.data())
def test_nobody_waits_longer_for_a_gang_that_came_later(
    waiting: list[Request], late: Request, data: st.DataObject
) -> None:
    held = profile(machines(data.draw(st.integers(1, 4))))
    before = promised(held, waiting)
    place = data.draw(st.integers(0, len(waiting)))

    after = promised(held, [*waiting[:place], late, *waiting[place:]])

    others = [each for each in after if each.request.id != "late"]
    assert starts(others) == starts(before)
    assert {each.change for each in others} <= {Change.KEPT, Change.NONE}


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(1, 5))
def test_gangs_of_several_roles_break_no_rule_and_slip_only_where_they_are_displaced(
    data: st.DataObject, count: int
) -> None:
    nodes = machines(count)
    held = profile(nodes)
    waiting: list[Request] = []
    for number in range(data.draw(st.integers(1, 5))):
        waiting.append(data.draw(mixed(f"j{number}")))
        found = promised(held, waiting)
        assert not faults(nodes, LEVELS, [placed(each.request, each.promise) for each in found if each.promise])
        assert all(each.reason.startswith("displaced by") for each in found if each.change == Change.SLIPPED)


@settings(max_examples=60, deadline=None)
@given(queues(), st.data())
def test_through_ends_late_and_early_nothing_is_overbooked_and_nothing_slips_without_a_reason(
    waiting: list[Request], data: st.DataObject
) -> None:
    nodes = machines(data.draw(st.integers(1, 4)))
    held = profile(nodes)
    now, queue = 0, list(waiting)
    for _ in range(6):
        found = promised(held, queue)
        assert all(each.reason for each in found if each.change in (Change.SLIPPED, Change.NONE))
        due = [each for each in found if each.promise and each.promise.start == now]
        held.run([_runs(each, now) for each in due])
        queue = [each for each in queue if each.id not in held.running]
        rows = [Placed(row.request, held.promise(row).pods, row.start, row.end) for row in _rows(held)]
        assert not faults(nodes, LEVELS, rows)
        gone = data.draw(st.sets(st.sampled_from(sorted(held.running)))) if held.running else set()
        now += data.draw(st.integers(1, 60))
        held.end(gone)
        held.advance(now)


def _runs(outlook: Outlook, now: int) -> Running:
    assert outlook.promise is not None
    return Running(outlook.request, outlook.promise.pods, now)


def _rows(held: Profile) -> list[Row]:
    return [*held.running.values(), *held.pins.values()]
