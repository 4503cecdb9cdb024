"""A job of several sizes: who changes its size, what that costs, and that nothing of it counts as a failure."""

import json
from datetime import timedelta
from typing import Any

import pytest

from definitions.attempt import RankState, StoppedBy
from definitions.facts import LaunchCommand, Launched, RecordCommand, StopCommand, TimerFired, Verb
from definitions.job import Job
from definitions.job_state import JobState, RetryRules, Sizes
from definitions.places import Displaced, Ticket
from definitions.states import FailureClass, Mode, Phase
from definitions.submission import JobSubmission
from policies.job_asks import asking_of
from policies.job_plan import JobIds, initial_state
from policies.job_steps import attempt_launch
from policies.lifecycle import advance, begin
from policies.rank_environment import rank_environment
from policies.requests import refusal, stops_attempt
from tests.support.jobs import NOW, after, asked, checkpoint, displaced, due, ended, new_state, placed, places, rank

TICKET = Ticket(queue="research")
SIZES = Sizes(least=1, most=4, asked=4, ceiling=4)
NEVER = RetryRules(classes={FailureClass.PREEMPTED: 0})
HOUR = timedelta(hours=1)


def stopped(ranks: int = 1) -> list[Any]:
    return [rank(number, exit_code=None, signal=15, stopped_by=StoppedBy.REQUEST) for number in range(ranks)]


def elastic(**changes: Any) -> JobState:
    return new_state(**{"nodes": 4, "sizes": SIZES, "ticket": TICKET, **changes})


def at_two(**changes: Any) -> JobState:
    """It asked for four nodes and runs on the two that were free."""
    state = begin(elastic(**changes), NOW).state
    return after(state, places(state, "n1", "n2"), launched(state))


def launched(state: JobState) -> Launched:
    return Launched(attempt=state.attempt + 1, at=NOW)


def grows(state: JobState, **changes: Any) -> Displaced:
    return displaced(state, "grows from 2 to 4 nodes", resizes=True, **changes)


def resize(nodes: int | None, request: str = "r1", **changes: Any) -> Any:
    return asked(Verb.RESIZE, request, nodes=nodes, **changes)


def asks(state: JobState) -> tuple[int, int, int]:
    """Asked for, fewest and most nodes of the next attempt, as the scheduler hears it."""
    document = {"command": ["true"], "nodes": 4, "elastic": {"minNodes": 1, "maxNodes": 4}}
    role = json.loads(asking_of(_job(document).spec, state).shape)["roles"][0]
    return role["count"], role["least"], role["most"]


