"""A job that waits for places: what each party may say, in every phase and every order."""

from datetime import timedelta
from typing import Any

import pytest

from definitions.attempt import AttemptObservation, Collected, RankState, StoppedBy
from definitions.facts import (
    AttemptCollected,
    Fact,
    LaunchCommand,
    Launched,
    LaunchFailed,
    RecordCommand,
    StopCommand,
    TimerFired,
    Verb,
)
from definitions.job_state import JobState, RetryRules
from definitions.places import Ticket
from definitions.states import FailureClass, Phase
from policies.job_steps import attempt_launch
from policies.lifecycle import advance, begin
from policies.requests import refusal, stops_attempt
from tests.support.jobs import (
    NOW,
    after,
    asked,
    checkpoint,
    displaced,
    due,
    ended,
    new_state,
    placed,
    places,
    rank,
    ref,
)

TICKET = Ticket(queue="research", priority=10)
KILLED = {"exit_code": None, "signal": 9}
STOPPED = rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST)
HOUR = timedelta(hours=1)


def waiting(**changes: Any) -> JobState:
    return begin(new_state(ticket=TICKET, **changes), NOW).state


def test_a_job_with_a_ticket_waits_in_its_queue_and_launches_nothing() -> None:
    decision = begin(new_state(ticket=TICKET), NOW)
    assert (decision.state.phase, decision.state.attempt, decision.state.queued_at) == (Phase.QUEUED, 0, NOW)
    assert decision.state.reason == "waits in queue research: first start"
    assert decision.commands == (RecordCommand(),)
    assert decision.state.started_at is None


def test_places_begin_the_attempt_that_they_are_for_and_reach_its_launch() -> None:
    state = waiting(nodes=2)
    told = places(state, "n1", "n2")
    decision = advance(state, told, NOW)
    assert decision.commands == (LaunchCommand(ref=ref(1)),)
    assert decision.state.phase is Phase.STARTING
    assert attempt_launch(decision.state).placement == told.placement
    assert decision.state.events[-1].kind == "placed"
    assert "n1, n2" in decision.state.reason


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"attempt": 2}, "an attempt that is not the next"),
        ({"asked_at": NOW - HOUR}, "an asking that was taken back"),
    ],
)
def test_places_for_something_else_start_nothing(changes: Any, why: str) -> None:
    state = waiting()
    assert advance(state, places(state, **changes), NOW).state == state, why


def test_places_given_up_by_a_suspend_do_not_start_the_job_when_it_waits_again() -> None:
    """The word of them was under way all the time, and their attempt has the same number."""
    state = waiting()
    late = places(state)
    state = after(state, asked(Verb.SUSPEND))
    assert state.phase is Phase.SUSPENDED
    assert advance(state, late, NOW).state == state
    state = after(state, asked(Verb.RESUME, "r2"), at=NOW + HOUR)
    assert (state.phase, state.attempt) == (Phase.QUEUED, 0)
    assert advance(state, late, NOW + HOUR).state == state
    assert after(state, places(state), at=NOW + HOUR).phase is Phase.STARTING


def test_a_displaced_job_saves_stops_and_waits_again_without_using_a_retry() -> None:
    state = placed(new_state(ticket=TICKET))
    decision = advance(state, displaced(state, "job big of class production needs its places"), NOW)
    assert decision.state.phase is Phase.SUSPENDING
    (stop,) = decision.commands
    assert isinstance(stop, StopCommand)
    assert (stop.stop.checkpoint_first, stop.stop.reason) == (True, "displaced")
    event = decision.state.events[-1]
    assert (event.kind, "job big of class production" in event.reason) == ("displaced", True)
    over = ended(decision.state, STOPPED, checkpoints=(checkpoint(40),))
    assert (over.phase, over.retries_used, over.placement, over.wake_at) == (Phase.QUEUED, 0, None, None)
    assert over.reason.startswith("waits in queue research: displaced: job big")
    last = over.attempts[-1]
    assert (last.failure, last.counted, last.displaced) == (FailureClass.PREEMPTED, False, True)
    again = advance(over, places(over), NOW)
    assert again.commands == (LaunchCommand(ref=ref(2)),)
    assert attempt_launch(again.state).resume_step == 40


