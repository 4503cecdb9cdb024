"""What is said of a cluster's worker, and how a node is drained."""

from datetime import UTC, datetime, timedelta

import pytest

from definitions.cluster_calls import NodePod
from policies.clusters import HEARTBEAT, SILENT_AFTER, silence
from policies.node_plan import DRAIN_WITHIN, FIRST_LOOK, RARELY, drain_step

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (None, "was never seen"),
        (timedelta(0), None),
        (SILENT_AFTER, None),
        (SILENT_AFTER + timedelta(seconds=1), "last seen 46s ago"),
        (timedelta(hours=3), "last seen 3h ago"),
    ],
)
def test_a_worker_is_missed_when_it_was_not_seen_lately(ago: timedelta | None, said: str | None) -> None:
    note = silence("north", None if ago is None else NOW - ago, NOW)
    assert (note is None) == (said is None)
    assert said is None or (said in (note or "") and "north" in (note or ""))


def test_a_missed_heartbeat_or_two_are_no_silence() -> None:
    assert silence("north", NOW - 3 * HEARTBEAT, NOW) is None


def pod(name: str, **changes: object) -> NodePod:
    return NodePod.model_validate({"name": name, "uid": f"uid-{name}", **changes})


def test_each_pod_is_asked_once_and_one_that_leaves_is_only_waited_for() -> None:
    pods = (pod("a"), pod("b"), pod("c", leaving=True))
    step = drain_step(pods, frozenset({"uid-a"}), 2, NOW, NOW)
    assert [each.name for each in step.evict] == ["b"]
    assert (step.over, step.message) == (False, "2 pods left, 3 still there")


def test_a_drain_is_over_when_nobody_is_there() -> None:
    step = drain_step((), frozenset({"uid-a"}), 1, NOW, NOW)
    assert (step.over, step.evict, step.message) == (True, (), "1 pod left")


def test_a_drain_gives_up_after_its_time_and_says_who_is_left() -> None:
    step = drain_step((pod("a"),), frozenset(), 0, NOW, NOW + DRAIN_WITHIN)
    assert (step.over, step.evict) == (True, ())
    assert "1 still there" in step.message


def test_looks_grow_rarer() -> None:
    looks = [drain_step((pod("a"),), frozenset(), 0, NOW, NOW + timedelta(minutes=m)).look_after for m in (0, 1, 50)]
    assert looks == [FIRST_LOOK, timedelta(seconds=6), RARELY]
