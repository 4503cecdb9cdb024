"""The life of a job whose pods wait before they run: no time is used up, and nothing that is asked is lost."""

from datetime import timedelta
from typing import Any

import pytest

from definitions.attempt import AttemptObservation, RankState
from definitions.facts import (
    CollectCommand,
    ControlCommand,
    Launched,
    Observed,
    PollCommand,
    RecordCommand,
    StopCommand,
    TimerFired,
    Verb,
)
from definitions.job_state import JobState
from definitions.pod_needs import PodNeeds
from definitions.states import Phase
from policies.job_steps import attempt_launch
from policies.job_waits import WAITS
from policies.lifecycle import advance, begin
from tests.support.jobs import NOW, after, asked, due, ended, new_state, observed, rank

HOUR = timedelta(hours=1)
LATER = NOW + 5 * HOUR
NOTE = "waits: no node can take it: 0/2 nodes are available"


def waiting(note: str = NOTE, pod: PodNeeds | None = None, **changes: Any) -> JobState:
    """A job whose first attempt was launched, and whose pods wait."""
    state = new_state(launch={"pod": pod or PodNeeds()}, **changes)
    launched = Launched(attempt=1, at=NOW, running=False, note=note)
    return after(begin(state, NOW).state, launched)


def seen(state: JobState, **changes: Any) -> Observed:
    assert state.ref is not None
    return Observed(observation=AttemptObservation(ref=state.ref, at=LATER, **changes))


def run(state: JobState) -> JobState:
    """Its pods run, all of them since LATER."""
    return after(state, seen(state, running_since=LATER), at=LATER)


def test_a_launch_that_does_not_run_yet_leaves_the_job_starting_with_the_clusters_words() -> None:
    state = waiting()
    assert (state.phase, state.reason, state.attempt_started_at) == (Phase.STARTING, NOTE, None)
    assert waiting("").reason == WAITS


def test_another_note_is_the_new_reason_and_the_same_one_is_no_news() -> None:
    state = waiting()
    assert advance(state, seen(state, note=NOTE), LATER).state == state
    assert advance(state, seen(state), LATER).state == state
    decision = advance(state, seen(state, note="waits: its pods are being prepared"), LATER)
    assert decision.state.reason == "waits: its pods are being prepared"
    assert decision.commands == (RecordCommand(),)
    assert decision.state.events[-1].kind == "waits"


def test_the_time_limit_counts_from_when_all_ranks_run() -> None:
    state = waiting(timeout=HOUR)
    launch = attempt_launch(state)
    assert (launch.deadline, launch.time_limit) == (None, HOUR)
    decision = advance(state, seen(state, running_since=LATER), LATER + timedelta(seconds=1))
    assert (decision.state.phase, decision.state.attempt_started_at) == (Phase.RUNNING, LATER)
    assert decision.commands == (RecordCommand(),)
    over = ended(decision.state, rank(0, exit_code=None, signal=9, ended_at=LATER + 0.5 * HOUR), at=LATER + 0.5 * HOUR)
    assert over.used == 0.5 * HOUR
    again = after(over, TimerFired(), at=due(over))
    assert attempt_launch(again).time_limit == 0.5 * HOUR


def test_an_observation_with_every_rank_running_says_since_when() -> None:
    state = waiting(nodes=2)
    ranks = tuple(
        rank(n, state=RankState.RUNNING, exit_code=None, ended_at=None, started_at=LATER + n * HOUR) for n in (0, 1)
    )
    whole = observed(state, *ranks, at=LATER + 2 * HOUR, ended=False)
    for news in (whole, whole.brief()):
        got = after(state, Observed(observation=news), at=LATER + 2 * HOUR)
        assert (got.phase, got.reason) == (Phase.RUNNING, "all 2 ranks are running")
        assert got.attempt_started_at == LATER + HOUR


def test_an_attempt_may_end_before_anybody_told_that_it_ran() -> None:
    state = waiting()
    decision = advance(state, seen(state, ended=True), LATER)
    assert (decision.state.phase, decision.commands) == (Phase.COLLECTING, (CollectCommand(ref=state.ref),))
    over = ended(state, rank(0, started_at=LATER, ended_at=LATER + HOUR), at=LATER + HOUR)
    assert (over.phase, over.used, over.attempts[0].started_at) == (Phase.SUCCEEDED, HOUR, LATER)


