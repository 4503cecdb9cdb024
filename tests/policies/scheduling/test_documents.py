"""Documents in the scheduler's words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduling.documents import Priority, Scheduling, scheduling
from policies.scheduling.model import Node, QueueRules, Quota, Reclaim, Stop, Taint, Within
from tests.definitions.test_queue_model import document
from tests.policies.scheduling.test_document_checks import H100, HALL, gpus, h100, pool, queue, read, reservation

GI = 1024**3


def converted(*documents: dict[str, Any]) -> Scheduling:
    return scheduling(read(*documents))


def test_a_queue_becomes_its_rules_with_every_field() -> None:
    found = converted(
        queue(
            "research",
            "all",
            weight=2.5,
            quotas={
                "cpus": {"limit": "500m"},
                "memory": {"guarantee": "1Ti", "lending": "0"},
                "gpus": {"limit": 16.5, "borrowing": 0},
                "flavors": {"h100": {"guarantee": 8, "limit": 16, "lending": 4}},
            },
            order="strict",
            minRunTime="30m",
            preemption={"within": "never", "reclaim": "lowerPriority"},
            usageHalfLife="7d",
            stop="holdAndDrain",
            default=True,
        ),
        queue("all"),
        H100,
    )
    assert found.queues[1] == QueueRules(
        name="research",
        parent="all",
        weight=2.5,
        quotas={
            "cpu": Quota(0, 500, None, None),
            "memory": Quota(1024 * GI, None, None, 0),
            "gpu": Quota(8000, 16500, 0, None),
            "gpu/H100": Quota(8000, 16000, None, 4000),
        },
        strict=True,
        min_run=1800,
        within=Within.NEVER,
        reclaim=Reclaim.LOWER,
        half_life=604800,
        stop=Stop.DRAIN,
    )
    assert found.default_queue == "research"
    assert found.path("research") == ("research", "all")


def test_a_queue_that_says_nothing_has_the_rules_that_are_the_schedulers_own_default() -> None:
    assert converted(queue("all")).queues == (QueueRules("all"),)


@pytest.mark.parametrize(
    ("field", "word", "rules"),
    [
        ("within", "lowerPriority", Within.LOWER),
        ("within", "lowerOrNewerEqualPriority", Within.LOWER_OR_NEWER),
        ("reclaim", "never", Reclaim.NEVER),
        ("reclaim", "any", Reclaim.ANY),
    ],
)
def test_whom_a_queue_may_displace_keeps_its_meaning(field: str, word: str, rules: Within | Reclaim) -> None:
    assert getattr(converted(queue("a", preemption={field: word})).queues[0], field) == rules


def test_a_queue_holds_what_it_was_told_to() -> None:
    assert [each.stop for each in converted(queue("a", stop="no"), queue("b", stop="hold")).queues] == [
        Stop.NONE,
        Stop.HOLD,
    ]


def test_an_inner_queue_is_guaranteed_what_those_below_it_are_unless_it_says_so() -> None:
    found = converted(
        H100,
        queue("all"),
        queue("b", "all", **gpus(limit=100)),
        queue("c", "b", **h100(guarantee=3)),
        queue("d", "b", **gpus(guarantee=4)),
        queue("e", "all", **gpus(guarantee=10)),
        queue("f", "e", **gpus(guarantee=1)),
    )
    owed = {rules.name: {name: quota.guarantee for name, quota in rules.quotas.items()} for rules in found.queues}
    assert owed == {
        "all": {"gpu": 17000, "gpu/H100": 3000},
        "b": {"gpu": 7000, "gpu/H100": 3000},
        "c": {"gpu": 3000, "gpu/H100": 3000},
        "d": {"gpu": 4000},
        "e": {"gpu": 10000},
        "f": {"gpu": 1000},
    }


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_queues_come_after_those_above_them_in_whatever_order_they_were_written(above: list[int], random: Any) -> None:
    documents = [queue(f"q{at}", f"q{to % at}" if at and to % 4 else None) for at, to in enumerate(above)]
    random.shuffle(documents)
    found = [each.name for each in converted(*documents).queues]
    assert sorted(found) == sorted(f"q{at}" for at in range(len(above)))
    parents = {each["metadata"]["name"]: each["spec"].get("parent") for each in documents}
    assert all(parents[name] is None or found.index(parents[name]) < place for place, name in enumerate(found))


def test_a_flavor_gives_every_word_for_its_model_and_its_memory() -> None:
    found = converted(H100, document("ResourceFlavor", {"gpuType": "T4"}, "t4"))
    assert found.models == {"H100": "H100", "NVIDIA-H100": "H100", "T4": "T4"}
    assert found.gpu_memory == {"H100": 80 * GI}


def test_simulated_nodes_have_the_labels_of_their_domains() -> None:
    found = converted(
        H100,
        HALL,
        pool(
            gpus=8,
            flavor="h100",
            labels={"zone": "north"},
            taints=[{"key": "dedicated", "value": "x"}, {"key": "soft", "effect": "PreferNoSchedule"}],
            domains={"block": 4, "rack": 2},
        ),
    )
    assert found.nodes[3] == Node(
        name="training-0003",
        cpu=64000,
        memory=1024 * GI,
        gpus=8,
        model="H100",
        gpu_memory=80 * GI,
        labels={"zone": "north", "x/block": "training-block-0", "x/rack": "training-rack-1"},
        taints=(Taint("dedicated", "x"), Taint("soft", "", "PreferNoSchedule")),
        simulated=True,
    )
    assert found.pools["training"].levels == {"block": "x/block", "rack": "x/rack"}
    assert found.pools["training"].members((found.nodes[0], Node("training-0000", 1, 1))) == (found.nodes[0],)


def test_a_pool_has_the_nodes_that_its_selector_names() -> None:
    found = converted(document("NodePool", {"nodeSelector": {"pool": "a", "zone": "b"}}))
    nodes = [Node("n", 1, 1, labels=labels) for labels in ({"pool": "a", "zone": "b", "x": "y"}, {"pool": "a"}, {})]
    assert found.pools["a"].members(nodes) == (nodes[0],)


def test_a_priority_class_says_who_may_use_it_and_when_its_jobs_waited_too_long() -> None:
    spec = {"value": 9, "usableBy": ["a"], "displacesPromises": True, "preemptible": False, "default": True}
    found = converted(
        queue("a"),
        queue("b", "a"),
        queue("c"),
        document("PriorityClass", {**spec, "longestQueueTime": "1h", "alertWhenMissed": True}, "high"),
        document("PriorityClass", {"value": 0}, "low"),
    )
    high, low = found.priorities["high"], found.priorities["low"]
    assert high == Priority("high", 9, False, True, frozenset({"a"}), 3600, True)
    assert (low, found.default_priority) == (Priority("low"), "high")
    assert [high.allows(found.path(name)) for name in "abc"] == [True, True, False]
    assert low.allows(found.path("c"))
    assert [high.missed(100, started, 4000) for started in (None, 3700, 3701)] == [300, 0, 1]
    assert low.missed(0, None, 10**9) == 0


def test_a_reservation_knows_its_model() -> None:
    found = converted(H100, queue("all"), reservation(capacity={"gpus": 8, "flavor": "h100"}), reservation("any"))
    assert [(each.name, each.model) for each in found.reservations] == [("nightly", "H100"), ("any", "")]
