"""Promises within limits: the earliest starts that a queue and all above it allow, and the order of strict queues."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling.demands import capacity, taken
from policies.scheduling.model import Cause, Node, Pod, QueueRules, Quota, Request, Role, Running, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.profile import Profile
from policies.scheduling.promises import Change, promised
from policies.scheduling.quotas import Quotas
from tests.policies.scheduling.limit_recount import over_limits
from tests.policies.scheduling.plan_parts import carried_out, gang, pool, promised_start, started, submitted, why
from tests.policies.scheduling.recount import Placed, faults

HOUR = 3600
RESOURCES = ("cpu", "gpu", "gpu/h", "gpu/v")
TEN = {"gpu": Quota(limit=10_000)}


def test_gangs_behind_a_limit_are_promised_the_ends_that_let_them() -> None:
    """Ten GPUs are allowed: four are in use for one hour and four for three, and the nodes are nearly empty."""
    world = submitted(
        pool(4, QueueRules("q", quotas=TEN)),
        gang("one", 1, 4, queue="q", limit=HOUR),
        gang("three", 1, 4, queue="q", limit=3 * HOUR),
    )
    carried_out(world, 0)
    submitted(
        world,
        gang("six", 1, 6, queue="q", limit=HOUR, submitted=1),
        gang("ten", 2, 5, queue="q", limit=HOUR, submitted=2),
        gang("never", 2, 8, queue="q", limit=60, submitted=4),
    )
    carried_out(world, 10)
    decision = carried_out(submitted(world, gang("two", 1, 2, queue="q", limit=3 * HOUR, submitted=3)), 20)
    assert started(decision) == []
    assert [why(decision, name) for name in ("six", "ten", "two")] == [Cause.LIMIT, Cause.LIMIT, Cause.PROMISED]
    assert [promised_start(decision, name) for name in ("six", "ten", "two")] == [HOUR, 3 * HOUR, 4 * HOUR]
    assert {promise.request: promise.firm for promise in decision.promises} == dict.fromkeys(
        ("six", "ten", "two"), True
    )
    world.ended("one", HOUR)
    assert started(carried_out(world, HOUR)) == ["six"]


def test_two_that_nodes_could_hold_at_once_are_promised_one_after_the_other_where_a_limit_lets_only_one_run() -> None:
    world = submitted(pool(2, QueueRules("q", quotas=TEN), QueueRules("r")), gang("full", 2, queue="r", limit=HOUR))
    carried_out(world, 0)
    submitted(world, *(gang(name, 1, 8, queue="q", limit=HOUR) for name in ("a", "b")))
    decision = carried_out(world, 1)
    assert [promised_start(decision, name) for name in ("a", "b")] == [HOUR, 2 * HOUR]


def test_a_limit_above_counts_for_siblings_together() -> None:
    queues = [QueueRules("top", quotas=TEN), QueueRules("x", "top"), QueueRules("y", "top")]
    world = submitted(pool(4, *queues), gang("a", 1, 8, queue="x", limit=HOUR))
    carried_out(world, 0)
    decision = carried_out(submitted(world, gang("b", 1, 8, queue="y", limit=HOUR)), 1)
    assert (why(decision, "b"), promised_start(decision, "b")) == (Cause.LIMIT, HOUR)


@pytest.mark.parametrize(("ends", "firm"), [({"limit": HOUR}, True), ({"estimate": HOUR}, False)])
def test_a_promise_behind_a_limit_is_firm_if_what_frees_the_limit_has_a_declared_end(
    ends: dict[str, int], firm: bool
) -> None:
    world = submitted(pool(4, QueueRules("q", quotas=TEN)), gang("a", 1, 8, queue="q", **ends))
    carried_out(world, 0)
    decision = carried_out(submitted(world, gang("b", 1, 8, queue="q", limit=HOUR)), 1)
    assert [(each.request, each.start, each.firm) for each in decision.promises] == [("b", HOUR, firm)]


def test_nobody_takes_what_is_left_of_a_limit_if_that_delays_a_promise_and_what_ends_before_may() -> None:
    world = submitted(pool(4, QueueRules("q", quotas=TEN)), gang("a", 1, 8, queue="q", limit=HOUR))
    carried_out(world, 0)
    carried_out(submitted(world, gang("ten", 2, 5, queue="q", limit=HOUR, submitted=1)), 1)
    submitted(
        world,
        gang("long", 1, 2, queue="q", limit=2 * HOUR, submitted=2),
        gang("short", 1, 2, queue="q", limit=HOUR - 10, submitted=3),
    )
    decision = carried_out(world, 10)
    assert started(decision) == ["short"]
    assert why(decision, "long") is Cause.PROMISED
    assert promised_start(decision, "ten") == HOUR


def test_a_gang_that_no_limit_would_ever_let_start_is_promised_nothing() -> None:
    world = submitted(pool(4, QueueRules("q", quotas=TEN)), gang("a", 2, 8, queue="q", limit=60))
    decision = carried_out(world, 0)
    assert (why(decision, "a"), decision.promises) == (Cause.LIMIT, ())


def test_in_a_strict_queue_everybody_is_promised_a_start_after_those_before_it() -> None:
    world = submitted(pool(2, QueueRules("q", strict=True)), gang("half", queue="q", limit=HOUR))
    carried_out(world, 0)
    submitted(
        world,
        gang("wide", 2, queue="q", limit=HOUR, submitted=1),
        gang("small", queue="q", limit=60, submitted=2),
        gang("last", queue="q", limit=60, submitted=3),
    )
    decision = carried_out(world, 10)
    assert [why(decision, name) for name in ("wide", "small", "last")] == [Cause.CAPACITY, Cause.ORDER, Cause.ORDER]
    assert [promised_start(decision, name) for name in ("wide", "small", "last")] == [HOUR, 2 * HOUR, 2 * HOUR]


def test_behind_one_of_a_strict_queue_that_fits_nowhere_nobody_is_promised_a_start() -> None:
    world = submitted(pool(1, QueueRules("q", strict=True)), gang("wide", 2, queue="q", limit=HOUR))
    decision = carried_out(submitted(world, gang("small", queue="q", limit=60, submitted=1)), 0)
    assert ([why(decision, name) for name in ("wide", "small")], decision.promises) == ([Cause.NEVER, Cause.ORDER], ())


def test_what_was_promised_in_a_strict_queue_holds_against_whoever_comes_before_it_later() -> None:
    world = submitted(pool(2, QueueRules("q", strict=True)), gang("half", queue="q", limit=HOUR))
    carried_out(world, 0)
    carried_out(submitted(world, gang("wide", 2, queue="q", limit=HOUR, submitted=1)), 1)
    decision = carried_out(submitted(world, gang("high", 2, queue="q", limit=HOUR, submitted=2, priority=9)), 2)
    assert [promised_start(decision, name) for name in ("wide", "high")] == [HOUR, 2 * HOUR]
    world.ended("half", HOUR)
    assert started(carried_out(world, HOUR)) == ["wide"]


def test_those_behind_one_of_a_strict_queue_that_slips_slip_with_it_and_are_told_why() -> None:
    queue = QueueRules("q", strict=True)
    machines = pool(2).described.values()
    profile = Profile(
        Nodes(tuple(machines)), 0, [_runs(gang("late", queue="q", limit=50), "n0")], quotas=_quotas([queue], ())
    )
    line = [gang("wide", 2, queue="q", limit=50), gang("next", 1, queue="q", limit=50)]
    assert [each.promise and each.promise.start for each in promised(profile, line)] == [50, 100]
    profile.advance(60)
    wide, following = promised(profile, line)
    assert wide.promise is not None
    assert following.promise is not None
    assert wide.promise.start > 50
    assert (following.change, following.promise.start) == (Change.SLIPPED, wide.promise.end)
    assert following.reason == "late runs past its end"


def test_who_is_behind_one_of_a_strict_queue_that_lost_its_node_waits_for_it_and_is_told_so() -> None:
    queue = QueueRules("q", strict=True)
    world = submitted(pool(3, queue), gang("busy", 3, queue="q", limit=50))
    carried_out(world, 0)
    line = [gang("first", 2, queue="q", limit=500), gang("next", 1, queue="q", limit=60)]
    nodes = Nodes(tuple(world.described.values()))
    profile = Profile(nodes, 0, world.running.values(), quotas=world.quotas)
    found = promised(profile, line)
    assert [each.promise and each.promise.start for each in found] == [50, 50]
    (lost,) = {pod.node for pod in profile.promise(profile.pins["first"]).pods} - {"n0"}
    nodes.shut(nodes.index[lost])
    profile.changed(lost)
    profile.end(["busy"])
    profile.run([_runs(gang("other", queue="q", limit=300), "n0")])
    first, following = promised(profile, line)
    assert (first.reason, first.promise and first.promise.start) == (f"{lost} takes no pods", 300)
    assert (following.reason, following.promise and following.promise.start) == (
        "first, which is before it in its strict queue, starts later", 800,
    )  # fmt: skip


def test_a_gang_of_any_model_is_promised_a_start_within_the_limit_of_the_model_that_it_gets() -> None:
    queue = QueueRules("q", quotas={"gpu/h": Quota(limit=8_000)})
    world = submitted(pool(2, queue), *(gang(name, queue="q", limit=HOUR) for name in ("a", "b")))
    decision = carried_out(world, 0)
    assert (started(decision), promised_start(decision, "b")) == (["a"], HOUR)


QUOTA = st.builds(
    Quota,
    guarantee=st.sampled_from([0, 0, 1000, 3000]),
    limit=st.none() | st.sampled_from([2000, 4000, 6000]),
    borrowing=st.none() | st.sampled_from([0, 1000, 3000]),
    lending=st.none() | st.sampled_from([0, 1000]),
)
QUOTAS = st.dictionaries(st.sampled_from(["gpu", "cpu", "gpu/h"]), QUOTA, max_size=2)
NAMES = ("a", "b", "aa", "ab", "aaa")


@st.composite
def trees(draw: st.DrawFn) -> list[QueueRules]:
    above = {"a": None, "b": None, "aa": "a", "ab": "a", "aaa": "aa"}
    return [
        QueueRules(name, above[name], quotas=draw(QUOTAS), strict=draw(st.sampled_from([False, False, True])))
        for name in NAMES
    ]


@st.composite
def gangs(draw: st.DrawFn, name: str) -> Request:
    models = draw(st.sampled_from([(), ("h",), ("v",)]))
    shape = Shape(cpu=draw(st.sampled_from([0, 1000])), gpus=draw(st.integers(0, 2)), gpu_models=models)
    role = Role("w", draw(st.integers(1, 3)), shape)
    limit, estimate = (draw(st.none() | st.integers(1, 60)) for _ in range(2))
    return Request(name, draw(st.sampled_from(NAMES)), (role,), limit=limit, estimate=estimate)


MIXED = [Node(f"n{number}", 8000, 8, 2, "hv"[number % 2]) for number in range(4)]
PLENTY = [Node(f"n{number}", 64_000, 8, 8, "h") for number in range(12)]


@settings(deadline=None, max_examples=80)
@given(st.data(), trees())
def test_no_plan_brings_a_queue_above_its_limits_at_any_moment(data: st.DataObject, queues: list[QueueRules]) -> None:
    profile, running = _started(data, queues, MIXED)
    waiting = [data.draw(gangs(f"w{number}")) for number in range(data.draw(st.integers(1, 7)))]
    found = [each.promise for each in promised(profile, waiting)]
    rows = running + [
        Placed(request, promise.pods, promise.start, promise.end)
        for request, promise in zip(waiting, found, strict=True)
        if promise is not None
    ]
    assert over_limits(queues, MIXED, rows, RESOURCES) == []
    assert faults(MIXED, (), rows) == []
    for queue in queues:
        if queue.strict:
            each = [promise for request, promise in zip(waiting, found, strict=True) if request.queue == queue.name]
            starts = [promise.start for promise in each if promise is not None]
            assert each[len(starts) :] == [None] * (len(each) - len(starts))
            assert starts == sorted(starts)


@settings(deadline=None, max_examples=60)
@given(st.data(), trees())
def test_with_nodes_to_spare_each_starts_at_the_first_moment_that_limits_let_it(
    data: st.DataObject, queues: list[QueueRules]
) -> None:
    queues = [replace(queue, strict=False) for queue in queues]
    profile, rows = _started(data, queues, PLENTY)
    for number in range(data.draw(st.integers(1, 5))):
        request = data.draw(gangs(f"w{number}").filter(lambda each: "v" not in each.roles[0].shape.gpu_models))
        (outlook,) = promised(profile, [*(row.request for row in profile.pins.values()), request])[-1:]
        first = _first(queues, rows, request)
        assert (outlook.promise and outlook.promise.start) == first
        if outlook.promise is not None:
            rows.append(Placed(request, outlook.promise.pods, outlook.promise.start, outlook.promise.end))


def _first(queues: Sequence[QueueRules], rows: Sequence[Placed], request: Request) -> int | None:
    """By trying every moment at which something ends; what an earlier round already broke may stay broken."""
    pods = tuple(Pod(0, "n0") for _ in range(request.roles[0].count))
    seconds = request.limit if request.limit is not None else request.estimate
    broken = set(over_limits(queues, PLENTY, rows, RESOURCES))
    for moment in sorted({0, *(row.end for row in rows if row.end is not None)}):
        row = Placed(request, pods, moment, None if seconds is None else moment + seconds)
        if not set(over_limits(queues, PLENTY, [*rows, row], RESOURCES)) - broken:
            return moment
    return None


def _started(data: st.DataObject, queues: list[QueueRules], nodes: list[Node]) -> tuple[Profile, list[Placed]]:
    """Nodes on which a few gangs run that limits let start."""
    quotas, rows = _quotas(queues, nodes), list[Placed]()
    free, running = {node.name: list(range(node.gpus)) for node in nodes}, list[Running]()
    models = {node.name: node.model for node in nodes}
    for number in range(data.draw(st.integers(0, 4))):
        request = data.draw(gangs(f"r{number}"))
        (role,) = request.roles
        node = next(
            (n.name for n in nodes if len(free[n.name]) >= role.count * role.shape.gpus and _may(n, role)), None
        )
        if node is None:
            continue
        pods = tuple(Pod(0, node, tuple(free[node].pop() for _ in range(role.shape.gpus))) for _ in range(role.count))
        if quotas.fits(request.queue, taken(request, pods, models)) is not None:
            continue
        quotas.add(request.queue, taken(request, pods, models))
        running.append(Running(request, pods, 0))
        seconds = request.limit if request.limit is not None else request.estimate
        rows.append(Placed(request, pods, 0, seconds))
    return Profile(Nodes(nodes), 0, running, step=10, horizon=10_000, quotas=quotas), rows


def _may(node: Node, role: Role) -> bool:
    return not role.shape.gpu_models or node.model in role.shape.gpu_models


def _quotas(queues: Sequence[QueueRules], nodes: Sequence[Node]) -> Quotas:
    return Quotas(tuple(queues), capacity(nodes))


def _runs(request: Request, node: str) -> Running:
    return Running(request, (Pod(0, node, tuple(range(8))),), 0)
