"""Who leaves: only with places that are proven, at the least price, and never more than needed."""

from collections.abc import Sequence

import pytest

from policies.scheduling.eligible import Displaced, Going, Rate, Rules, anybody
from policies.scheduling.model import (
    Cause,
    Near,
    Pod,
    QueueRules,
    Reclaim,
    Refusal,
    Request,
    Role,
    Running,
    Shape,
    Within,
)
from policies.scheduling.victims import Limit, NoVictims, Proof, carry_out, find_victims
from tests.policies.scheduling.victim_parts import (
    CPU,
    G1,
    G2,
    G4,
    HALF,
    NOW,
    QUEUES,
    RULES,
    cluster,
    found,
    full,
    gang,
    new,
    node,
    victims,
)  # fmt: skip


def test_four_gpus_freed_on_four_nodes_are_no_room_for_a_pod_of_four() -> None:
    nodes = [node(f"n{n}") for n in range(4)]
    running = [gang(f"small-{n}", G1, (f"n{n}", [0])) for n in range(4)]
    running += [gang(f"fixed-{n}", Shape(gpus=3), (f"n{n}", [1, 2, 3]), preemptible=False) for n in range(4)]
    answer = found(nodes, running, new(G4))
    assert isinstance(answer, NoVictims)
    assert (answer.limit, answer.needed, answer.possible) == (Limit.ROOM, 1, 0)
    assert answer.text == "without all 4 that may go, 0 of 1 pods would fit"


@pytest.mark.parametrize(
    ("running", "request_", "gone"),
    [
        pytest.param(
            [full("old", "n0", since=0), full("young", "n1", since=90_000)],
            new(G4), ["young"], id="the least lost work goes",
        ),
        pytest.param(
            [full("saved", "n0", since=0, saved=99_990), full("young", "n1", since=90_000)],
            new(G4), ["saved"], id="a recent checkpoint makes cheap",
        ),
        pytest.param(
            [full("whole", "n0", since=5), *(gang(f"part-{n}", G1, ("n1", [n]), since=90_000) for n in range(4))],
            new(G2), ["part-0", "part-1"], id="of a node only as many go as are needed",
        ),
        pytest.param(
            [full("two", "n0", "n1", since=60_000), full("one", "n2", since=0)],
            new(G4, 2), ["two"], id="a victim's other nodes count",
        ),
        pytest.param(
            [full("low", "n0", since=9), full("high", "n1", since=9, priority=1)],
            new(G4), ["low"], id="at equal price the lower priority goes",
        ),
        pytest.param(
            [full("first", "n0", since=9, saved=NOW), full("last", "n1", since=99, saved=NOW)],
            new(G4), ["last"], id="at equal price and priority the one that started last goes",
        ),
        pytest.param(
            [gang("half", HALF, ("n0", [0])), full("full", "n1"), gang("rest", Shape(gpus=3), ("n0", [1, 2, 3]))],
            new(HALF, 2), ["half"], id="parts of a GPU count",
        ),
        pytest.param(
            [gang("cpu", CPU, ("n0", []), since=99_000), full("gpus", "n1", since=0)],
            new(Shape(cpu=5000, gpus=1)), ["cpu"], id="processors may be what is short",
        ),
    ],
)  # fmt: skip
def test_who_goes(running: list[Running], request_: Request, gone: list[str]) -> None:
    where = {pod.node for one in running for pod in one.pods}
    assert victims(found([node(name) for name in sorted(where)], running, request_)) == gone


def test_every_domain_is_tried_and_the_cheapest_wins() -> None:
    nodes = [node(f"n{n}", rack=f"r{n // 2}") for n in range(6)]
    since = (95_000, 0, 50_000, 60_000, 10_000, 99_000)  # the two cheapest nodes are in different racks
    running = [gang(f"g{n}", G4, (f"n{n}", range(4)), since=begin) for n, begin in enumerate(since)]
    within = found(nodes, running, new(G4, 2, Near(required="rack")))
    assert victims(within) == ["g2", "g3"]
    assert isinstance(within, Proof)
    assert within.at == "z/r1"
    assert victims(found(nodes, running, new(G4, 2))) == ["g0", "g5"]
    assert victims(found(nodes, running, new(G4, 4, Near(slice_level="rack", slice_size=2)))) == [
        "g2",
        "g3",
        "g4",
        "g5",
    ]
    assert victims(found(nodes, running, new(G2, 2, spread=True))) == ["g0", "g5"]
    assert victims(found(nodes, running, new(G2, 2))) == ["g5"]