def _job(spec: dict[str, Any]) -> Job:
    data = {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": "wide"}, "spec": spec}
    return Job.model_validate(data)


def test_an_attempt_has_as_many_nodes_as_it_has_places() -> None:
    state = at_two()
    launch = attempt_launch(state)
    assert (launch.nodes, launch.ranks, state.reason) == (2, 2, "all 2 ranks are running")
    told = rank_environment(launch, 1, "n2", "n1", 29500)
    assert (told["WORLD_SIZE"], told["NNODES"], told["MASTER_ADDR"]) == ("2", "2", "n1")
    assert asks(state) == (4, 1, 4)


def test_a_documents_sizes_are_those_that_a_job_begins_with() -> None:
    ids = JobIds(tenant="t", project="p", job="j", owner="ada", seed="5" * 32)
    wide = _job({"command": ["true"], "nodes": 2, "elastic": {"minNodes": 1, "maxNodes": 8}})
    assert initial_state(wide, ids, JobSubmission()).sizes == Sizes(least=1, most=8, asked=2, ceiling=8)
    assert initial_state(_job({"command": ["true"], "nodes": 2}), ids, JobSubmission()).sizes is None


def test_growth_saves_stops_and_goes_on_at_the_new_size_without_counting_anything() -> None:
    state = at_two(retry=NEVER)
    decision = advance(state, grows(state), NOW)
    (stop,) = decision.commands
    assert isinstance(stop, StopCommand)
    assert (decision.state.phase, stop.stop.checkpoint_first) == (Phase.SUSPENDING, True)
    assert decision.state.events[-1].kind == "resized"
    over = ended(decision.state, *stopped(2), checkpoints=(checkpoint(40),))
    assert (over.phase, over.retries_used, over.queued_at) == (Phase.QUEUED, 0, NOW)
    assert over.reason == "waits in queue research: grows from 2 to 4 nodes; it will go on from step 40"
    last = over.attempts[-1]
    assert (last.failure, last.counted, last.displaced, last.resized) == (FailureClass.PREEMPTED, False, True, True)
    again = advance(over, places(over, "n1", "n2", "n3", "n4"), NOW)
    launch = attempt_launch(again.state)
    assert (launch.nodes, launch.resume_step, again.state.resizes) == (4, 40, False)
    assert again.commands == (LaunchCommand(ref=launch.ref),)


def test_changes_of_size_leave_the_bound_on_displacements_to_displacements() -> None:
    state = at_two(retry=RetryRules(classes={FailureClass.PREEMPTED: 1}))
    for _ in range(3):
        over = ended(after(state, grows(state)), *stopped(2))
        state = after(over, places(over, "n1", "n2"), launched(over))
    first = ended(after(state, displaced(state)), *stopped(2))
    assert first.phase is Phase.QUEUED
    state = after(first, places(first, "n1"), launched(first))
    second = ended(after(state, displaced(state)), *stopped())
    assert (second.phase, second.failure) == (Phase.FAILED, FailureClass.PREEMPTED)


@pytest.mark.parametrize(("nodes", "ceiling"), [(3, 3), (1, 1)])
def test_a_person_may_ask_for_another_size_while_it_runs(nodes: int, ceiling: int) -> None:
    state = at_two()
    decision = advance(state, resize(nodes, reason="more"), NOW)
    assert decision.state.phase is Phase.SUSPENDING
    assert decision.state.events[-1].actor == "ada"
    over = ended(decision.state, *stopped(2), checkpoints=(checkpoint(7),))
    assert (over.phase, asks(over)) == (Phase.QUEUED, (nodes, 1, ceiling))
    assert over.attempts[-1].resized


def test_without_a_queue_it_goes_on_at_once_from_its_step() -> None:
    state = begin(elastic(ticket=None, sizes=SIZES.model_copy(update={"asked": 2}), nodes=2), NOW).state
    state = after(state, Launched(attempt=1, at=NOW))
    assert attempt_launch(state).nodes == 2
    over = ended(after(state, resize(3)), *stopped(2), checkpoints=(checkpoint(9),))
    assert (over.phase, over.wake_at, over.retries_used, over.displaced) == (Phase.BACKING_OFF, NOW, 0, "")
    assert over.reason == "resized to 3 nodes by ada; it will go on from step 9"
    begun = advance(over, TimerFired(), due(over)).state
    assert (begun.phase, attempt_launch(begun).nodes, attempt_launch(begun).resume_step) == (Phase.STARTING, 3, 9)
    assert begun.reason == "attempt 2: at its new size, from step 9"


def test_a_job_that_waits_asks_for_the_size_from_now_on_and_is_no_younger_for_it() -> None:
    """Places of the old size that are under way start nothing."""
    state = begin(elastic(), NOW).state
    late = places(state, "n1", "n2", "n3", "n4")
    decision = advance(state, resize(2), NOW + HOUR)
    waits = decision.state
    assert (waits.phase, decision.commands, asks(waits)) == (Phase.QUEUED, (RecordCommand(),), (2, 1, 2))
    assert waits.queued_at is not None
    assert NOW < waits.queued_at < NOW + timedelta(milliseconds=1)
    assert advance(waits, late, NOW + HOUR).state == waits
    assert attempt_launch(after(waits, places(waits, "n1"))).nodes == 1


@pytest.mark.parametrize("phase", [Phase.SUSPENDED, Phase.BACKING_OFF, Phase.COLLECTING, Phase.PENDING])
def test_a_job_that_does_not_run_only_notes_the_size(phase: Phase) -> None:
    state = at_two().model_copy(update={"phase": phase})
    decision = advance(state, resize(3), NOW)
    assert (decision.state.phase, decision.commands) == (phase, (RecordCommand(),))
    assert decision.state.sizes == Sizes(least=1, most=4, asked=3, ceiling=3)


@pytest.mark.parametrize(
    ("changes", "nodes", "said"),
    [
        ({"sizes": None}, 2, "no spec.elastic"),
        ({}, 5, "from 1 to 4"),
        ({}, 0, "from 1 to 4"),
        ({}, None, "from 1 to 4"),
        ({"sizes": None, "launch": {"mode": Mode.SERVICE}}, 2, "a service keeps its size"),
        ({}, 4, "runs on 4 nodes already"),
    ],
)
def test_what_cannot_be_had_is_refused_with_what_would_help(changes: Any, nodes: int | None, said: str) -> None:
    state = placed(elastic(**changes))
    assert said in (refusal(state, resize(nodes)) or "")
    assert after(state, resize(nodes)).phase is Phase.RUNNING


@pytest.mark.parametrize(
    ("verb", "phase", "outcome"),
    [(Verb.CANCEL, Phase.CANCELLING, Phase.CANCELLED), (Verb.SUSPEND, Phase.SUSPENDING, Phase.SUSPENDED)],
)
@pytest.mark.parametrize("first", ["person", "scheduler"])
def test_who_cancels_or_suspends_comes_before_a_change_of_size(verb: Any, phase: Any, outcome: Any, first: str) -> None:
    state = at_two()
    both = [asked(verb), grows(state)]
    state = after(state, *(both if first == "person" else reversed(both)))
    assert state.phase is phase
    over = ended(state, *stopped(2), checkpoints=(checkpoint(40),))
    assert (over.phase, over.displaced, over.resizes) == (outcome, "", False)


def test_a_job_that_ends_by_itself_while_it_makes_way_for_its_size_has_ended() -> None:
    state = at_two()
    assert ended(after(state, grows(state)), rank(0), rank(1)).phase is Phase.SUCCEEDED
    collecting = state.model_copy(update={"phase": Phase.COLLECTING})
    assert advance(collecting, grows(state), NOW).state == collecting


def test_an_attempt_that_fails_while_nobody_resizes_it_is_no_change_of_size() -> None:
    state = at_two()
    failed = ended(state, rank(0, state=RankState.LOST, exit_code=None, node_lost=True), rank(1))
    assert (failed.phase, failed.attempts[-1].resized) == (Phase.BACKING_OFF, False)
    again = advance(failed, TimerFired(), due(failed)).state
    assert (again.phase, asks(again)[0]) == (Phase.QUEUED, 4)


def test_word_of_another_size_before_word_of_the_places_skips_that_attempt() -> None:
    state = begin(elastic(retry=NEVER), NOW).state
    late = places(state, "n1", "n2")
    skipped = after(state, grows(state, attempt=1))
    assert (skipped.phase, skipped.attempt, skipped.attempts[-1].resized) == (Phase.QUEUED, 1, True)
    assert advance(skipped, late, NOW).state == skipped


def test_a_size_that_is_asked_for_on_the_way_to_another_one_counts() -> None:
    """The scheduler's places for four nodes answer what was asked before; the job asks for three anew."""
    state = after(at_two(), grows(at_two()), resize(3))
    assert state.phase is Phase.SUSPENDING
    over = ended(state, *stopped(2))
    assert (over.phase, asks(over)) == (Phase.QUEUED, (3, 1, 3))


def test_a_launch_makes_way_for_another_size() -> None:
    state = begin(elastic(), NOW).state
    starting = after(state, places(state, "n1", "n2"))
    assert stops_attempt(starting, resize(3))
    assert stops_attempt(starting, grows(starting))
