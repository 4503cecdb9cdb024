"""What pods and receipts mean together: who failed first, who was taken along; receipts are never contradicted."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.attempt import AttemptObservation, OomEvidence, RankEvidence, RankState, StartError, StoppedBy
from definitions.pod import ContainerFacts, ContainerState, PodCause, PodFacts
from definitions.states import FailureClass
from policies.failure import Judgement, judge
from policies.pod_evidence import evidence, hopeless, note, observation, patience_ends
from tests.support.jobs import NOW, rank
from tests.support.pods import SETTINGS, pod, pod_launch, running, terminated, unprepared, waiting

LATER = NOW + timedelta(minutes=2)
DELETED: dict[str, Any] = {"deleting": True, "deleted_at": NOW}
DRAINED: dict[str, Any] = {"disruption": "EvictionByEvictionAPI", "disruption_at": NOW, **DELETED}


def taken_down(number: int, **changes: Any) -> RankEvidence:
    """The receipt of a rank that its pod's SIGTERM ended, after it had time to save."""
    given = {"exit_code": None, "signal": 15, "stopped_by": StoppedBy.SHUTDOWN, "ended_at": LATER}
    return rank(number, **{**given, **changes})


def judged(pods: list[PodFacts], *receipts: RankEvidence, nodes: int = 2, **changes: Any) -> Judgement:
    launch = pod_launch(nodes, **changes)
    ranks = evidence(pods, launch, SETTINGS, LATER, {one.rank: one for one in receipts})
    return judge(AttemptObservation(ref=launch.ref, at=LATER, ranks=ranks, ended=True))


def test_a_rank_that_was_taken_down_is_explained_by_why_its_pod_was() -> None:
    over = judged([terminated(143, **DRAINED)], taken_down(0), nodes=1)
    assert over.failure is FailureClass.EVICTED
    assert "evicted from node-0 (EvictionByEvictionAPI)" in over.reason
    assert over.signal == 15


def test_a_drain_is_the_cause_whatever_its_peers_end_with_while_it_saves() -> None:
    crashed = rank(1, exit_code=1, ended_at=NOW + timedelta(seconds=30))
    over = judged([terminated(143, **DRAINED), terminated(1, index=1)], taken_down(0), crashed)
    assert (over.failure, over.rank) == (FailureClass.EVICTED, 0)


def test_a_pod_that_the_cluster_cleaned_up_after_a_failure_is_not_the_cause() -> None:
    cleaned: dict[str, Any] = {**DELETED, "gone": True}
    unready = unprepared('{"code": "PD-3012", "message": "leads outside"}', index=1)
    for pods, receipts in [
        ([pod(0, **cleaned), unready], []),
        ([running(0, **cleaned), unready], []),
        ([terminated(143, **cleaned), unready], [taken_down(0)]),
        ([running(0, gone=True, last_seen=NOW - timedelta(minutes=1)), unready], []),
    ]:
        over = judged(pods, *receipts)
        assert (over.failure, over.rank) == (FailureClass.USER_ERROR, 1)


def test_a_pod_that_was_deleted_long_after_a_failure_is_not_the_cause() -> None:
    failed = rank(1, exit_code=3, ended_at=NOW - timedelta(seconds=6))
    over = judged([running(0, **DELETED, gone=True), terminated(3, index=1)], failed)
    assert (over.failure, over.rank, over.exit_code) == (FailureClass.USER_ERROR, 1, 3)


def test_a_pod_that_was_deleted_before_any_failure_is_the_cause() -> None:
    crashed = rank(1, exit_code=1, ended_at=NOW + timedelta(seconds=2))
    over = judged([running(0, deleting=True, deleted_at=NOW, gone=True), terminated(1, index=1)], crashed)
    assert (over.failure, over.rank) == (FailureClass.EVICTED, 0)
    assert "its pod train-0 was deleted" in over.reason