def test_an_attempt_that_never_ran_used_no_time() -> None:
    lost = rank(0, state=RankState.LOST, exit_code=None, ended_at=LATER)
    over = ended(waiting(timeout=HOUR), lost, at=LATER)
    assert (over.used, over.attempts[0].started_at) == (timedelta(0), None)


@pytest.mark.parametrize("exists", [True, False])
def test_news_of_another_attempt_changes_nothing(exists: bool) -> None:
    state = waiting()
    assert state.ref is not None
    other = AttemptObservation(ref=state.ref.model_copy(update={"token": "0" * 32}), at=NOW, ended=True, exists=exists)
    assert advance(state, Observed(observation=other), NOW).state == state


def test_a_waiting_job_is_polled() -> None:
    decision = advance(waiting(), TimerFired(), LATER)
    assert decision.commands == (PollCommand(ref=decision.state.ref),)
    assert run(decision.state).polls == 0


@pytest.mark.parametrize(("verb", "phase"), [(Verb.CANCEL, Phase.CANCELLING), (Verb.SUSPEND, Phase.SUSPENDING)])
def test_a_waiting_job_is_stopped_like_a_running_one(verb: Verb, phase: Phase) -> None:
    decision = advance(waiting(), asked(verb), LATER)
    assert decision.state.phase is phase
    assert [type(command) for command in decision.commands] == [StopCommand]
    final = {Verb.CANCEL: Phase.CANCELLED, Verb.SUSPEND: Phase.SUSPENDED}[verb]
    never = rank(0, state=RankState.WAITING, exit_code=None, ended_at=None)
    assert ended(decision.state, never, at=LATER).phase is final


def test_more_time_granted_while_it_waits_is_told_when_it_runs() -> None:
    state = waiting(timeout=HOUR)
    granted = advance(state, asked(Verb.EXTEND, extend_by=HOUR), NOW)
    assert granted.commands == (RecordCommand(),)
    decision = advance(granted.state, seen(state, running_since=LATER), LATER)
    control, record = decision.commands
    assert isinstance(control, ControlCommand)
    assert control.deadline == LATER + 2 * HOUR
    assert record == RecordCommand()
    assert not decision.state.limit_moved


def test_more_time_granted_while_it_runs_counts_from_when_it_began_to_run() -> None:
    state = run(waiting(timeout=HOUR))
    (control,) = advance(state, asked(Verb.EXTEND, extend_by=HOUR), LATER).commands
    assert isinstance(control, ControlCommand)
    assert control.deadline == LATER + 2 * HOUR


def test_a_suspend_waits_for_a_save_as_long_as_the_job_asks() -> None:
    state = run(waiting(pod=PodNeeds(save_grace=timedelta(minutes=7))))
    (stop,) = advance(state, asked(Verb.SUSPEND), LATER).commands
    assert isinstance(stop, StopCommand)
    assert (stop.stop.checkpoint_first, stop.stop.checkpoint_within) == (True, timedelta(minutes=7))


def test_a_pinned_job_stays_on_the_nodes_of_its_first_attempt() -> None:
    state = run(waiting(pin=True, nodes=2))
    first = ended(
        state,
        rank(0, node="a", ended_at=LATER + HOUR),
        rank(1, node="b", state=RankState.LOST, node_lost=True, exit_code=None, ended_at=LATER),
        at=LATER + HOUR,
    )
    second = after(first, TimerFired(), at=due(first))
    launch = attempt_launch(second)
    assert launch.pod is not None
    assert launch.pod.nodes == ("a", "b")
    assert (second.avoid_nodes, launch.avoid_nodes) == (("b",), ())
    third = ended(run(second), rank(0, node="c", exit_code=None, signal=9), rank(1, node="d"), at=LATER + 2 * HOUR)
    assert third.pinned == ("a", "b")


def test_an_attempt_that_never_ran_pins_nothing() -> None:
    lost = rank(0, node="a", state=RankState.LOST, exit_code=None, ended_at=LATER)
    assert ended(waiting(pin=True), lost, at=LATER).pinned == ()
