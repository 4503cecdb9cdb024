"""What is free over time: earliest starts, what may start now, and whose nodes are whose."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.asks import Claim
from policies.scheduling.model import FAR, Near, Node, Pod, Request, Role, Running, Shape
from policies.scheduling.promises import promised
from tests.policies.scheduling import time_oracle
from tests.policies.scheduling.recount import Placed, faults
from tests.policies.scheduling.time_parts import (
    HORIZON,
    LEVELS,
    gang,
    machines,
    placed,
    profile,
    queues,
    requests,
    runs,
    seconds,
)

BUSY = gang("busy", limit=100)


@pytest.mark.parametrize(
    ("running", "asked", "start"),
    [
        ([], gang("a"), 0),
        ([runs(BUSY, "n0")], gang("a"), 0),
        ([runs(BUSY, "n0", "n1")], gang("a"), 100),
        ([runs(BUSY, "n0", "n1", since=-93)], gang("a"), 7),
        ([runs(gang("busy", limit=None), "n0", "n1")], gang("a"), None),
        ([runs(gang("busy", limit=None, estimate=60), "n0", "n1")], gang("a"), 60),
        ([runs(gang("busy", gpus=1), "n0", "n1", devices=[0])], gang("a", 2, gpus=1), 0),
        ([runs(gang("busy", gpus=1), "n0", "n1", devices=[0])], gang("a", 3, gpus=1), 50),
        ([], gang("a", 3), None),
        ([runs(BUSY, "n0"), runs(gang("b", limit=HORIZON + 50), "n1")], gang("a", 2), None),
    ],
)
def test_a_gang_starts_when_enough_of_what_runs_has_ended(
    running: list[Running], asked: Request, start: int | None
) -> None:
    found = profile(machines(2), running).earliest(asked, 50)

    assert (found and found.start) == start


def test_a_device_is_free_through_the_whole_run_and_not_another_one_at_each_moment() -> None:
    held = profile(machines(1), [runs(gang("a", gpus=1, limit=30), "n0", devices=[0])])
    held.run([Running(gang("b", gpus=1, limit=30), (Pod(0, "n0", (1,)),), since=-20)])

    found = held.earliest(gang("c", gpus=1), 50)

    assert found is not None
    assert (found.start, found.pods) == (10, (Pod(0, "n0", (1,)),))


@pytest.mark.parametrize(
    ("role", "near", "racks"),
    [
        ({}, Near(required="rack"), 1),
        ({"near": Near(required="rack")}, FAR, 1),
        ({}, Near(preferred="rack"), 1),
        ({"near": Near(preferred="rack")}, FAR, 1),
        ({"near": Near(slice_level="rack", slice_size=1)}, Near(required="zone"), 2),
    ],
)
def test_a_gang_is_as_close_together_as_it_asks(role: dict[str, Near], near: Near, racks: int) -> None:
    half = runs(gang("half", limit=None), "n0")

    found = profile(machines(4), [half]).earliest(gang("a", 2, role=role, near=near), 50)

    assert found is not None
    assert len({machines(4)[int(pod.node[1])].labels["rack"] for pod in found.pods}) == racks


def test_what_is_only_preferred_delays_nobody() -> None:
    halves = [runs(gang("half", 2, limit=60), "n0", "n2")]

    asked = gang("a", 2, near=Near(preferred="rack"))

    found = profile(machines(4), halves).earliest(asked, 50)
    assert found is not None
    assert found.start == 0


def test_a_level_that_no_node_has_holds_nothing() -> None:
    assert profile(machines(2)).earliest(gang("a", near=Near(required="row")), 50) is None


def test_roles_are_placed_together_on_what_the_others_leave() -> None:
    roles = (Role("cpu", 2, Shape(cpu=5)), Role("gpu", 2, Shape(cpu=4, gpus=2), spread=True))
    busy = Running(gang("busy", limit=70, gpus=0), (Pod(0, "n2"),), 0)

    asked = Request("a", "q", roles, limit=50)
    found = profile(machines(4), [busy]).earliest(asked, 50)

    assert found is not None
    assert found.start == 0
    assert [pod.role for pod in found.pods] == [0, 0, 1, 1]
    assert not faults(machines(4), LEVELS, [Placed(busy.request, busy.pods, 0, 70), placed(asked, found)])


def test_a_closed_node_is_not_planned_on_and_one_that_opens_is() -> None:
    held = profile(machines(2), [runs(BUSY, "n0")])
    held.nodes.shut(1)
    held.changed("n1")
    closed = held.earliest(gang("a"), 50)
    held.nodes.shut(1, open=True)
    held.changed("n1")
    opened = held.earliest(gang("a"), 50)

    assert closed is not None
    assert opened is not None
    assert (closed.start, opened.start) == (100, 0)


@pytest.mark.parametrize(
    ("reservation", "length", "start", "end"),
    [
        (None, 30, 0, 30),
        (None, 31, 60, 91),
        ("r", 20, 30, 50),
        ("r", None, 30, 60),
        ("other", 20, None, None),
    ],
)
def test_claimed_nodes_are_their_owners_and_free_for_what_is_over_before(
    reservation: str | None, length: int | None, start: int | None, end: int | None
) -> None:
    held = profile(machines(1), claims=[Claim(("n0",), 30, 60, "r")])

    found = held.earliest(gang("a", reservation=reservation), length)

    assert (found and found.start) == start
    assert (found and found.end) == end


def test_nobody_is_planned_on_a_node_while_it_is_drained() -> None:
    held = profile(machines(1), claims=[Claim(("n0",), 30, 60)])

    assert [getattr(held.earliest(gang("a"), length), "start", None) for length in (30, 31)] == [0, 60]


def test_only_nodes_whose_next_placement_is_not_delayed_are_free_now() -> None:
    held = profile(machines(3), [runs(BUSY, "n0")])
    promise = held.earliest(gang("wide", 3), 50)
    assert promise is not None
    assert held.pin(gang("wide", 3), promise, 50)

    assert held.free_now(gang("a"), 100).tolist() == [False, True, True]
    assert held.free_now(gang("a"), 101).tolist() == [False, False, False]
    assert held.free_now(gang("a"), None).tolist() == [False, False, False]
    assert held.may_start(gang("a"), [Pod(0, "n1", (0, 1))], 100)
    assert not held.may_start(gang("a"), [Pod(0, "n1", (0, 1))], 101)
    assert not held.may_start(gang("a", 2, gpus=1), [Pod(0, "n1", (0,)), Pod(0, "n1", (0,))], 10)


def test_a_place_that_is_taken_cannot_be_pinned() -> None:
    held = profile(machines(1))
    promise = held.earliest(gang("a"), 50)
    assert promise is not None

    assert [held.pin(gang(name), promise, 50) for name in ("a", "b")] == [True, False]


def test_what_looks_changes_nothing() -> None:
    held = profile(machines(3), [runs(BUSY, "n0")])
    first = held.earliest(gang("a", 3), 50)
    held.free_now(gang("b"), 100)
    held.may_start(gang("b"), [Pod(0, "n1", (0, 1))], 100)

    assert held.earliest(gang("a", 3), 50) == first
    assert not held.pins


@settings(max_examples=120, deadline=None)
@given(queues(), requests("asked"), st.integers(1, 5))
def test_the_earliest_start_is_the_one_that_trying_every_moment_finds(
    waiting: list[Request], asked: Request, count: int
) -> None:
    nodes = machines(count)
    held = profile(nodes)
    rows = [placed(each.request, each.promise) for each in promised(held, waiting) if each.promise]

    found = held.earliest(asked, seconds(asked))

    last = HORIZON  # the grid's last slot begins there
    expected = time_oracle.earliest(nodes, LEVELS, rows, asked, seconds(asked), 0, last + 9)
    assert (found and found.start) == expected
    if found:
        assert not faults(nodes, LEVELS, [*rows, placed(asked, found)])


@settings(max_examples=60, deadline=None)
@given(queues(), requests("asked"), st.integers(1, 5))
def test_what_starts_now_delays_no_placement(waiting: list[Request], asked: Request, count: int) -> None:
    nodes = machines(count)
    held = profile(nodes)
    rows = [placed(each.request, each.promise) for each in promised(held, waiting) if each.promise]
    single = replace(asked, roles=(Role("w", 1, asked.roles[0].shape),), near=FAR)

    free = held.free_now(single, seconds(single))

    for number, node in enumerate(nodes):
        fits = time_oracle.earliest([node], LEVELS, rows, single, seconds(single), 0, 0) == 0
        assert bool(free[number]) == fits


def test_a_node_without_gpus_holds_gangs_without() -> None:
    found = profile([Node("plain", 8, 8)]).earliest(gang("a", gpus=0), 50)

    assert found is not None
    assert found.pods == (Pod(0, "plain"),)