def test_word_to_go_that_comes_before_word_of_the_places_uses_up_that_attempt() -> None:
    """Its places were given and are wanted back; the job never began, and what was for it starts nothing later."""
    state = waiting()
    late = places(state)
    decision = advance(state, displaced(state, attempt=1), NOW + HOUR)
    assert (decision.state.phase, decision.state.attempt) == (Phase.QUEUED, 1)
    assert decision.state.queued_at == NOW  # being displaced costs no turn
    assert decision.commands == (RecordCommand(),)
    assert decision.state.attempts[-1].reason.startswith("displaced before it began: job big")
    assert advance(decision.state, late, NOW + HOUR).state == decision.state
    assert advance(decision.state, displaced(state, attempt=1), NOW + HOUR).state == decision.state
    assert after(decision.state, places(decision.state)).attempt == 2


def test_a_retried_attempt_waits_for_places_when_its_time_has_come() -> None:
    state = placed(new_state(ticket=TICKET))
    lost = rank(0, state=RankState.LOST, exit_code=None, node_lost=True)
    failed = ended(state, lost)
    assert (failed.phase, failed.avoid_nodes, failed.placement) == (Phase.BACKING_OFF, ("node-0",), None)
    decision = advance(failed, TimerFired(), due(failed))
    assert (decision.state.phase, decision.commands) == (Phase.QUEUED, (RecordCommand(),))
    assert decision.state.avoid_nodes == ("node-0",)
    begun = after(decision.state, places(decision.state, "node-7"))
    assert attempt_launch(begun).avoid_nodes == ()  # the scheduler has avoided it


@pytest.mark.parametrize("phase", [Phase.COLLECTING, Phase.BACKING_OFF, Phase.SUSPENDED, Phase.SUCCEEDED])
def test_a_job_that_gives_its_places_back_anyway_is_not_displaced(phase: Any) -> None:
    state = placed(new_state(ticket=TICKET)).model_copy(update={"phase": phase})
    assert advance(state, displaced(state), NOW).state == state


def test_a_repeated_or_late_word_to_go_changes_nothing() -> None:
    state = placed(new_state(ticket=TICKET))
    leaving = after(state, displaced(state))
    assert advance(leaving, displaced(state), NOW).state == leaving
    second = placed_again(ended(leaving, STOPPED))
    assert (second.phase, second.attempt) == (Phase.RUNNING, 2)
    assert advance(second, displaced(state), NOW).state == second


def test_a_job_that_ended_well_while_it_was_displaced_has_succeeded() -> None:
    state = placed(new_state(ticket=TICKET))
    assert ended(after(state, displaced(state)), rank(0)).phase is Phase.SUCCEEDED


# What a person asks, and what the job then comes to, whether that is heard before or after the word to go.
@pytest.mark.parametrize(
    ("verb", "phase", "outcome"),
    [(Verb.CANCEL, Phase.CANCELLING, Phase.CANCELLED), (Verb.SUSPEND, Phase.SUSPENDING, Phase.SUSPENDED)],
)
@pytest.mark.parametrize("first", ["person", "scheduler"])
def test_what_a_person_asks_comes_before_the_schedulers_wish(verb: Any, phase: Any, outcome: Any, first: str) -> None:
    state = placed(new_state(ticket=TICKET))
    both: list[Fact] = [asked(verb), displaced(state)]
    state = after(state, *(both if first == "person" else reversed(both)))
    assert state.phase is phase
    over = ended(state, STOPPED, checkpoints=(checkpoint(40),))
    assert (over.phase, over.displaced, over.placement) == (outcome, "", None)
    assert over.attempts[-1].failure is None


@pytest.mark.parametrize("verb", [Verb.CANCEL, Verb.SUSPEND])
@pytest.mark.parametrize("first", ["person", "scheduler"])
def test_a_request_and_places_may_meet_in_either_order(verb: Any, first: str) -> None:
    state = waiting()
    both: list[Fact] = [asked(verb), places(state)]
    decided = after(state, *(both if first == "person" else reversed(both)))
    if first == "person":
        assert decided.phase is (Phase.CANCELLED if verb is Verb.CANCEL else Phase.SUSPENDED)
        assert decided.attempt == 0
    else:
        assert decided.phase is (Phase.CANCELLING if verb is Verb.CANCEL else Phase.SUSPENDING)


def test_a_displaced_job_cannot_be_resumed_and_says_why() -> None:
    state = placed(new_state(ticket=TICKET))
    said = refusal(after(state, displaced(state)), asked(Verb.RESUME))
    assert said is not None
    assert "goes on by itself" in said


def test_time_can_be_added_while_it_waits_and_the_attempt_has_it() -> None:
    state = after(waiting(timeout=HOUR), asked(Verb.EXTEND, extend_by=HOUR))
    assert (state.phase, state.timeout) == (Phase.QUEUED, 2 * HOUR)
    assert attempt_launch(after(state, places(state))).deadline == NOW + 2 * HOUR


