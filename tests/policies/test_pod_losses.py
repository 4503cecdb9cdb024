"""A job does not fail for good because a pod of it was taken away, however its other ranks end, whatever shows first.

A rank that loses its peer ends with a code of its own. Each row is what a cluster shows of the pod that is taken, step
by step; the other rank's end shows before, between or after these, and its clock may differ.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest

from definitions.attempt import AttemptObservation, OomEvidence, RankEvidence, RankState, StartError, StoppedBy
from definitions.pod import PodFacts
from definitions.states import FailureClass, Mode
from policies.failure import Judgement, judge
from policies.pod_causes import WORDS_WITHIN
from policies.pod_evidence import observation
from policies.retry import TABLE
from tests.support.jobs import NOW, rank
from tests.support.pods import SETTINGS, pod_launch, running, terminated

CLASSES = FailureClass
SECONDS = [timedelta(seconds=seconds) for seconds in (-4.5, -0.6, 0.0, 0.4, 3.0, 60.0)]
DELETED: dict[str, Any] = {"deleting": True, "deleted_at": NOW}
EVICTED: dict[str, Any] = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. "}
PUT_OUT: dict[str, Any] = {"disruption": "TerminationByKubelet", "disruption_at": NOW}
DRAINED: dict[str, Any] = {"disruption": "EvictionByEvictionAPI", "disruption_at": NOW, **DELETED}
PREEMPTED: dict[str, Any] = {"disruption": "PreemptionByScheduler", "disruption_at": NOW, **DELETED}
UNSETTLED: dict[str, Any] = {"phase": "Running"}  # the container has ended, and its pod has not
SILENT: dict[str, Any] = {"node_ready": False, "last_seen": NOW + timedelta(seconds=50)}
TAKEN_DOWN = rank(1, exit_code=None, signal=15, stopped_by=StoppedBy.SHUTDOWN, ended_at=NOW + timedelta(seconds=1))
SEVERED = rank(
    0, exit_code=None, signal=15, stopped_by=StoppedBy.SEVERED, detail="pod 1 has not been heard of for 3.3 s"
)


class Seen(NamedTuple):
    """One look at the pod that is taken."""

    pod: PodFacts
    receipt: RankEvidence | None = None
    after: timedelta = timedelta(seconds=2)


def gone(**changes: Any) -> PodFacts:
    return running(1, gone=True, **changes)


def ended(code: int, **changes: Any) -> PodFacts:
    return terminated(code, index=1, **changes)


ROWS: dict[str, tuple[FailureClass, Sequence[Seen]]] = {
    "deleted by force": (
        CLASSES.EVICTED,
        [Seen(running(1, **DELETED)), Seen(ended(137, **DELETED)), Seen(gone(**DELETED))],
    ),
    "deleted by force, and its end never seen": (CLASSES.EVICTED, [Seen(running(1, **DELETED)), Seen(gone(**DELETED))]),
    "deleted with grace": (
        CLASSES.EVICTED,
        [Seen(running(1, **DELETED)), Seen(ended(143, **DELETED), TAKEN_DOWN), Seen(gone(**DELETED), TAKEN_DOWN)],
    ),
    "gone while nobody looked": (CLASSES.INFRASTRUCTURE, [Seen(gone())]),
    "gone before anybody had seen it": (
        CLASSES.INFRASTRUCTURE,
        [Seen(PodFacts(name="train-1", uid="", index=1, phase="Unknown", gone=True))],
    ),
    "drained": (CLASSES.EVICTED, [Seen(running(1, **DRAINED)), Seen(ended(143, **DRAINED), TAKEN_DOWN)]),
    "preempted": (CLASSES.PREEMPTED, [Seen(running(1, **PREEMPTED)), Seen(ended(137, **PREEMPTED))]),
    "evicted by its kubelet, at once": (
        CLASSES.EVICTED,
        [Seen(running(1, **PUT_OUT)), Seen(ended(137, **PUT_OUT, **UNSETTLED)), Seen(ended(137, **PUT_OUT, **EVICTED))],
    ),
    "evicted by its kubelet, with grace": (
        CLASSES.EVICTED,
        [
            Seen(running(1, **PUT_OUT)),
            Seen(ended(143, **PUT_OUT, **UNSETTLED), TAKEN_DOWN),
            Seen(ended(143, **PUT_OUT, **EVICTED), TAKEN_DOWN),
        ],
    ),
    "evicted by a kubelet that says so last": (
        CLASSES.EVICTED,
        [Seen(ended(143, **UNSETTLED), TAKEN_DOWN), Seen(ended(143, **EVICTED), TAKEN_DOWN)],
    ),
    "killed, and its kubelet says why last": (
        CLASSES.EVICTED,
        [Seen(ended(137, **UNSETTLED)), Seen(ended(137, **EVICTED))],
    ),
    "killed, and nobody says why": (
        CLASSES.SIGNAL,
        [Seen(ended(137, **UNSETTLED)), Seen(ended(137, **UNSETTLED), after=WORDS_WITHIN)],
    ),
    "on a node that falls silent": (
        CLASSES.NODE_LOST,
        [Seen(running(1, **SILENT)), Seen(running(1, **SILENT), after=timedelta(minutes=10))],
    ),
    "on a node that is deleted": (CLASSES.NODE_LOST, [Seen(gone(node_gone=True))]),
    "down with its node": (CLASSES.NODE_LOST, [Seen(ended(143, phase="Failed", reason="NodeShutdown"), TAKEN_DOWN)]),
    "out of memory": (CLASSES.OUT_OF_MEMORY, [Seen(ended(137, word="OOMKilled"))]),
    "without its supervisors": (
        CLASSES.INFRASTRUCTURE,
        [Seen(ended(125), rank(1, state=RankState.LOST, exit_code=None))],
    ),
    "another start of it, which finds no gang": (
        CLASSES.INFRASTRUCTURE,
        [Seen(ended(125), rank(1, exit_code=None, start_error=StartError.GATE))],
    ),
}


def looks(steps: Sequence[Seen], end: RankEvidence) -> Iterator[AttemptObservation]:
    """What is observed at each step once the other rank has ended: that may be at any of them."""
    for step in [Seen(running(1)), *steps]:
        receipts = {0: end} | ({} if step.receipt is None else {1: step.receipt})
        yield observation(pod_launch(2), [terminated(1), step.pod], SETTINGS, NOW + step.after, receipts)


@pytest.mark.parametrize("later", SECONDS, ids=str)
@pytest.mark.parametrize("code", [1, 134])
@pytest.mark.parametrize("taken", ROWS)
def test_a_rank_that_may_have_lost_its_peer_is_not_the_cause(taken: str, code: int, later: timedelta) -> None:
    failure, steps = ROWS[taken]
    lonely = rank(0, exit_code=code, ended_at=NOW + later)
    over = [judge(seen) for seen in looks(steps, lonely) if seen.ended]
    assert over, "it never ends"
    assert {one.failure for one in over} == {failure}
    assert {one.rank for one in over} == {1}
    assert TABLE[failure].retried


def test_a_kubelet_that_says_nothing_is_waited_for_no_longer_than_its_time() -> None:
    launch, pods = pod_launch(), [terminated(143, phase="Running")]
    receipts = {0: TAKEN_DOWN.model_copy(update={"rank": 0})}
    for at, is_over in [(NOW, False), (NOW + WORDS_WITHIN, True), (NOW - timedelta(hours=1), True)]:
        assert observation(launch, pods, SETTINGS, at, receipts).ended is is_over
    assert observation(launch, pods, SETTINGS, NOW, receipts, stopped=True).ended
    asked = {0: TAKEN_DOWN.model_copy(update={"rank": 0, "stopped_by": StoppedBy.REQUEST})}
    assert observation(launch, pods, SETTINGS, NOW, asked).ended
    assert observation(launch, [terminated(143, phase="Running", **DELETED)], SETTINGS, NOW, receipts).ended


def test_a_program_that_ends_by_itself_is_never_waited_for() -> None:
    seen = observation(pod_launch(), [terminated(3, phase="Running")], SETTINGS, NOW, {0: rank(0, exit_code=3)})
    assert (seen.ended, judge(seen).failure) == (True, CLASSES.USER_ERROR)


def judged(*receipts: RankEvidence, mode: Mode = Mode.BATCH) -> Judgement:
    pods = [terminated(one.exit_code or 143, index=one.rank) for one in receipts]
    told = {one.rank: one for one in receipts}
    return judge(observation(pod_launch(len(receipts), mode=mode), pods, SETTINGS, NOW, told), mode)


def test_a_gang_that_was_torn_apart_says_so_and_its_lonely_ranks_are_not_the_cause() -> None:
    for at in (NOW - timedelta(seconds=5), NOW, NOW + timedelta(seconds=5)):
        over = judged(SEVERED, rank(1, exit_code=1, ended_at=at))
        assert (over.failure, over.rank) == (CLASSES.INFRASTRUCTURE, 0)
        assert "torn apart: pod 1 has not been heard of for 3.3 s" in over.reason
    both = judged(SEVERED, SEVERED.model_copy(update={"rank": 1, "detail": "pod 0 has not been heard of for 4.0 s"}))
    assert both.failure is CLASSES.INFRASTRUCTURE


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        ({"oom": OomEvidence.CONFIRMED}, CLASSES.OUT_OF_MEMORY),
        ({"disk_full": True}, CLASSES.DISK_FULL),
        ({"start_error": StartError.NOT_FOUND}, CLASSES.COMMAND_NOT_FOUND),
        ({"stopped_by": StoppedBy.HANG}, CLASSES.HANG),
        ({"stopped_by": StoppedBy.TIMEOUT}, CLASSES.TIMEOUT),
    ],
)
def test_a_failure_that_is_more_than_an_end_stays_the_cause_of_a_gang_that_was_torn_apart(
    changes: dict[str, Any], failure: FailureClass
) -> None:
    over = judged(SEVERED, rank(1, exit_code=1, **changes))
    assert (over.failure, over.rank) == (failure, 1)


def test_a_failure_of_its_own_stays_one_where_nobody_was_lost() -> None:
    taken_along = rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.GANG)
    assert judged(taken_along, rank(1, exit_code=1)).failure is CLASSES.USER_ERROR
    assert judged(rank(0), rank(1, exit_code=1)).failure is CLASSES.USER_ERROR


@pytest.mark.parametrize(
    ("ended_at", "failure"),
    [(NOW - timedelta(seconds=1), CLASSES.USER_ERROR), (NOW, CLASSES.EVICTED), (NOW + timedelta(9), CLASSES.EVICTED)],
)
@pytest.mark.parametrize("facts", [DELETED, DRAINED])
def test_a_rank_that_fails_while_its_own_pod_is_taken_may_have_heard_of_that(
    facts: dict[str, Any], ended_at: datetime, failure: FailureClass
) -> None:
    launch, pods = pod_launch(), [terminated(3, **facts)]
    later = NOW + timedelta(days=10)
    assert judge(observation(launch, pods, SETTINGS, later, {0: rank(0, exit_code=3, ended_at=ended_at)})).failure is (
        failure
    )
    asked = observation(launch, pods, SETTINGS, later, {0: rank(0, exit_code=3, ended_at=ended_at)}, stopped=True)
    assert judge(asked).failure is CLASSES.USER_ERROR
    assert judge(observation(launch, [terminated(0, **facts)], SETTINGS, later, {0: rank(0)})).failure is None


def test_ranks_of_a_service_that_fail_without_each_other_keep_their_own_causes() -> None:
    long_before = rank(0, exit_code=1, ended_at=NOW - timedelta(hours=1))
    pods = [terminated(1), gone(**DELETED)]
    launch = pod_launch(2, mode=Mode.SERVICE)
    assert judge(observation(launch, pods, SETTINGS, NOW, {0: long_before}), Mode.SERVICE).rank == 0
