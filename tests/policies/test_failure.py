"""What an attempt's evidence is taken to mean."""

from typing import Any

import pytest

from definitions.attempt import AttemptObservation, OomEvidence, RankState, StartError, StoppedBy
from definitions.pod import PodCause
from definitions.states import FailureClass, Mode
from policies.failure import judge
from tests.support.jobs import NOW, new_state, observed, rank, started

RUNNING = started(new_state(nodes=2))
LATER = NOW.replace(hour=13)


@pytest.mark.parametrize(
    ("evidence", "failure", "words"),
    [
        ({"exit_code": 3}, FailureClass.USER_ERROR, "exit code 3"),
        ({"exit_code": None, "signal": 9}, FailureClass.SIGNAL, "SIGKILL"),
        ({"exit_code": 137}, FailureClass.SIGNAL, "as shells report SIGKILL"),
        ({"exit_code": 255}, FailureClass.USER_ERROR, "exit code 255"),
        ({"exit_code": None, "signal": 9, "oom": OomEvidence.CONFIRMED}, FailureClass.OUT_OF_MEMORY, "control group"),
        ({"exit_code": 1, "oom": OomEvidence.CONFIRMED}, FailureClass.OUT_OF_MEMORY, "out of memory"),
        ({"exit_code": 137, "oom": OomEvidence.SUSPECTED}, FailureClass.OUT_OF_MEMORY, "suspected"),
        ({"exit_code": 1, "oom": OomEvidence.SUSPECTED}, FailureClass.USER_ERROR, "exit code 1"),
        ({"exit_code": 1, "disk_full": True}, FailureClass.DISK_FULL, "full"),
        ({"exit_code": 0, "disk_full": True}, None, "ended with 0"),
        ({"exit_code": 127, "start_error": StartError.NOT_FOUND}, FailureClass.COMMAND_NOT_FOUND, "not found"),
        (
            {"exit_code": 126, "start_error": StartError.NOT_EXECUTABLE},
            FailureClass.COMMAND_NOT_FOUND,
            "not executable",
        ),
        ({"exit_code": 127}, FailureClass.USER_ERROR, "exit code 127"),
        ({"exit_code": None, "start_error": StartError.GATE}, FailureClass.INFRASTRUCTURE, "never started"),
        ({"exit_code": None, "start_error": StartError.SECRET}, FailureClass.USER_ERROR, "secret"),
        ({"signal": 15, "exit_code": None, "stopped_by": StoppedBy.TIMEOUT}, FailureClass.TIMEOUT, "time limit"),
        ({"exit_code": 0, "stopped_by": StoppedBy.TIMEOUT}, FailureClass.TIMEOUT, "time limit"),
        ({"signal": 15, "exit_code": None, "stopped_by": StoppedBy.HANG}, FailureClass.HANG, "no progress"),
        ({"signal": 15, "exit_code": None, "stopped_by": StoppedBy.SHUTDOWN}, FailureClass.NODE_LOST, "taken down"),
        ({"exit_code": None, "state": RankState.LOST}, FailureClass.INFRASTRUCTURE, "cannot be known"),
        ({"exit_code": None, "state": RankState.LOST, "node_lost": True}, FailureClass.NODE_LOST, "went down"),
        (
            {"exit_code": None, "state": RankState.LOST, "cause": PodCause.EVICTED, "detail": "evicted from node-0"},
            FailureClass.EVICTED,
            "evicted from node-0",
        ),
        ({"exit_code": None, "state": RankState.LOST, "cause": PodCause.CONFIG}, FailureClass.CONFIG, "its cluster"),
        (
            {"exit_code": None, "state": RankState.LOST, "cause": PodCause.INIT, "start_error": StartError.SECRET},
            FailureClass.USER_ERROR,
            "a secret could not be given",
        ),
        (
            {"stopped_by": StoppedBy.SHUTDOWN, "signal": 15, "exit_code": None, "cause": PodCause.PREEMPTED},
            FailureClass.PREEMPTED,
            "its cluster",
        ),
    ],
)
def test_evidence_decides_the_class_and_the_sentence(evidence: Any, failure: Any, words: Any) -> None:
    judgement = judge(observed(RUNNING, rank(0, **evidence), rank(1)))
    assert judgement.failure is failure
    assert words in judgement.reason


def test_the_first_rank_that_failed_by_itself_is_the_cause() -> None:
    ranks = [
        rank(0, exit_code=1, ended_at=LATER),
        rank(1, exit_code=7, ended_at=NOW, last_lines=("boom",)),
        rank(2, exit_code=None, signal=15, stopped_by=StoppedBy.GANG, ended_at=NOW.replace(hour=11)),
    ]
    judgement = judge(observed(RUNNING, *ranks))
    assert (judgement.rank, judgement.exit_code, judgement.last_lines) == (1, 7, ("boom",))
    assert "rank 1 of 3 on node-1" in judgement.reason


def test_a_simulated_node_is_called_one() -> None:
    made_up = rank(1, exit_code=7, node="sim-1", simulated=True)
    judgement = judge(observed(RUNNING, rank(0), made_up))
    assert "rank 1 of 2 on sim-1 (simulated): " in judgement.reason
    assert judgement.nodes == ("sim-1",)
    lost = rank(0, exit_code=None, state=RankState.LOST, node="sim-1", simulated=True, node_lost=True)
    assert "its machine sim-1 (simulated) went down" in judge(observed(RUNNING, lost)).reason


def test_a_gang_whose_cause_is_unknown_still_fails() -> None:
    stopped = rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.GANG)
    assert judge(observed(RUNNING, stopped, rank(1))).failure is FailureClass.SIGNAL


def test_success_needs_every_rank() -> None:
    assert judge(observed(RUNNING, rank(0), rank(1))).failure is None
    assert judge(observed(RUNNING, rank(0), rank(1, exit_code=1))).failure is FailureClass.USER_ERROR


def test_an_attempt_that_the_runtime_does_not_know_is_infrastructure_not_success() -> None:
    unknown = AttemptObservation(ref=RUNNING.ref, at=NOW, exists=False)
    assert judge(unknown).failure is FailureClass.INFRASTRUCTURE


def test_a_service_has_no_success() -> None:
    assert judge(observed(RUNNING, rank(0), rank(1)), Mode.SERVICE).failure is FailureClass.USER_ERROR


def test_a_rank_that_was_asked_to_stop_does_not_count_as_success_although_it_ended_with_0() -> None:
    assert judge(observed(RUNNING, rank(0, stopped_by=StoppedBy.REQUEST), rank(1))).reason == "stopped on request"


def test_what_began_first_is_the_cause_though_it_ended_last() -> None:
    drained = rank(0, signal=15, exit_code=None, stopped_by=StoppedBy.SHUTDOWN, ended_at=LATER)
    drained = drained.model_copy(update={"cause": PodCause.EVICTED, "cause_at": NOW.replace(hour=11)})
    assert judge(observed(RUNNING, drained, rank(1, exit_code=1))).rank == 0


def test_a_rank_that_never_ran_is_no_success_and_no_place_to_avoid() -> None:
    waits = rank(1, state=RankState.WAITING, exit_code=None, node="")
    assert judge(observed(RUNNING, rank(0), waits)).failure is FailureClass.INFRASTRUCTURE
    lost = rank(1, state=RankState.LOST, exit_code=None, node="", cause=PodCause.IMAGE, detail="no such image")
    over = judge(observed(RUNNING, rank(0), lost))
    assert (over.nodes, over.reason) == ((), "rank 1 of 2: no such image")