def test_what_an_elastic_gang_has_too_much_goes_before_a_whole_gang_that_loses_less() -> None:
    nodes = [node(f"n{n}") for n in range(4)]
    elastic = gang("elastic", G4, *((f"n{n}", range(4)) for n in range(3)), least=1)
    running = [elastic, full("young", "n3", since=99_999)]
    answer = found(nodes, running, new(G4))
    assert isinstance(answer, Proof)
    assert [(one.victim, one.keep) for one in answer.evictions] == [("elastic", (2,))]
    assert [pod.node for pod in answer.pods] == ["n2"]
    # Half of the surplus is not enough of anything: with whole gangs as well, what is left of it still stays.
    nodes += [node("n4")]
    running += [full("big", "n4", since=50_000)]
    more = found(nodes, running, new(G4, 4))
    assert isinstance(more, Proof)
    assert {one.victim: one.keep for one in more.evictions} == {"elastic": None, "young": None}


def test_a_gang_of_several_roles_is_placed_together() -> None:
    nodes = [node("n0"), node("n1"), node("n2", gpus=0)]
    running = [
        full("w0", "n0", since=50_000),
        full("w1", "n1"),
        gang("c", CPU, ("n2", [])),
    ]
    roles = (Role("trainer", 1, G4), Role("loader", 1, Shape(cpu=4000)))
    request = Request("new", "a", roles, 50_000, 5)
    assert victims(found(nodes, running, request)) == ["w0"]
    heavier = Request("new", "a", (roles[0], Role("loader", 1, Shape(cpu=8000))), 50_000, 5)
    assert victims(found(nodes, running, heavier)) == ["c", "w0"]


def test_a_gang_apart_from_others_of_its_word_displaces_them_or_goes_elsewhere() -> None:
    running = [gang("twin", G1, ("n0", [0]), apart="x", since=90_000), full("full", "n1", since=0)]
    assert victims(found([node("n0"), node("n1")], running, new(G1, apart="x"))) == ["twin"]


def test_nobody_goes_where_the_nodes_may_not_be_used() -> None:
    running = [full("g", "n0"), full("fixed", "n1", preemptible=False)]
    shut = [node("n0", open=False), node("n1")]
    answer = found(shut, running, new(G4))
    assert isinstance(answer, NoVictims)
    assert answer.limit is Limit.ROOM
    unknown = found([node("n0"), node("n1")], running, new(G4, 1, Near(required="island")))
    assert isinstance(unknown, NoVictims)
    assert unknown.limit is Limit.LEVEL
    nobody = found([node("n0"), node("n1")], running[1:], new(G4))
    assert isinstance(nobody, NoVictims)
    assert nobody.text == "of 1 gangs none may be displaced: 1 is not preemptible"


def test_more_evictions_than_the_rate_allows_are_refused_unless_none_were_made() -> None:
    nodes = [node(f"n{n}") for n in range(3)]
    running = [gang(f"g{n}", G4, (f"n{n}", range(4))) for n in range(3)]
    past = (Displaced("x", "y", NOW - 10),)
    assert victims(found(nodes, running, new(G4, 3), Rules(QUEUES, rate=Rate(2, 600)))) == ["g0", "g1", "g2"]
    answer = found(nodes, running, new(G4, 3), Rules(QUEUES, past, rate=Rate(2, 600)))
    assert isinstance(answer, NoVictims)
    assert (answer.limit, answer.needed, answer.possible) == (Limit.RATE, 3, 1)


