"""Which nodes windows get, when the planner sees them, and who has to go for them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.reservation import AtEnd, LeadMode
from policies.scheduling.asks import Claim
from policies.scheduling.bookings import Booking
from policies.scheduling.claims import Held, Leave, Short, Want, claims, hold, told_to_go
from policies.scheduling.documents import Pool, Reserved
from policies.scheduling.model import Node, Pod, Request, Role, Running, Shape
from policies.scheduling.windows import Window
from tests.policies.scheduling.test_windows import only, spec

WALL = only(spec("2026-07-01T10:00", "UTC")).wall
NODES = tuple(Node(f"n{number}", 1, 1, gpus=8, model="H100") for number in range(4))
CPU_ONLY = Node("c0", 1, 1)
CLOSED = Node("n9", 1, 1, gpus=8, model="H100", open=False)


def booking(begins: int = 1000, ends: int = 2000, number: int = 0, **more: Any) -> Booking:
    return Booking(Window(number, WALL, begins, ends, "", ""), grace=60, **more)


def want(
    name: str = "a", given: Booking | None = None, model: str = "", pool: Pool | None = None, **capacity: Any
) -> Want:
    kept = spec("2026-07-01T10:00", capacity=capacity or {"nodes": 2})
    return Want(Reserved(name, kept, model), given or booking(), pool)


def names(wants: list[Want], nodes: tuple[Node, ...] = NODES, **more: Any) -> list[tuple[str, ...]]:
    return [each.nodes for each in hold(wants, nodes, **more)[0]]


def gang(name: str, *nodes: str, reservation: str | None = None, leaving: bool = False) -> Running:
    request = Request(name, "q", (Role("worker", len(nodes), Shape(cpu=1)),), reservation=reservation)
    return Running(request, tuple(Pod(0, node) for node in nodes), since=0, leaving=leaving)


@pytest.mark.parametrize(
    ("wanted", "nodes", "found"),
    [
        (want(nodes=2), NODES, ("n0", "n1")),
        (want(gpus=9), NODES, ("n0", "n1")),
        (want(gpus=8), (CPU_ONLY, *NODES), ("n0",)),
        (want(nodes=1), (CPU_ONLY, *NODES), ("c0",)),
        (want(nodes=1), (CLOSED, *NODES), ("n0",)),
        (want(nodeNames=["n9", "n2"]), (CLOSED, *NODES), ("n9", "n2")),
        (want(nodes=1, model="H100"), (CPU_ONLY, *NODES), ("n0",)),
        (want(nodes=1, pool=Pool("p", selector={"a": "b"})), (*NODES, Node("x", 1, 1, labels={"a": "b"})), ("x",)),
    ],
)
def test_a_window_gets_whole_nodes_that_fit(wanted: Want, nodes: tuple[Node, ...], found: tuple[str, ...]) -> None:
    assert names([wanted], nodes) == [found]


@pytest.mark.parametrize(
    ("wanted", "needed", "free"),
    [
        (want(nodes=5), 5, 4),
        (want(gpus=33), 33, 32),
        (want(nodes=1, model="T4"), 1, 0),
        (want(nodeNames=["n0", "n7"]), 2, 1),
    ],
)
def test_a_window_that_cannot_have_all_gets_nothing_and_the_numbers_are_told(
    wanted: Want, needed: int, free: int
) -> None:
    assert hold([wanted], NODES) == ((), (Short(wanted, needed, free),))


def test_windows_at_different_times_share_nodes_and_at_one_time_they_do_not() -> None:
    first, second, third = want("a", nodes=3), want("b", booking(2000, 3000), nodes=3), want("c", nodes=2)
    held, short = hold([first, second, third], NODES)
    assert [(each.name, each.nodes) for each in held] == [("a", ("n0", "n1", "n2")), ("b", ("n0", "n1", "n2"))]
    assert short == (Short(third, 2, 1),)


def test_a_window_keeps_its_nodes_and_gets_another_for_one_that_is_gone() -> None:
    late, early = want("b", booking(1500, 2500), nodes=2), want("a", nodes=2)
    kept = [Held(late, ("n0", "n3"))]
    assert names([early, late], kept=kept) == [("n0", "n3"), ("n1", "n2")]
    assert names([early, late], nodes=(*NODES[:3], Node("n4", 1, 1)), kept=kept) == [("n0", "n1"), ("n2", "n4")]


def test_later_windows_of_a_reservation_prefer_its_own_nodes_and_all_prefer_those_that_are_free_in_time() -> None:
    busy = {"n0": 1001, "n1": 5000, "n2": 1000}
    wants = [want(given=booking(), nodes=2), want(given=booking(3000, 4000, number=1), nodes=2)]
    assert names(wants, until=busy) == [("n2", "n3"), ("n2", "n3")]
    assert names([want(nodes=3)], until=busy) == [("n2", "n3", "n0")]


@pytest.mark.parametrize(
    ("given", "now", "seen"),
    [
        (booking(), 0, [(1000, 2000, "a")]),
        (booking(lead=300), 699, []),
        (booking(lead=300), 700, [(1000, 2000, "a")]),
        (booking(lead=300, lead_mode=LeadMode.DRAIN), 700, [(700, 1000, None), (1000, 2000, "a")]),
        (booking(lead=300, lead_mode=LeadMode.DRAIN), 1000, [(1000, 2000, "a")]),
        (booking(extended=500), 2100, [(1000, 2500, "a")]),
        (booking(), 2000, []),
        (booking(cancelled=100), 200, []),
        (booking(cancelled=1500), 1400, [(1000, 1500, "a")]),
    ],
)
def test_the_planner_sees_a_window_from_its_lead_time_until_its_end(
    given: Booking, now: int, seen: list[tuple[int, int, str | None]]
) -> None:
    held = [Held(want(given=given), ("n0", "n1"))]
    assert claims(held, now) == tuple(Claim(("n0", "n1"), begin, end, owner) for begin, end, owner in seen)


@pytest.mark.parametrize(
    ("at_end", "now", "leaves"),
    [
        (AtEnd.SUSPEND, 999, []),
        (AtEnd.SUSPEND, 1000, [Leave("x", "the reservation a has begun on its nodes", 1060)]),
        (AtEnd.SUSPEND, 2000, [Leave("own", "the reservation a is over", 2060)]),
        (AtEnd.CANCEL, 2010, [Leave("own", "the reservation a is over", 2060, for_good=True)]),
        (AtEnd.KEEP, 2000, []),
    ],
)
def test_strangers_go_at_the_start_and_its_own_jobs_at_the_end(at_end: AtEnd, now: int, leaves: list[Leave]) -> None:
    running = [
        gang("x", "n0", "n5"),
        gang("own", "n0", reservation="a"),
        gang("elsewhere", "n5"),
        gang("going", "n1", leaving=True),
    ]
    held = [Held(want(given=booking(at_end=at_end)), ("n0", "n1"))]

    def may(each: Held, request: Request) -> bool:
        return request.reservation == each.name

    assert list(told_to_go(held, running, may, now)) == leaves


def test_a_gang_on_two_windows_is_told_once() -> None:
    held = [Held(want(name), (node,)) for name, node in (("a", "n0"), ("b", "n1"))]
    assert [each.why for each in told_to_go(held, [gang("x", "n0", "n1")], lambda *_: False, 1500)] == [
        "the reservation a has begun on its nodes"
    ]


WANTS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(1, 5)), max_size=8)


@given(WANTS, st.integers(0, 6), st.randoms(use_true_random=False))
def test_no_node_is_held_twice_at_one_time_and_holding_again_changes_nothing(
    drawn: list[tuple[int, int, int]], count: int, random: Any
) -> None:
    nodes = tuple(Node(f"n{number}", 1, 1) for number in range(count))
    wants = [want(f"r{at}", booking(begin, begin + long), nodes=most) for at, (begin, long, most) in enumerate(drawn)]
    held, short = hold(wants, nodes)
    assert len(held) + len(short) == len(wants)
    for second in range(31):
        there = [each for each in held if each.want.booking.begins <= second < each.want.booking.ends]
        used = [name for each in there for name in each.nodes]
        assert len(used) == len(set(used))
    shuffled = list(held)
    random.shuffle(shuffled)
    again, _ = hold([each.want for each in shuffled], nodes, kept=shuffled)
    assert {each.name: set(each.nodes) for each in again} == {each.name: set(each.nodes) for each in held}
    fewer = tuple(replace(node, open=False) for node in nodes)
    assert hold([each.want for each in held], fewer)[0] == ()


def test_windows_of_one_name_are_told_apart_by_their_lives() -> None:
    first, second = (replace(want(nodes=1), life=(made, 1)) for made in (1, 2))
    held, _ = hold([first, second], NODES, [Held(second, ("n3",))])
    assert [(each.want.life, each.nodes) for each in held] == [((2, 1), ("n3",)), ((1, 1), ("n0",))]


def test_a_window_that_cannot_have_all_any_more_keeps_what_is_left_of_it() -> None:
    wanted = want(nodes=3)
    nodes = (NODES[0], replace(NODES[1], open=False), NODES[3])
    held, short = hold([wanted], nodes, [Held(wanted, ("n0", "n1", "n2"))])
    assert ([each.nodes for each in held], short) == ([("n0", "n1")], (Short(wanted, 3, 2),))
    assert hold([wanted], nodes)[0] == ()


def test_beyond_what_is_planned_only_the_next_window_of_each_node_is_seen() -> None:
    starts = (100, 5000, 9000, 12_000)
    held = [Held(want(given=booking(start, start + 10)), ("n0",)) for start in starts]
    held.append(Held(want("b", booking(10_000, 10_010)), ("n0", "n1")))
    assert [claim.start for claim in claims(held, 0, 4000)] == [100, 5000, 10_000]
    assert len(claims(held, 0)) == 5


def test_a_job_of_the_next_window_stays_while_the_last_one_drains() -> None:
    held = [Held(want(), ("n0",)), Held(want(given=booking(2000, 3000, 1)), ("n0",))]
    own = gang("own", "n7", reservation="a")

    def told(since: int) -> list[str]:
        return [each.request for each in told_to_go(held, [replace(own, since=since)], lambda *_: True, 2100)]

    assert (told(1900), told(2001)) == (["own"], [])