def test_ranks_that_were_stopped_for_a_lost_node_are_not_the_cause() -> None:
    stopped = rank(1, exit_code=None, signal=15, stopped_by=StoppedBy.GANG, ended_at=NOW + timedelta(seconds=3))
    over = judged([running(0, node_ready=False), terminated(143, index=1)], stopped)
    assert (over.failure, over.rank, over.nodes) == (FailureClass.NODE_LOST, 0, ("node-0",))


def test_when_the_kernel_kills_in_a_pod_the_rank_that_was_killed_ran_out_of_memory() -> None:
    receipts = [
        rank(0, exit_code=None, signal=9, ended_at=NOW),
        rank(1, exit_code=1, ended_at=NOW, stopped_by=None),
        rank(2, exit_code=None, signal=15, stopped_by=StoppedBy.GANG),
    ]
    pods = [terminated(137, "OOMKilled")]
    launch = pod_launch(1, processes_per_node=3)
    found = evidence(pods, launch, SETTINGS, LATER, {one.rank: one for one in receipts})
    assert [one.cause for one in found] == [PodCause.OUT_OF_MEMORY, None, None]
    alone = evidence(pods, pod_launch(), SETTINGS, LATER, {0: rank(0, exit_code=1)})
    assert [one.cause for one in alone] == [PodCause.OUT_OF_MEMORY]
    stopped = evidence(pods, pod_launch(), SETTINGS, LATER, {0: rank(0, exit_code=1, stopped_by=StoppedBy.HANG)})
    assert [one.cause for one in stopped] == [None]


def test_a_pod_without_receipts_that_the_kernel_ended_ran_out_of_memory_with_all_its_ranks() -> None:
    found = evidence([terminated(137, "OOMKilled")], pod_launch(processes_per_node=2), SETTINGS, LATER)
    assert [(one.signal, one.oom, one.exit_code) for one in found] == [(9, OomEvidence.CONFIRMED, None)] * 2


@pytest.mark.parametrize(("code", "state", "exit_code"), [(0, RankState.EXITED, 0), (1, RankState.LOST, None)])
def test_a_rank_whose_receipt_had_no_room_ended_as_its_pod_did(
    code: int, state: RankState, exit_code: int | None
) -> None:
    _, left_out = evidence(
        [terminated(code)], pod_launch(processes_per_node=2), SETTINGS, LATER, {0: rank(0, exit_code=code)}
    )
    assert (left_out.state, left_out.exit_code) == (state, exit_code)
    over = judged([terminated(code)], rank(0, exit_code=code), nodes=1, processes_per_node=2)
    assert over.rank == (None if code == 0 else 0)


def test_ranks_that_wait_for_a_gang_that_will_never_come_up_have_ended_with_it() -> None:
    launch = pod_launch(3)
    pods = [running(0), pod(1), unprepared('{"code": "PD-3401", "message": "others"}', index=2)]
    up, never, failed = evidence(pods, launch, SETTINGS, NOW)
    assert (up.state, never.state, never.stopped_by) == (RankState.RUNNING, RankState.LOST, StoppedBy.GANG)
    assert (failed.cause, failed.start_error) == (PodCause.INIT, StartError.WORKDIR)
    given_up = [running(0), pod(1), waiting("InvalidImageName", "no tag", 2)]
    seen = observation(launch, given_up, SETTINGS, NOW)
    assert seen.ended
    assert [one.stopped_by for one in seen.ranks] == [StoppedBy.GANG, StoppedBy.GANG, None]
    assert judge(seen).failure is FailureClass.IMAGE


def test_pods_that_went_because_we_asked_are_told_so() -> None:
    gone = running(0, deleting=True, gone=True)
    launch = pod_launch(3)
    seen = observation(launch, [gone, pod(1, gone=True, deleting=True)], SETTINGS, NOW, stopped=True)
    assert seen.ended
    assert [one.stopped_by for one in seen.ranks] == [StoppedBy.REQUEST] * 3
    assert judge(seen).reason == "stopped on request"


def test_the_first_pod_of_an_index_counts_and_a_replacement_does_not() -> None:
    first = running(0, gone=True, deleting=True, created_at=NOW)
    second = running(0, uid="other", created_at=LATER)
    for pods in ([first, second], [second, first]):
        assert evidence(pods, pod_launch(), SETTINGS, LATER)[0].cause is PodCause.DELETED


