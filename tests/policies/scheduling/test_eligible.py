"""Who may be displaced for whom; and that no two gangs ever throw each other out in turn."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.eligible import (
    Damping,
    Displaced,
    Rate,
    Rules,
    Spared,
    anybody,
    displacers_of,
    eligible,
    evictions_left,
    lost_work,
    safe_until,
)  # fmt: skip
from policies.scheduling.model import QueueRules, Reclaim, Running, Within
from policies.scheduling.victims import Proof, find_victims
from tests.policies.scheduling.victim_parts import G4, HALF, NOW, cluster, full, gang, new, node

OWN, OTHER = {"queue": "a"}, {"queue": "b"}
NEWER = Within.LOWER_OR_NEWER


@pytest.mark.parametrize(
    ("victim", "own", "owed", "why"),
    [
        ({**OWN, "priority": 4}, {}, False, None),
        ({**OWN, "priority": 5}, {}, False, Spared.PRIORITY),
        ({**OWN, "priority": 4}, {"within": Within.NEVER}, False, Spared.RULE),
        ({**OWN, "priority": 5, "submitted": 50_001}, {"within": NEWER}, False, None),
        ({**OWN, "priority": 5, "submitted": 50_000}, {"within": NEWER}, False, Spared.NEWEST),
        ({**OWN, "priority": 6, "submitted": 50_001}, {"within": NEWER}, True, Spared.PRIORITY),
        ({**OTHER, "priority": 5}, {}, False, None),
        ({**OTHER, "priority": 6}, {}, False, Spared.PRIORITY),
        ({**OTHER, "priority": 6}, {}, True, None),
        ({**OTHER, "priority": 5}, {"reclaim": Reclaim.LOWER}, True, Spared.PRIORITY),
        ({**OTHER, "priority": 4}, {"reclaim": Reclaim.LOWER}, False, None),
        ({**OTHER, "priority": 0}, {"reclaim": Reclaim.NEVER}, True, Spared.RULE),
        ({**OWN, "preemptible": False}, {}, False, Spared.PROTECTED),
        ({**OWN, "leaving": True}, {}, False, Spared.LEAVING),
        ({**OWN, "reservation": "r"}, {}, False, Spared.RESERVED),
    ],
)
def test_rules_of_the_queue_and_priorities(
    victim: dict[str, object], own: dict[str, object], owed: bool, why: Spared | None
) -> None:
    queues = {"a": QueueRules("a", **own), "b": QueueRules("b")}  # type: ignore[arg-type]
    assert eligible(new(G4), [full("g", "n0", **victim)], anybody, NOW, Rules(queues, owed=owed)) == [why]


def test_whoever_runs_in_the_same_reservation_may_go() -> None:
    rules = Rules({"a": QueueRules("a")})
    assert eligible(new(G4, reservation="r"), [full("g", "n0", reservation="r")], anybody, NOW, rules) == [None]


def test_a_queue_that_uses_no_more_than_its_own_keeps_it() -> None:
    rules = Rules({"a": QueueRules("a")})
    assert eligible(new(G4), [full("g", "n0")], lambda victim, gone: False, NOW, rules) == [Spared.SHARE]


@pytest.mark.parametrize(
    ("ran", "times", "why"),
    [
        (99, [], Spared.MIN_RUN),
        (100, [], None),
        (100, [5000], Spared.DAMPED),
        (150, [5000], None),
        (199, [5000, 4000], Spared.DAMPED),
        (200, [5000, 4000], None),
        (299, [5000, 4000, 3000], Spared.DAMPED),
        (300, [5000, 4000, 3000], None),
        (340, [5000, 4000, 3000, 2000], None),  # the longest
        (150, [5000, 20_000, 30_000], None),  # forgotten
    ],
)
def test_a_gang_is_safe_for_longer_each_time_it_was_displaced(ran: int, times: list[int], why: Spared | None) -> None:
    past = [Displaced("g", "other", NOW - ago) for ago in times]
    rules = Rules({"a": QueueRules("a", min_run=100)}, past, damping=Damping(first=50, longest=240, window=10_000))
    assert eligible(new(G4), [full("g", "n0", since=NOW - ran)], anybody, NOW, rules) == [why]


@given(st.integers(0, 200), st.integers(0, 10**6), st.integers(0, 10**5))
def test_a_further_displacement_never_makes_a_gang_less_safe(count: int, since: int, min_run: int) -> None:
    times = [safe_until(since, min_run, count + more, since, since, Damping()) for more in (0, 1)]
    assert since + min_run <= times[0] <= times[1] <= since + min_run + Damping().longest


@pytest.mark.parametrize(
    ("recent", "left"),
    [([], None), ([NOW - 600], None), ([NOW - 599], 2), ([NOW] * 3, 0), ([NOW] * 9, 0), ([NOW - 1, NOW - 601], 2)],
)
def test_so_many_evictions_are_left_in_the_window(recent: list[int], left: int | None) -> None:
    assert evictions_left(recent, NOW, Rate(3, 600)) == left


def test_nobody_displaces_whom_it_lost_its_nodes_to_at_any_remove() -> None:
    past = [Displaced("a", "b", 1), Displaced("b", "c", 2), Displaced("c", "d", 3), Displaced("x", "a", 4)]
    assert displacers_of("a", past) == {"b", "c", "d"}
    assert displacers_of("d", past) == set()


@pytest.mark.parametrize(
    ("victim", "lost"),
    [
        (full("g", "n0", "n1", since=NOW - 100), 100 * 8000),
        (full("g", "n0", since=NOW - 100, saved=NOW - 10), 10 * 4000),
        (full("g", "n0", since=NOW - 100, saved=NOW - 500), 100 * 4000),  # of an earlier start
        (gang("g", HALF, ("n0", [0]), since=NOW - 100), 100 * 500),
        (full("g", "n0", since=NOW + 5), 0),
    ],
)
def test_lost_work_is_what_no_checkpoint_holds(victim: Running, lost: int) -> None:
    assert lost_work(victim, NOW) == lost


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_no_two_gangs_displace_each_other_in_turn(seed: int) -> None:
    """Random rounds among gangs of changing priority, where each may displace all others and nothing ever ends."""
    random = Random(seed)
    nodes = [node("n0"), node("n1")]
    queues = {name: QueueRules(name) for name in "abcd"}
    waiting = [new(G4, queue=name, priority=0) for name in "abcd"]
    waiting = [replace(request, id=f"{request.queue}{n}") for n, request in enumerate(waiting)]
    running: list[Running] = []
    past: list[Displaced] = []
    for now in range(0, 200_000, 5000):
        random.shuffle(waiting)
        for request in list(waiting):
            arrays = cluster(nodes, running)
            free = [one.name for one in nodes if one.name not in {pod.node for gang in running for pod in gang.pods}]
            asked = replace(request, priority=random.randrange(3))
            rules = Rules(queues, past, damping=Damping(first=1, longest=1))
            proof = find_victims(arrays, None, asked, running, anybody, now, rules) if not free else None
            if free:
                running.append(full(asked.id, free[0], since=now, queue=asked.queue, priority=asked.priority))
            elif isinstance(proof, Proof):
                gone = {one.victim for one in proof.evictions}
                past += [Displaced(name, asked.id, now) for name in sorted(gone)]
                waiting += [one.request for one in running if one.request.id in gone]
                running = [one for one in running if one.request.id not in gone]
                running.append(Running(asked, proof.pods, now))
            else:
                continue
            waiting.remove(request)
    assert past
    pairs = {(one.victim, one.beneficiary) for one in past}
    assert not any((beneficiary, victim) in pairs for victim, beneficiary in pairs)