def test_a_job_whose_time_is_used_up_ends_instead_of_waiting() -> None:
    state = placed(new_state(ticket=TICKET, timeout=HOUR))
    late = NOW + HOUR
    gone = rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST, ended_at=late)
    over = ended(after(state, displaced(state), at=late), gone, at=late)
    assert (over.phase, over.failure) == (Phase.FAILED, FailureClass.TIMEOUT)


@pytest.mark.parametrize("start", [waiting, lambda: placed(new_state(ticket=TICKET))])
def test_a_priority_can_be_changed_while_it_waits_and_while_it_runs(start: Any) -> None:
    state = start()
    decision = advance(state, asked(Verb.REPRIORITISE, priority=90), NOW)
    assert decision.state.ticket == Ticket(queue="research", priority=90)
    assert (decision.state.phase, decision.commands) == (state.phase, (RecordCommand(),))
    assert decision.state.events[-1].reason == "priority 90 instead of 10 by ada"


@pytest.mark.parametrize("priority", [None, -1, 101])
def test_a_priority_out_of_range_is_refused(priority: Any) -> None:
    assert "0 to 100" in (refusal(waiting(), asked(Verb.REPRIORITISE, priority=priority)) or "")


def test_a_job_that_waits_in_no_queue_has_no_priority() -> None:
    said = refusal(begin(new_state(), NOW).state, asked(Verb.REPRIORITISE, priority=1))
    assert said is not None
    assert "queue: NAME" in said


def test_displacements_use_up_nothing_unless_the_document_bounds_them() -> None:
    def displaced_often(retry: RetryRules, times: int) -> JobState:
        state = placed(new_state(ticket=TICKET, retry=retry))
        for _ in range(times):
            state = ended(after(state, displaced(state)), STOPPED)
            if state.phase is Phase.QUEUED:
                state = placed_again(state)
        return state

    patient = displaced_often(RetryRules(limit=0), 30)
    assert (patient.phase, patient.attempt) == (Phase.RUNNING, 31)
    lost = ended(patient, rank(0, state=RankState.LOST, exit_code=None, node_lost=True))
    assert lost.phase is Phase.BACKING_OFF  # the free retries of its own are still there
    bounded = displaced_often(RetryRules(classes={FailureClass.PREEMPTED: 1}), 2)
    assert (bounded.phase, bounded.failure) == (Phase.FAILED, FailureClass.PREEMPTED)


def test_an_attempt_that_can_never_start_fails_also_when_it_is_displaced() -> None:
    state = waiting()
    state = after(state, places(state))
    state = after(state, displaced(state), LaunchFailed(attempt=1, at=NOW, permanent=True, message="no such snapshot"))
    gone = AttemptObservation(ref=ref(1), at=NOW, exists=False)
    over = after(state, AttemptCollected(attempt=1, collected=Collected(observation=gone)))
    assert over.phase is Phase.FAILED
    assert "no such snapshot" in over.reason


@pytest.mark.parametrize("code", ["PD-3030", "PD-3031"])
def test_places_that_cannot_be_had_are_no_reason_to_give_up(code: str) -> None:
    """A node that is gone by now, or a machine that has another name: the next attempt gets other places."""
    state = waiting()
    state = after(state, places(state))
    refused = LaunchFailed(attempt=1, at=NOW, permanent=True, message="node n1 is not this machine", code=code)
    gone = AttemptObservation(ref=ref(1), at=NOW, exists=False)
    failed = after(state, refused, AttemptCollected(attempt=1, collected=Collected(observation=gone)))
    assert (failed.phase, failed.attempts[-1].failure) == (Phase.BACKING_OFF, FailureClass.INFRASTRUCTURE)
    assert advance(failed, TimerFired(), due(failed)).state.phase is Phase.QUEUED


def test_a_launch_is_given_up_only_for_what_ends_its_own_attempt() -> None:
    state = placed(new_state(ticket=TICKET))
    assert stops_attempt(state, displaced(state))
    assert stops_attempt(state, asked(Verb.CANCEL))
    assert not stops_attempt(state, displaced(state, attempt=7))
    assert not stops_attempt(state, asked(Verb.EXTEND, extend_by=HOUR))


def placed_again(state: JobState) -> JobState:
    state = after(state, places(state))
    return after(state, Launched(attempt=state.attempt, at=NOW))
