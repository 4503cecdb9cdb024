"""What real clusters said of real pods (recorded/), as facts; nothing is concluded here."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.kubernetes.facts import (
    NodeFacts,
    Seen,
    is_over,
    keeper_ended_at,
    main_state,
    node_facts,
    pod_facts,
    termination_messages,
    waiting_reasons,
)
from definitions.pod import ContainerState, PodFacts

RECORDED = Path(__file__).with_name("recorded")
AT = datetime(2026, 1, 1, tzinfo=UTC)


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return found


def facts(name: str, seen: Seen | None = None) -> PodFacts:
    return pod_facts(recorded(name), NodeFacts(), seen or Seen())


@pytest.mark.parametrize(
    ("name", "phase", "reason", "state", "why", "code"),
    [
        ("exit-3", "Failed", "", ContainerState.TERMINATED, "Error", 3),
        ("oom-killed", "Failed", "", ContainerState.TERMINATED, "OOMKilled", 137),
        ("deadline", "Failed", "DeadlineExceeded", ContainerState.TERMINATED, "Error", 137),
        ("over-ephemeral", "Failed", "Evicted", ContainerState.TERMINATED, "ContainerStatusUnknown", 137),
        ("image-never", "Pending", "", ContainerState.WAITING, "ErrImageNeverPull", None),
        ("image-pull", "Pending", "", ContainerState.WAITING, "ImagePullBackOff", None),
        ("config-key", "Pending", "", ContainerState.WAITING, "CreateContainerConfigError", None),
        ("message", "Succeeded", "", ContainerState.TERMINATED, "Completed", 0),
        ("running", "Running", "", ContainerState.RUNNING, "", None),
    ],
)
def test_a_pod_is_told_in_the_kubelets_own_words(
    name: str, phase: str, reason: str, state: ContainerState, why: str, code: int | None
) -> None:
    seen = facts(name)
    assert (seen.phase, seen.reason, seen.index, seen.node) == (phase, reason, 1, "node-a")
    assert seen.main is not None
    assert (seen.main.state, seen.main.reason, seen.main.exit_code) == (state, why, code)
    assert main_state(recorded(name)) is state
    assert is_over(recorded(name)) == (phase in ("Succeeded", "Failed"))


def test_what_kept_a_container_from_starting_is_told_whole() -> None:
    assert "i/o timeout" in _main_message("image-pull")
    assert _main_message("config-key") == 'secret "nobody" not found'


def test_a_pod_without_a_place_has_the_schedulers_sentence_and_no_node() -> None:
    seen = facts("unschedulable")
    assert (seen.scheduled, seen.node, seen.main) == (False, None, None)
    assert "node(s) didn't match Pod's node affinity/selector" in seen.unschedulable


def test_a_failed_preparation_says_why() -> None:
    (prepare,) = facts("init-failed").init
    assert (prepare.name, prepare.exit_code) == ("prepare", 1)
    assert json.loads(prepare.message) == {"code": "PD-3201", "message": "no snapshot"}


def test_receipts_are_in_the_termination_message() -> None:
    assert termination_messages(recorded("message")) == ['{"v":1,"token":"t","t":0,"ranks":[]}']
    assert termination_messages(recorded("running")) == []


def test_a_pod_that_is_gone_keeps_what_was_seen_last_and_when() -> None:
    seen = facts("running", Seen(gone=True, at=AT))
    assert (seen.gone, seen.last_seen, seen.phase) == (True, AT, "Running")


def test_since_when_a_container_waits_is_the_observers_own_knowledge() -> None:
    assert waiting_reasons(recorded("image-pull")) == {"main": "ImagePullBackOff"}
    main = facts("image-pull", Seen(waiting={"main": AT})).main
    assert main is not None
    assert main.waiting_since == AT


def test_a_deletion_is_dated_with_when_it_was_asked_for() -> None:
    pod = recorded("running")
    pod["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}
    seen = pod_facts(pod, NodeFacts(), Seen())
    assert (seen.deleting, seen.deleted_at) == (True, AT)


def test_a_disruption_is_told_with_its_moment() -> None:
    pod = recorded("running")
    pod["status"]["conditions"].append(
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    )
    seen = pod_facts(pod, NodeFacts(), Seen())
    assert (seen.disruption, seen.disruption_message) == ("EvictionByEvictionAPI", "Eviction API: evicting")
    assert seen.disruption_at == AT


@pytest.mark.parametrize(
    ("status", "known", "expected"),
    [
        ("True", True, NodeFacts(ready=True)),
        ("False", True, NodeFacts(ready=False, heard=AT)),
        ("Unknown", True, NodeFacts(ready=False, heard=AT)),
        (None, True, NodeFacts(gone=True)),
        (None, False, NodeFacts()),
    ],
)
def test_a_node_is_ready_silent_gone_or_unknown(status: str | None, known: bool, expected: NodeFacts) -> None:
    condition = {
        "type": "Ready",
        "status": status,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "lastHeartbeatTime": "2025-12-31T23:55:00Z",
    }
    node = None if status is None else {"status": {"conditions": [condition]}}
    assert node_facts(node, "node-a", known=known) == expected


def test_what_is_silent_is_alive_until_it_fell_silent() -> None:
    seen = pod_facts(recorded("running"), NodeFacts(ready=False, heard=AT), Seen(at=AT + timedelta(minutes=5)))
    assert (seen.node_ready, seen.last_seen) == (False, AT)


def _main_message(name: str) -> str:
    main = facts(name).main
    assert main is not None
    return main.message


def test_a_keeper_has_ended_when_its_container_has_and_its_pod_says_so() -> None:
    ended = {"name": "keeper", "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}}
    for phase, statuses, at in [
        ("Running", [{"name": "keeper", "state": {"running": {}}}], None),
        ("Running", [ended], None),
        ("Succeeded", [ended], AT),
        ("Failed", [], None),
    ]:
        assert keeper_ended_at({"metadata": {}, "status": {"phase": phase, "containerStatuses": statuses}}) == at
