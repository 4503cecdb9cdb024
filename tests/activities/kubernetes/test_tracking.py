"""What is remembered of attempts: the last word of pods that are gone, whatever order news comes in."""

from datetime import timedelta
from typing import Any

import pytest

from activities.adapters.kubernetes.cache import Change
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import REF, ROLE
from activities.adapters.kubernetes.tracking import Tracker
from activities.adapters.kubernetes.watching import Listing
from definitions.attempt import AttemptRef
from tests.activities.runtime_world import new_ref
from tests.support.jobs import NOW

Object = dict[str, Any]


@pytest.fixture
def tracker() -> Tracker:
    return Tracker(lambda: NOW)


@pytest.fixture
def ref() -> AttemptRef:
    return new_ref()


def thing(ref: AttemptRef, name: str, version: int = 1, **status: Any) -> Object:
    meta = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "labels": {ROLE: "rank"},
        "annotations": {REF: ref.model_dump_json()},
    }
    return {"metadata": meta, "spec": {"nodeName": "node-1"}, "status": status}


def seen(kind: Kind, new: Object, old: Object | None = None) -> Change:
    return Change(kind, new["metadata"]["name"], old, new, NOW)


def gone(kind: Kind, old: Object) -> Change:
    return Change(kind, old["metadata"]["name"], old, None, NOW)


def test_a_pod_that_is_gone_keeps_its_last_words(tracker: Tracker, ref: AttemptRef) -> None:
    tracker.changed(seen(Kind.JOB, thing(ref, "job")))
    tracker.changed(seen(Kind.POD, thing(ref, "pod", phase="Running")))
    tracker.changed(gone(Kind.POD, thing(ref, "pod", 2, phase="Failed")))
    attempt = tracker.get(ref)
    assert attempt is not None
    (pod,) = attempt.pods.values()
    assert (pod.gone, pod.pod["status"]["phase"], attempt.living) == (True, "Failed", [])


def test_news_of_a_pod_may_come_before_those_of_its_job(tracker: Tracker, ref: AttemptRef) -> None:
    tracker.changed(seen(Kind.POD, thing(ref, "pod")))
    tracker.changed(seen(Kind.JOB, thing(ref, "job")))
    attempt = tracker.get(ref)
    assert attempt is not None
    assert (attempt.living_job is not None, len(attempt.living)) == (True, 1)


def test_what_is_older_than_what_is_known_changes_nothing(tracker: Tracker, ref: AttemptRef) -> None:
    tracker.put_job(ref, thing(ref, "job", 9, active=1))
    tracker.changed(seen(Kind.JOB, thing(ref, "job", 5)))
    attempt = tracker.get(ref)
    assert attempt is not None
    assert attempt.job is not None
    assert attempt.job["status"] == {"active": 1}


def test_what_an_answer_of_the_api_leaves_out_is_gone(tracker: Tracker, ref: AttemptRef) -> None:
    tracker.changed(seen(Kind.JOB, thing(ref, "job")))
    for name in ("a", "b"):
        tracker.changed(seen(Kind.POD, thing(ref, name)))
    attempt = tracker.answered(ref, Listing([], "2"), Listing([thing(ref, "b", 2)], "2"))
    assert (attempt.living_job, [each.pod["metadata"]["name"] for each in attempt.living]) == (None, ["b"])


def test_what_was_made_after_the_api_was_asked_is_not_gone(tracker: Tracker, ref: AttemptRef) -> None:
    """A launch goes on while somebody else looks: the answer is older than what the launch has made."""
    tracker.put_job(ref, thing(ref, "job", 8))
    tracker.changed(seen(Kind.POD, thing(ref, "pod", 9)))
    attempt = tracker.answered(ref, Listing([], "7"), Listing([], "7"))
    assert (attempt.living_job is not None, len(attempt.living)) == (True, 1)
    attempt = tracker.answered(ref, Listing([], "9"), Listing([], "9"))
    assert (attempt.living_job, attempt.living) == (None, [])


def test_an_attempt_that_was_collected_is_not_remembered_again(tracker: Tracker, ref: AttemptRef) -> None:
    tracker.changed(seen(Kind.JOB, thing(ref, "job")))
    tracker.forget(ref)
    tracker.changed(seen(Kind.POD, thing(ref, "pod")))
    tracker.changed(gone(Kind.JOB, thing(ref, "job")))
    assert tracker.get(ref) is None
    assert tracker.wait(0) == []


@pytest.mark.parametrize("kind", [Kind.JOB, Kind.POD])
def test_the_end_of_what_was_never_seen_is_no_news(tracker: Tracker, ref: AttemptRef, kind: Kind) -> None:
    tracker.changed(gone(kind, thing(ref, "x")))
    assert tracker.get(ref) is None


def test_a_keeper_is_no_pod_of_the_attempt(tracker: Tracker, ref: AttemptRef) -> None:
    keeper = thing(ref, "keep")
    keeper["metadata"]["labels"][ROLE] = "keeper"
    tracker.changed(seen(Kind.POD, keeper))
    assert tracker.get(ref) is None


def test_a_change_of_its_node_is_news_of_an_attempt(tracker: Tracker, ref: AttemptRef) -> None:
    tracker.changed(seen(Kind.POD, thing(ref, "pod")))
    assert [each.ref for each in tracker.wait(0)] == [ref]
    tracker.changed(seen(Kind.NODE, thing(ref, "node-2")))
    assert tracker.wait(0) == []
    tracker.changed(seen(Kind.NODE, thing(ref, "node-1")))
    assert [each.ref for each in tracker.wait(0)] == [ref]


def test_since_when_a_container_waits_with_a_reason_is_remembered(tracker: Tracker, ref: AttemptRef) -> None:
    def waits(reason: str, version: int) -> Object:
        status = {"name": "main", "state": {"waiting": {"reason": reason}}}
        return thing(ref, "pod", version, containerStatuses=[status])

    def since() -> Any:
        attempt = tracker.get(ref)
        assert attempt is not None
        (pod,) = attempt.pods.values()
        return pod.waiting["main"][1]

    later = NOW + timedelta(minutes=1)
    tracker.changed(seen(Kind.POD, waits("ErrImagePull", 1)))
    tracker.changed(Change(Kind.POD, "pod", None, waits("ErrImagePull", 2), later))
    assert since() == NOW
    tracker.changed(Change(Kind.POD, "pod", None, waits("CreateContainerConfigError", 3), later))
    assert since() == later