def test_the_places_are_the_placers_where_it_finds_some() -> None:
    nodes, running = [node("n0"), node("n1")], [full("g", "n0"), gang("h", G2, ("n1", [0, 1]))]
    seen = []

    def place(request: Request, *, allowed: object = None, sizes: object = None) -> tuple[Pod, ...] | Refusal:
        seen.append(arrays.free_gpu[0].tolist())
        return (Pod(0, "n0", (3, 2)),) if request.id == "new" else Refusal(request.id, Cause.CAPACITY)

    arrays = cluster(nodes, running)
    answer = find_victims(arrays, place, new(Shape(gpus=3)), running[:1], anybody, NOW, RULES)
    assert isinstance(answer, Proof)
    assert answer.pods == (Pod(0, "n0", (3, 2)),)
    assert (seen, arrays.free_gpu[0].tolist()) == ([[1000] * 4], [0] * 4)
    other = find_victims(arrays, place, Request("x", "a", new(Shape(gpus=3)).roles, 0, 5), running, anybody, NOW, RULES)
    assert isinstance(other, Proof)
    assert other.pods


def test_two_newcomers_never_both_start_on_the_nodes_of_one_victim() -> None:
    """Three queues with a guarantee of 4 each; `a` runs two gangs of 6; at one instant `b` and `c` ask 4 each."""
    nodes = [node("n0", gpus=8), node("n1", gpus=8)]
    fixed = [gang(f"fixed-{n}", G2, (f"n{n}", [6, 7]), preemptible=False) for n in range(2)]
    running = [gang(f"a{n}", Shape(gpus=6), (f"n{n}", range(6)), since=n) for n in range(2)] + fixed
    arrays = cluster(nodes, running)
    gone: list[str] = []
    for queue in ("b", "c"):
        request = Request(queue, queue, (Role("w", 1, G4),), 50_000, 0)

        uses = sum(6 for one in running if one.request.preemptible)

        def lends(victim: Running, others: Sequence[Going], uses: int = uses) -> bool:
            return uses - 6 * len(others) > 4

        answer = find_victims(arrays, None, request, running, lends, NOW, Rules(QUEUES, owed=True))
        assert isinstance(answer, Proof)
        carry_out(arrays, running, request, answer)
        gone += [eviction.victim for eviction in answer.evictions]
        running = [one for one in running if one.request.id not in gone]
    assert sorted(gone) == ["a0", "a1"]


def test_victims_give_back_quota_too_where_that_is_what_is_short() -> None:
    nodes = [node(f"n{n}") for n in range(4)]  # one stays empty: there is room, and no quota
    running = [gang(f"g{n}", G4, (f"n{n}", range(4)), queue="b", since=n * 10_000) for n in range(3)]
    arrays = cluster(nodes, running)

    def claims(gone: Sequence[Going]) -> bool:
        return sum(len(pods) for _, pods in gone) >= 2

    answer = find_victims(arrays, None, new(G4), running, anybody, NOW, RULES, claims=claims)
    assert victims(answer) == ["g1", "g2"]
    refused = find_victims(arrays, None, new(G4), running[:1], anybody, NOW, RULES, claims=claims)
    assert isinstance(refused, NoVictims)
    assert refused.limit is Limit.QUOTA


def test_no_more_of_a_queue_goes_than_it_may_lose() -> None:
    nodes = [node(f"n{n}") for n in range(4)]
    running = [gang(f"{q}{n}", G4, (f"n{n}", range(4)), queue=q, since=s) for n, (q, s) in enumerate(
        [("b", 90_000), ("b", 80_000), ("b", 70_000), ("c", 10)])]  # fmt: skip

    def may(victim: Running, gone: Sequence[Going]) -> bool:
        return sum(one.request.queue == victim.request.queue for one, _ in gone) < 2

    answer = find_victims(cluster(nodes, running), None, new(G4, 3), running, may, NOW, RULES)
    assert victims(answer) == ["b0", "b1", "c3"]
    refused = find_victims(cluster(nodes, running), None, new(G4, 4), running, may, NOW, RULES)
    assert isinstance(refused, NoVictims)
    assert refused.limit is Limit.SHARE


def test_rules_of_the_queue_say_whom_a_gang_may_displace() -> None:
    never = Rules({"a": QueueRules("a", within=Within.NEVER, reclaim=Reclaim.NEVER), "b": QueueRules("b")})
    answer = found([node("n0")], [full("g", "n0", queue="b")], new(G4), never)
    assert isinstance(answer, NoVictims)
    assert answer.limit is Limit.NOBODY