moments = st.none() | st.integers(-600, 600).map(lambda seconds: NOW + timedelta(seconds=seconds))
reasons = st.sampled_from(
    [
        *("", "Evicted", "DeadlineExceeded", "NodeLost", "Preempting", "OutOfcpu", "OOMKilled", "Error", "Completed"),
        *("ErrImagePull", "InvalidImageName", "CreateContainerConfigError", "StartError", "Unknown"),
    ]
)
words = st.sampled_from(["", "x", 'persistentvolumeclaim "a" not found', '{"code": "PD-3012", "message": "m"}', "{}"])
containers = st.builds(
    ContainerFacts,
    name=st.just("main"),
    state=st.sampled_from(ContainerState),
    reason=reasons,
    message=words,
    exit_code=st.sampled_from([None, 0, 1, 3, 137, 143]),
    started_at=moments,
    ended_at=moments,
    waiting_since=moments,
)
pods_st = st.builds(
    PodFacts,
    name=st.just("p"),
    uid=st.sampled_from("abcdef"),
    index=st.integers(0, 2),
    node=st.sampled_from([None, "n1", "n2"]),
    phase=st.sampled_from(["Pending", "Running", "Failed", "Succeeded", "Unknown"]),
    reason=reasons,
    message=words,
    created_at=moments,
    deleting=st.booleans(),
    deleted_at=moments,
    scheduled=st.booleans(),
    unschedulable=words,
    disruption=st.sampled_from(["", "EvictionByEvictionAPI", "PreemptionByScheduler", "DeletionByTaintManager", "X"]),
    disruption_at=moments,
    init=st.lists(containers, max_size=1).map(tuple),
    main=st.none() | containers,
    gone=st.booleans(),
    last_seen=moments,
    node_ready=st.sampled_from([None, True, False]),
    node_gone=st.booleans(),
    warning=st.sampled_from(["", 'FailedMount: secret "a" not found']),
)
receipts_st = st.builds(
    rank,
    st.integers(0, 3),
    state=st.sampled_from([RankState.EXITED, RankState.LOST]),
    exit_code=st.sampled_from([0, 1, 137, None]),
    signal=st.sampled_from([None, 9, 15]),
    stopped_by=st.sampled_from([None, *StoppedBy]),
    start_error=st.sampled_from([None, StartError.NOT_FOUND]),
    ended_at=moments,
)
SEEN_BY_SUPERVISORS = set(RankEvidence.model_fields) - {"cause", "cause_at", "detail", "lost_peer"}


@given(st.lists(pods_st, max_size=4), st.lists(receipts_st, max_size=4), st.booleans())
def test_whatever_is_seen_is_judged_the_same_each_time_and_no_receipt_is_contradicted(
    pods: list[PodFacts], receipts: list[RankEvidence], stopped: bool
) -> None:
    launch = pod_launch(2, processes_per_node=2)
    told = {one.rank: one for one in receipts}
    seen = observation(launch, pods, SETTINGS, NOW, told, stopped=stopped)
    assert seen == observation(launch, list(pods), SETTINGS, NOW, told, stopped=stopped)
    assert [one.rank for one in seen.ranks] == [0, 1, 2, 3]
    for one in seen.ranks:
        if one.rank in told:
            assert one.model_dump(include=SEEN_BY_SUPERVISORS) == told[one.rank].model_dump(include=SEEN_BY_SUPERVISORS)
        if one.cause is not None:
            assert one.detail
    if seen.ended:
        assert seen.note == ""
        over = judge(seen)
        clean = all(one.exit_code == 0 and one.signal is None for one in seen.ranks)
        assert over.failure is not None or clean
    if hopeless(pods, SETTINGS, NOW):
        assert all(one.state is not RankState.WAITING for one in seen.ranks)
    again = patience_ends(pods, SETTINGS, NOW)
    assert again is None or again > NOW
    assert isinstance(note(pods, launch), str)
