"""The life of a job, without an engine."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.attempt import AttemptObservation, Collected, RankState, SeedCheckpoint, StoppedBy
from definitions.facts import (
    AttemptCollected,
    CollectCommand,
    CollectFailed,
    ControlCommand,
    LaunchCommand,
    Launched,
    LaunchFailed,
    Observed,
    PollCommand,
    RecordCommand,
    StopCommand,
    TimerFired,
    Verb,
)
from definitions.job_state import CheckpointRules, RetryRules, Sizes
from definitions.places import Ticket
from definitions.states import FailureClass, Phase
from policies.job_steps import attempt_launch, attempt_token
from policies.lifecycle import FIRST_POLL, LONGEST_POLL, advance, begin, moment, poll_interval
from policies.requests import ALLOWED, refusal
from tests.support.jobs import (
    NOW,
    SEED,
    after,
    asked,
    checkpoint,
    due,
    ended,
    new_state,
    observed,
    placed,
    rank,
    ref,
    started,
)

KILLED = {"exit_code": None, "signal": 9}


def test_a_job_begins_with_the_launch_of_its_first_attempt() -> None:
    decision = begin(new_state(), NOW)
    assert decision.state.phase is Phase.STARTING
    assert decision.commands == (LaunchCommand(ref=ref(1)),)
    assert decision.state.started_at == NOW


def test_a_job_submitted_as_suspended_starts_nothing_until_it_is_resumed() -> None:
    decision = begin(new_state(), NOW, suspended=True)
    assert decision.state.phase is Phase.SUSPENDED
    assert decision.commands == (RecordCommand(),)
    assert advance(decision.state, asked(Verb.RESUME), NOW).commands == (LaunchCommand(ref=ref(1)),)


def test_success_needs_every_rank_and_a_collected_attempt() -> None:
    state = started(new_state(nodes=2))
    done = observed(state, rank(0), rank(1))
    collecting = advance(state, Observed(observation=done), NOW)
    assert collecting.state.phase is Phase.COLLECTING
    assert collecting.commands == (CollectCommand(ref=ref(1)),)
    over = after(collecting.state, AttemptCollected(attempt=1, collected=Collected(observation=done)))
    assert (over.phase, over.exit_code, over.reason) == (Phase.SUCCEEDED, 0, "all 2 ranks ended with 0")


def test_one_dead_rank_ends_the_gang_and_the_next_attempt_resumes_from_the_verified_checkpoint() -> None:
    points = (checkpoint(10), checkpoint(20, complete=False, problem="half"))
    failed = ended(started(new_state(nodes=2)), rank(0, **KILLED), rank(1), checkpoints=points, reached_step=23)
    assert failed.phase is Phase.BACKING_OFF
    assert failed.wake_at == NOW + timedelta(seconds=10)
    retried = advance(failed, TimerFired(), due(failed))
    assert retried.commands == (LaunchCommand(ref=ref(2)),)
    launch = attempt_launch(retried.state)
    assert (launch.resume_step, launch.resume_from) == (10, points[0].folder)
    assert retried.state.attempts[0].reached_step == 23
    assert retried.state.attempts[0].checkpoint_step == 10


def test_a_job_that_wants_no_resume_begins_anew() -> None:
    rules = CheckpointRules(resume=False)
    failed = ended(started(new_state(checkpoints=rules)), rank(0, **KILLED), checkpoints=(checkpoint(10),))
    assert attempt_launch(after(failed, TimerFired(), at=due(failed))).resume_from is None


def test_the_other_jobs_checkpoint_is_asked_for_only_to_start_from() -> None:
    """Later it may have been pruned here, and the other job deleted: that must not end a job which has its own."""
    seed = SeedCheckpoint(job="other", folder=checkpoint(5, token="o").folder, step=5)
    state = new_state(resume_from=seed.folder, resume_step=5, launch={"seed_checkpoint": seed})
    first = started(state)
    assert attempt_launch(first).seed_checkpoint == seed
    nothing_saved = ended(first, rank(0, **KILLED), checkpoints=(checkpoint(5, token="o"),))
    assert attempt_launch(nothing_saved).seed_checkpoint == seed
    saved = ended(first, rank(0, **KILLED), checkpoints=(checkpoint(10),))
    assert (attempt_launch(saved).seed_checkpoint, attempt_launch(saved).resume_step) == (None, 10)


def test_a_timer_that_fires_early_starts_nothing() -> None:
    failed = ended(started(new_state()), rank(0, **KILLED))
    assert advance(failed, TimerFired(), due(failed) - timedelta(seconds=1)).commands == ()


def test_a_users_error_fails_at_once_with_its_exit_code_and_last_lines() -> None:
    failed = ended(started(new_state()), rank(0, exit_code=3, last_lines=("Traceback", "ValueError: x")))
    assert (failed.phase, failed.failure, failed.exit_code) == (Phase.FAILED, FailureClass.USER_ERROR, 3)
    assert "exit code 3" in failed.reason
    assert failed.attempts[-1].last_lines == ("Traceback", "ValueError: x")


def test_what_an_earlier_attempt_still_reports_changes_nothing() -> None:
    failed = ended(started(new_state()), rank(0, **KILLED))
    second = after(failed, TimerFired(), Launched(attempt=2, at=NOW), at=due(failed))
    late = AttemptObservation(ref=ref(1), at=NOW, ranks=(rank(0, exit_code=1),), ended=True)
    assert second.phase is Phase.RUNNING
    assert advance(second, Observed(observation=late), NOW).state == second
    assert advance(second, Launched(attempt=1, at=NOW), NOW).state == second


def test_an_attempt_that_still_runs_is_left_alone() -> None:
    state = started(new_state())
    alive = observed(state, rank(0, state=RankState.RUNNING, exit_code=None), ended=False)
    assert advance(state, Observed(observation=alive), NOW).state == state


def test_an_attempt_that_the_runtime_has_lost_is_collected_and_retried() -> None:
    state = started(new_state())
    gone = AttemptObservation(ref=state.ref, at=NOW, exists=False)
    state = after(state, Observed(observation=gone))
    assert state.phase is Phase.COLLECTING
    state = after(state, AttemptCollected(attempt=1, collected=Collected(observation=gone)))
    assert state.phase is Phase.BACKING_OFF
    assert state.attempts[-1].failure is FailureClass.INFRASTRUCTURE


@pytest.mark.parametrize(("permanent", "phase"), [(False, Phase.BACKING_OFF), (True, Phase.FAILED)])
def test_a_launch_that_gives_up_is_collected_then_retried_unless_it_can_never_start(permanent: Any, phase: Any) -> None:
    state = begin(new_state(), NOW).state
    failed = LaunchFailed(attempt=1, at=NOW, permanent=permanent, message="no such snapshot")
    decision = advance(state, failed, NOW)
    assert decision.commands == (CollectCommand(ref=ref(1)),)
    seen = AttemptObservation(ref=ref(1), at=NOW, exists=False)
    state = after(decision.state, AttemptCollected(attempt=1, collected=Collected(observation=seen)))
    assert state.phase is phase
    assert "no such snapshot" in state.reason


def test_a_collection_that_gives_up_still_ends_the_attempt() -> None:
    state = started(new_state())
    state = after(state, Observed(observation=observed(state, rank(0))))
    state = after(state, CollectFailed(attempt=1, at=NOW, message="disk gone"))
    assert state.phase is Phase.BACKING_OFF
    assert any("disk gone" in e.reason for e in state.events)


def test_cancel_stops_the_attempt_and_ends_when_every_process_is_gone() -> None:
    state = started(new_state())
    decision = advance(state, asked(Verb.CANCEL, reason="wrong data"), NOW)
    assert decision.state.phase is Phase.CANCELLING
    (stop,) = decision.commands
    assert isinstance(stop, StopCommand)
    assert not stop.stop.checkpoint_first
    stopped = rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST)
    over = ended(decision.state, stopped)
    assert over.phase is Phase.CANCELLED
    assert over.failure is None


def test_a_job_that_finished_before_the_cancel_reached_it_has_succeeded() -> None:
    state = after(started(new_state()), asked(Verb.CANCEL))
    assert ended(state, rank(0)).phase is Phase.SUCCEEDED


def test_suspend_asks_for_a_checkpoint_and_resume_goes_on_from_it_without_using_a_retry() -> None:
    state = started(new_state())
    decision = advance(state, asked(Verb.SUSPEND), NOW)
    (stop,) = decision.commands
    assert isinstance(stop, StopCommand)
    assert stop.stop.checkpoint_first
    stopped = rank(0, exit_code=0, stopped_by=StoppedBy.REQUEST)
    state = ended(decision.state, stopped, checkpoints=(checkpoint(40),))
    assert (state.phase, state.resume_step) == (Phase.SUSPENDED, 40)
    resumed = advance(state, asked(Verb.RESUME, "r2"), NOW)
    assert resumed.commands == (LaunchCommand(ref=ref(2)),)
    assert resumed.state.retries_used == 0
    assert resumed.state.stop_requested is None


def test_a_cancel_while_it_is_being_suspended_cancels() -> None:
    state = after(started(new_state()), asked(Verb.SUSPEND), asked(Verb.CANCEL, "r2"))
    assert ended(state, rank(0, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST)).phase is Phase.CANCELLED


def test_a_waiting_job_is_cancelled_or_suspended_at_once() -> None:
    waiting = ended(started(new_state()), rank(0, **KILLED))
    cancelled = advance(waiting, asked(Verb.CANCEL), NOW)
    assert cancelled.state.phase is Phase.CANCELLED
    assert cancelled.state.events[-1].actor == "ada"
    assert advance(waiting, asked(Verb.SUSPEND), NOW).state.wake_at is None


def test_the_time_limit_covers_running_time_and_can_be_extended() -> None:
    hour = timedelta(hours=1)
    state = started(new_state(timeout=hour))
    assert attempt_launch(state).deadline == NOW + hour
    decision = advance(state, asked(Verb.EXTEND, extend_by=hour), NOW)
    (control,) = decision.commands
    assert isinstance(control, ControlCommand)
    assert control.deadline == NOW + 2 * hour
    late = NOW + timedelta(minutes=90)
    waiting = ended(decision.state, rank(0, **KILLED, ended_at=late), at=late)
    again = after(waiting, TimerFired(), at=late + hour)
    assert attempt_launch(again).deadline == late + hour + timedelta(minutes=30)


def test_no_attempt_begins_when_the_time_is_used_up() -> None:
    state = started(new_state(timeout=timedelta(hours=1)))
    late = NOW + timedelta(hours=1)
    waiting = ended(state, rank(0, **KILLED, ended_at=late), at=late)
    over = after(waiting, TimerFired(), at=late + timedelta(hours=1))
    assert (over.phase, over.failure) == (Phase.FAILED, FailureClass.TIMEOUT)


def test_a_repeated_request_changes_nothing() -> None:
    once = after(started(new_state()), asked(Verb.CHECKPOINT))
    assert advance(once, asked(Verb.CHECKPOINT), NOW).state == once


@pytest.mark.parametrize("verb", list(Verb))
@pytest.mark.parametrize("phase", list(Phase))
def test_every_request_is_granted_in_its_phases_and_refused_with_a_sentence_elsewhere(verb: Any, phase: Any) -> None:
    sizes = Sizes(least=1, most=4, asked=1, ceiling=4)
    limited = new_state(timeout=timedelta(hours=1), sizes=sizes).model_copy(update={"ticket": Ticket(queue="research")})
    state = placed(limited).model_copy(update={"phase": phase})
    request = asked(verb, extend_by=timedelta(hours=1), priority=7, nodes=2)
    sentence = refusal(state, request)
    assert (sentence is None) == (phase in ALLOWED[verb])
    if sentence is not None:
        assert advance(state, request, NOW).commands == ()
        assert len(sentence) > 20


@pytest.mark.parametrize("by", [None, timedelta(0), timedelta(seconds=-1)])
def test_extend_wants_a_limit_and_a_positive_duration(by: Any) -> None:
    assert refusal(started(new_state(timeout=timedelta(hours=1))), asked(Verb.EXTEND, extend_by=by))
    assert refusal(started(new_state()), asked(Verb.EXTEND, extend_by=timedelta(hours=1)))


def test_the_safety_poll_asks_the_runtime_and_grows_rarer() -> None:
    state = started(new_state())
    waits = []
    for _ in range(8):
        waits.append(poll_interval(state))
        decision = advance(state, TimerFired(), NOW)
        assert decision.commands == (PollCommand(ref=ref(1)),)
        state = decision.state
    assert waits[0] == FIRST_POLL
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_POLL


def test_a_stop_that_may_have_been_lost_is_sent_again() -> None:
    state = after(started(new_state()), asked(Verb.CANCEL))
    stop, poll = advance(state, TimerFired(), NOW).commands
    assert isinstance(stop, StopCommand)
    assert isinstance(poll, PollCommand)


def test_the_same_failure_at_the_same_step_three_times_is_named() -> None:
    state = new_state(retry=RetryRules(limit=10))
    state = started(state)
    for _ in range(2):
        state = ended(state, rank(0, **KILLED), reached_step=7)
        state = after(state, TimerFired(), at=due(state))
        state = after(state, Launched(attempt=state.attempt, at=NOW))
    state = ended(state, rank(0, **KILLED), reached_step=7)
    assert (state.phase, state.failure) == (Phase.FAILED, FailureClass.REPEATED)
    assert "at step 7 3 times" in state.reason


def test_tokens_of_attempts_differ_and_are_found_again() -> None:
    tokens = {attempt_token(SEED, n) for n in range(1, 100)}
    assert len(tokens) == 99
    assert attempt_token(SEED, 1) == attempt_token(SEED, 1)


ranks_st = st.builds(
    rank,
    st.integers(0, 1),
    exit_code=st.sampled_from([0, 1, None]),
    signal=st.sampled_from([None, 9, 15]),
    state=st.sampled_from([RankState.EXITED, RankState.LOST, RankState.RUNNING]),
    stopped_by=st.sampled_from([None, *StoppedBy]),
)


@st.composite
def facts(draw: Any) -> Any:
    number = draw(st.integers(1, 4))
    seen = AttemptObservation(
        ref=ref(number),
        at=NOW,
        exists=draw(st.booleans()),
        ended=draw(st.booleans()),
        ranks=tuple(draw(st.lists(ranks_st, max_size=2))),
    )
    points = tuple(checkpoint(s, complete=draw(st.booleans())) for s in draw(st.lists(st.integers(0, 99), max_size=3)))
    kept = Collected(observation=seen, checkpoints=points, reached_step=draw(st.none() | st.integers(0, 99)))
    request = asked(draw(st.sampled_from(Verb)), draw(st.sampled_from("abcdef")), extend_by=timedelta(minutes=1))
    return draw(
        st.sampled_from(
            [
                Launched(attempt=number, at=NOW),
                LaunchFailed(attempt=number, at=NOW, message="m"),
                Observed(observation=seen),
                AttemptCollected(attempt=number, collected=kept),
                CollectFailed(attempt=number, at=NOW, message="m"),
                TimerFired(),
                request,
            ]
        )
    )


@given(st.lists(facts(), max_size=40), st.booleans())
def test_no_order_of_facts_leaves_a_final_phase_or_doubles_an_attempt(sequence: Any, suspended: Any) -> None:
    decision = begin(new_state(nodes=2, timeout=timedelta(hours=9)), NOW, suspended=suspended)
    state = decision.state
    launched = [c.ref.number for c in decision.commands if isinstance(c, LaunchCommand)]
    for minute, fact in enumerate(sequence):
        decision = advance(state, fact, moment(fact, NOW + timedelta(minutes=minute)))
        after_state = decision.state
        if state.phase.is_final:
            assert decision.commands == ()
            assert after_state.phase is state.phase
        launched += [c.ref.number for c in decision.commands if isinstance(c, LaunchCommand)]
        assert after_state.retries_used <= after_state.retry.limit
        assert [e.key[:6] for e in after_state.events] == [f"{n + 1:06d}" for n in range(after_state.event_count)]
        if after_state.resume_step is not None and state.resume_step is None:
            assert any(c.complete and c.step == after_state.resume_step for c in fact.collected.checkpoints)
        state = after_state
    assert launched == sorted(set(launched))


def test_losing_a_node_uses_up_no_retry() -> None:
    lost = {"state": RankState.LOST, "exit_code": None, "node_lost": True}
    waiting = ended(started(new_state()), rank(0, **lost))
    assert waiting.phase is Phase.BACKING_OFF
    assert waiting.retries_used == 0
    assert waiting.avoid_nodes == ("node-0",)
    assert not waiting.attempts[-1].counted
