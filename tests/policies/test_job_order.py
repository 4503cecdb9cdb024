"""Jobs that wait for others: what each end comes to, in every phase in which it can be heard of."""

from datetime import timedelta

import pytest

from definitions.facts import EndsFound, JobEnded, LookCommand, RecordCommand, TimerFired, Verb
from definitions.job_order import Awaited
from definitions.job_relations import Outcome
from definitions.job_state import JobState
from definitions.places import Ticket
from definitions.states import FailureClass, Phase
from policies.job_order import Order, heard_of, standing, waits_for_others
from policies.lifecycle import advance, begin
from tests.support.jobs import NOW, after, asked, new_state

LATER = NOW + timedelta(minutes=1)
PREPARE = Awaited(job="p" * 26, name="prepare")
ANY, FAIL = Outcome.FINISHED, Outcome.FAILED


def ended(job: Awaited = PREPARE, phase: Phase = Phase.SUCCEEDED, failure: FailureClass | None = None) -> JobEnded:
    return JobEnded(job=job.job, name=job.name, phase=phase, failure=failure, at=NOW)


def other(name: str, outcome: Outcome = Outcome.SUCCEEDED, phase: Phase | None = None) -> Awaited:
    return Awaited(job=name[0] * 26, name=name, outcome=outcome, phase=phase)


def job(*awaited: Awaited, queue: str | None = None) -> JobState:
    ticket = Ticket(queue=queue) if queue else None
    return new_state("train").model_copy(update={"after": awaited or (PREPARE,), "ticket": ticket})


def waiting(*awaited: Awaited, queue: str | None = None) -> JobState:
    return begin(job(*awaited, queue=queue), NOW).state


# How the other job ended, how it had to -> where this one is then.
ENDS = [
    (Phase.SUCCEEDED, Outcome.SUCCEEDED, Phase.STARTING),
    (Phase.FAILED, Outcome.SUCCEEDED, Phase.FAILED),
    (Phase.CANCELLED, Outcome.SUCCEEDED, Phase.FAILED),
    (Phase.SUCCEEDED, FAIL, Phase.FAILED),
    (Phase.FAILED, FAIL, Phase.STARTING),
    (Phase.CANCELLED, FAIL, Phase.STARTING),
    (Phase.SUCCEEDED, ANY, Phase.STARTING),
    (Phase.FAILED, ANY, Phase.STARTING),
    (Phase.CANCELLED, ANY, Phase.STARTING),
]


@pytest.mark.parametrize("heard", ["by word", "by looking", "before it was accepted", "while suspended, then resumed"])
@pytest.mark.parametrize(("how", "outcome", "phase"), ENDS)
def test_what_an_end_comes_to_for_whoever_waits_for_it(how: Phase, outcome: Outcome, phase: Phase, heard: str) -> None:
    one = other("prepare", outcome)
    match heard:
        case "by word":
            state = after(waiting(one), ended(one, how))
        case "by looking":
            state = after(waiting(one), EndsFound(ends=(ended(one, how),)))
        case "before it was accepted":
            state = begin(job(one.model_copy(update={"phase": how})), NOW).state
        case _:
            state = after(after(waiting(one), asked(Verb.SUSPEND)), ended(one, how))
            state = state if state.phase is Phase.FAILED else after(state, asked(Verb.RESUME, request_id="again"))
    assert state.phase is phase
    assert state.attempt == (1 if phase is Phase.STARTING else 0)
    assert state.failure is (FailureClass.DEPENDENCY if phase is Phase.FAILED else None)


def test_a_job_that_waits_is_pending_with_the_sentence_and_has_no_attempt() -> None:
    decision = begin(job(queue="research"), NOW)
    state = decision.state
    assert (state.phase, state.reason, state.attempt) == (Phase.PENDING, "waits for job prepare to succeed", 0)
    assert (state.ref, state.queued_at, decision.commands) == (None, None, (RecordCommand(),))
    assert state.events[-1].kind == "waits"
    assert waits_for_others(state)


def test_where_there_are_queues_it_asks_for_places_when_the_others_have_ended() -> None:
    state = after(waiting(queue="research"), ended())
    assert (state.phase, state.reason) == (Phase.QUEUED, "waits in queue research: job prepare succeeded")
    assert not waits_for_others(state)


def test_a_job_that_waits_for_nobody_begins_as_ever() -> None:
    state = begin(new_state("train"), NOW).state
    assert (state.phase, state.reason) == (Phase.STARTING, "attempt 1: first start")


@pytest.mark.parametrize(
    ("awaited", "sentence"),
    [
        ([other("a")], "waits for job a to succeed"),
        ([other("a", ANY), other("b", FAIL)], "waits for jobs a to end and b to fail"),
        ([other("a", phase=Phase.SUCCEEDED), other("b")], "waits for job b to succeed"),
        ([other(name) for name in "abc"], "waits for jobs a to succeed, b to succeed and c to succeed"),
        ([other(name) for name in "abcde"], "waits for jobs a to succeed, b to succeed, c to succeed and 2 more"),
    ],
)
def test_the_sentence_names_who_is_waited_for(awaited: list[Awaited], sentence: str) -> None:
    assert standing(awaited) == (Order.WAITS, sentence)


def test_one_that_failed_settles_it_whoever_else_is_open_and_the_reason_says_how_it_ended() -> None:
    first = after(waiting(other("a"), other("b"), other("c", ANY)), ended(other("c"), Phase.CANCELLED))
    assert (first.phase, first.reason) == (Phase.PENDING, "waits for jobs a to succeed and b to succeed")
    decision = advance(first, ended(other("b"), Phase.FAILED, FailureClass.OUT_OF_MEMORY), LATER)
    over = decision.state
    assert (over.phase, over.failure, over.attempt) == (Phase.FAILED, FailureClass.DEPENDENCY, 0)
    assert over.reason == "job b failed (out-of-memory); this job was to begin when it had succeeded"
    assert (over.ended_at, decision.commands) == (LATER, (RecordCommand(),))


def test_the_first_word_of_an_end_stands_and_words_of_others_change_nothing() -> None:
    state = waiting(other("a"), other("b"))
    heard = after(state, ended(other("a")))
    for fact in (ended(other("a")), ended(other("a"), Phase.FAILED), ended(other("z")), EndsFound()):
        again = advance(heard, fact, LATER)
        assert (again.state, again.commands) == (heard, ())
    assert heard_of(state.after, []) == state.after


@pytest.mark.parametrize("phase", sorted(set(Phase) - {Phase.PENDING, Phase.SUSPENDED}))
def test_word_that_comes_in_any_other_phase_has_no_effect(phase: Phase) -> None:
    state = waiting().model_copy(update={"phase": phase})
    assert advance(state, ended(), LATER).state == state


def test_a_suspended_job_notes_what_it_hears_and_waits_for_the_rest_when_it_is_resumed() -> None:
    paused = after(waiting(other("a"), other("b")), asked(Verb.SUSPEND))
    assert paused.phase is Phase.SUSPENDED
    decision = advance(paused, ended(other("a")), LATER)
    assert (decision.state.phase, decision.commands) == (Phase.SUSPENDED, (RecordCommand(),))
    assert (decision.state.events[-1].kind, decision.state.events[-1].reason) == ("heard", "job a succeeded")
    resumed = after(decision.state, asked(Verb.RESUME, request_id="again"))
    assert (resumed.phase, resumed.reason) == (Phase.PENDING, "waits for job b to succeed")
    assert [(event.actor, event.reason) for event in resumed.events[-2:]] == [
        ("ada", "resumed by ada"),
        ("perdure", "waits for job b to succeed"),
    ]


def test_a_job_that_is_submitted_as_suspended_ends_at_once_when_it_could_never_begin() -> None:
    assert begin(job(), NOW, suspended=True).state.phase is Phase.SUSPENDED
    never = job(other("a", phase=Phase.FAILED))
    assert begin(never, NOW, suspended=True).state.failure is FailureClass.DEPENDENCY


def test_a_job_that_waits_can_be_cancelled_and_hears_no_more() -> None:
    over = after(waiting(), asked(Verb.CANCEL))
    assert (over.phase, over.attempt, over.failure) == (Phase.CANCELLED, 0, None)
    assert after(over, ended()) == over


def test_a_job_that_hears_nothing_asks_the_store_and_waits_on() -> None:
    state = after(waiting(other("a"), other("b")), ended(other("a")))
    decision = advance(state, TimerFired(), LATER)
    assert decision.commands == (LookCommand(jobs=("b" * 26,)),)
    assert decision.state.polls == 1
    assert advance(decision.state, EndsFound(), LATER).state == decision.state
    nobody = begin(new_state("train"), NOW).state.model_copy(update={"phase": Phase.PENDING})
    assert advance(nobody, TimerFired(), LATER).commands == ()
