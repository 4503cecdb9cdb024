"""The life of an array, without an engine: whatever order its jobs end in, and whatever word of it is lost."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from definitions.array_state import ArrayState, Made, MakeCommand, PassCommand, Passed, RecordArray
from definitions.facts import EndsFound, LookCommand, Requested, Verb
from definitions.job_order import Awaited
from definitions.job_relations import Outcome
from definitions.states import FailureClass, Phase
from policies.array_requests import ALLOWED, MOST_TELLING, passes_later, refusal
from policies.arrays import BATCH, advance, begin, next_command, wake_at
from policies.index_ranges import appended, both, has, head, minus, numbers, ranges_of, size, span, without
from tests.support.array_world import ArrayWorld, array_state, end_of, open_count
from tests.support.jobs import NOW, asked

LATER = NOW + timedelta(hours=2)
SOME = st.sets(st.integers(0, 40))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 60), st.integers(1, 9), st.integers(1, 3), st.integers(0, 5))
def test_each_index_runs_once_and_never_more_than_the_limit_whatever_is_lost_or_said_twice(
    seed: int, count: int, limit: int, step: int, first: int
) -> None:
    world = ArrayWorld(array_state(first + (count - 1) * step, first=first, step=step, limit=limit), Random(seed))
    asked_for = [Verb.SUSPEND, Verb.RESUME] if seed % 3 else []
    for number in range(4 * count):
        moves = [world.act, world.end_one, world.hear_one, world.wait]
        world.random.choice(moves)()
        if asked_for and world.random.random() < 0.1:
            world.ask(asked(world.random.choice(asked_for), f"r{number}"))
        assert world.most_open <= limit
        assert open_count(world.state) <= limit
    for number in range(1000):
        if world.state.phase.is_final:
            break
        world.ask(asked(Verb.RESUME, f"last-{number}"))
        world.settle()
        world.end_one()
        world.wait()
    world.settle()
    assert sorted(world.made) == [first + place * step for place in range(count)]
    assert world.state.phase is expected(world)
    told = (world.state.succeeded, world.state.failed, world.state.cancelled)
    assert told == tuple(
        list(world.ended.values()).count(how) for how in (Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)
    )
    assert [index for index, _ in world.state.worst] == failed(world)[:20]


def expected(world: ArrayWorld) -> Phase:
    ends = set(world.ended.values())
    return next((phase for phase in (Phase.FAILED, Phase.CANCELLED) if phase in ends), Phase.SUCCEEDED)


def failed(world: ArrayWorld) -> list[int]:
    return sorted(index for index, how in world.ended.items() if how is Phase.FAILED)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 30))
def test_a_cancelled_array_makes_no_more_jobs_and_ends_when_those_it_has_have_ended(seed: int, moves: int) -> None:
    world = ArrayWorld(array_state(99, limit=7), Random(seed))
    for _ in range(moves):
        world.random.choice([world.act, world.end_one, world.hear_one])()
    before = len(world.made)
    world.ask(asked(Verb.CANCEL))
    for _ in range(500):
        world.settle()
        if world.state.phase.is_final:
            break
        world.wait()
    assert (world.state.phase, len(world.made)) == (Phase.CANCELLED, before)
    assert not world.live
    assert world.state.reason.startswith("cancelled by ada")
    assert f"{100 - before} never began" in world.state.reason or before == 100


def test_a_suspended_array_makes_none_until_it_is_resumed() -> None:
    state = advance(running(), asked(Verb.SUSPEND), NOW)
    assert state.phase is Phase.SUSPENDING
    assert not isinstance(next_command(recorded(state), NOW), MakeCommand)
    state = advance(recorded(state), Passed(request_id="r1", done=span(0, 4)), NOW)
    assert (state.phase, next_command(recorded(state), NOW)) == (Phase.SUSPENDED, None)
    state = advance(recorded(state), end_of(state, 0), NOW)
    assert next_command(state, NOW) is None
    state = advance(state, asked(Verb.RESUME, "r2"), NOW)
    told = next_command(recorded(state), NOW)
    assert isinstance(told, PassCommand)
    assert (told.request.verb, told.positions) == (Verb.RESUME, span(1, 3))
    state = advance(recorded(state), Passed(request_id="r2", done=span(1, 3)), NOW)
    assert next_command(state, NOW) == MakeCommand(start=4, count=1)


def test_the_last_word_about_going_on_is_passed_on_and_others_stand_beside_it() -> None:
    state = running(bounded=True)
    for verb, name in ((Verb.SUSPEND, "s1"), (Verb.EXTEND, "e1"), (Verb.RESUME, "s2")):
        state = advance(state, asked(verb, name, extend_by=timedelta(hours=1)), NOW)
    assert [telling.request.request_id for telling in state.telling] == ["e1", "s2"]
    state = advance(state, asked(Verb.CANCEL, "c1"), NOW)
    assert [telling.request.request_id for telling in state.telling] == ["c1"]


def test_a_job_that_cannot_hear_a_request_yet_is_asked_again_later_and_later() -> None:
    state = recorded(advance(running(), asked(Verb.CANCEL), NOW))
    pauses = []
    for _ in range(9):
        state = advance(state, Passed(request_id="r1", done=()), NOW)
        assert next_command(state, NOW) is None
        due = wake_at(state)
        assert due is not None
        pauses.append((due - NOW).total_seconds())
        assert isinstance(next_command(state, due), PassCommand)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    state = advance(state, Passed(request_id="r1", done=span(0, 1)), NOW)
    assert next_command(state, NOW) == PassCommand(request=asked(Verb.CANCEL), positions=span(1, 3))


def test_jobs_that_are_made_later_get_what_was_granted_before() -> None:
    state = running(bounded=True, queued=True)
    state = advance(state, asked(Verb.EXTEND, "r1", extend_by=timedelta(hours=1)), NOW)
    state = advance(state, asked(Verb.EXTEND, "r1", extend_by=timedelta(hours=1)), NOW)
    state = advance(state, asked(Verb.EXTEND, "r2", extend_by=timedelta(minutes=30)), NOW)
    state = advance(state, asked(Verb.REPRIORITISE, "r3", priority=70), NOW)
    assert (state.granted.extended, state.granted.priority) == (timedelta(minutes=90), 70)
    assert [event.kind for event in state.events] == ["extend", "extend", "priority"]


@pytest.mark.parametrize(
    ("request_", "changes", "says"),
    [
        (asked(Verb.EXTEND, extend_by=timedelta(hours=1)), {}, "no time limit"),
        (asked(Verb.EXTEND), {"bounded": True}, "positive duration"),
        (asked(Verb.REPRIORITISE, priority=5), {}, "no queue"),
        (asked(Verb.REPRIORITISE, priority=101), {"queued": True}, "from 0 to 100"),
        (asked(Verb.RESUME), {}, "it is in: Suspended, Suspending"),
        (asked(Verb.CHECKPOINT), {"open": ()}, "none of its jobs"),
        (asked(Verb.RESIZE), {}, "sweep-0"),
        (asked(Verb.CANCEL), {"phase": Phase.SUCCEEDED}, "clone it"),
    ],
    ids=lambda value: value.verb.value if isinstance(value, Requested) else None,
)
def test_a_request_that_cannot_be_granted_says_what_would_make_it_pass(
    request_: Requested, changes: dict[str, object], says: str
) -> None:
    state = running().model_copy(update=changes)
    refused = refusal(state, request_)
    assert refused is not None
    assert says in refused
    assert advance(state, request_, NOW).phase is state.phase


def test_only_so_many_requests_are_passed_on_at_once() -> None:
    state = running()
    for number in range(MOST_TELLING):
        state = advance(state, asked(Verb.CHECKPOINT, f"r{number}"), NOW)
    assert "ask again" in (refusal(state, asked(Verb.CHECKPOINT, "more")) or "")
    assert refusal(state, asked(Verb.CANCEL, "more")) is None


def test_which_refusals_of_a_job_are_for_good() -> None:
    later = {(verb, phase) for verb in ALLOWED for phase in Phase if passes_later(verb, phase)}
    assert later == {
        (Verb.RESUME, Phase.SUSPENDING),
        (Verb.SUSPEND, Phase.COLLECTING),
        (Verb.SUSPEND, Phase.PENDING),
    }


def test_the_end_names_the_lowest_indexes_that_failed_and_the_class_of_the_first_of_them() -> None:
    state = recorded(advance(begun(29, limit=30), Made(start=0, count=30), NOW))
    for index in reversed(range(30)):
        end = end_of(state, index, Phase.FAILED if index >= 3 else Phase.SUCCEEDED)
        if index == 3:
            end = end.model_copy(update={"failure": FailureClass.HANG})
        state = advance(state, end, NOW)
    assert (state.phase, state.failure) == (Phase.FAILED, FailureClass.HANG)
    shown = ", ".join(str(index) for index in range(3, 23))
    assert state.reason == f"27 of 30 failed: {shown} and 7 more"


def test_an_end_that_names_no_job_of_the_array_changes_nothing() -> None:
    state = running()
    stranger = end_of(state, 2).model_copy(update={"job": "0" * 26})
    unmade = end_of(state, 8)
    nameless = end_of(state, 2).model_copy(update={"name": "sweep"})
    for fact in (stranger, unmade, nameless):
        assert advance(state, fact, NOW).open == state.open


def test_the_store_is_asked_rarely_and_only_for_jobs_whose_end_would_be_news() -> None:
    state = running()
    due = wake_at(state)
    assert due == NOW + state.poll
    look = next_command(state, due)
    assert isinstance(look, LookCommand)
    assert len(look.jobs) == 4
    pauses = []
    for _ in range(6):
        state = advance(state, EndsFound(), due)
        at = wake_at(state)
        assert at is not None
        pauses.append((at - due).total_seconds() / 60)
    assert pauses == [4, 8, 16, 30, 30, 30]
    assert wake_at(advance(state, end_of(state, 0), due)) == due + state.poll


def test_an_array_waits_for_other_jobs_before_it_makes_its_first() -> None:
    other = end_of(array_state(name="prepare"), 0)
    awaited = Awaited(job=other.job, name="prepare", outcome=Outcome.SUCCEEDED)
    state = begin(array_state(after=(awaited,)), NOW)
    assert (state.phase, state.reason) == (Phase.PENDING, "waits for job prepare to succeed")
    assert next_command(recorded(state), NOW) is None
    look = next_command(recorded(state), LATER)
    assert look == LookCommand(jobs=(other.job,))
    assert next_command(recorded(advance(state, other, NOW)), NOW) == MakeCommand(start=0, count=4)
    never = advance(state, other.model_copy(update={"phase": Phase.FAILED}), NOW)
    assert (never.phase, never.failure) == (Phase.FAILED, FailureClass.DEPENDENCY)
    assert next_command(recorded(never), NOW) is None


def test_what_is_decided_is_recorded_before_anything_else_is_done() -> None:
    state = begin(array_state(), NOW)
    assert next_command(state, NOW) == RecordArray()
    assert next_command(recorded(state), NOW) == MakeCommand(start=0, count=4)


def test_an_array_submitted_as_suspended_begins_when_it_is_resumed() -> None:
    state = begin(array_state(), NOW, suspended=True)
    assert next_command(recorded(state), NOW) is None
    state = advance(state, asked(Verb.RESUME), NOW)
    assert (state.phase, state.started_at) == (Phase.RUNNING, NOW)


def test_a_million_indexes_cost_what_the_open_ones_cost() -> None:
    """One job never ends, all others do, the newest first. Then 10,000 are open, none beside another."""
    state = recorded(begun(999_999, limit=100))
    for _ in range(60):
        command = next_command(state, NOW)
        assert isinstance(command, MakeCommand)
        assert command.count <= BATCH
        state = recorded(advance(state, Made(start=command.start, count=command.count), NOW))
        for position in [place for place in numbers(state.open) if place][::-1]:
            state = recorded(advance(state, end_of(state, position, Phase.FAILED), NOW))
    assert len(state.model_dump_json()) < 4_000
    far = state.model_copy(update={"made": 999_000, "open": ranges_of(list(range(700_000, 900_000, 2)))[:10_000]})
    assert len(far.model_dump_json()) < 200_000
    assert advance(far, end_of(far, 700_002), NOW).failed == far.failed


@given(SOME, SOME, st.integers(0, 40), st.integers(0, 12))
def test_ranges_are_sets_of_numbers(left: set[int], right: set[int], number: int, count: int) -> None:
    mine, others = ranges_of(list(left)), ranges_of(list(right))
    assert (set(numbers(mine)), size(mine), has(mine, number)) == (left, len(left), number in left)
    assert without(mine, number) == ranges_of(list(left - {number}))
    assert minus(mine, others) == ranges_of(list(left - right))
    assert both(mine, others) == ranges_of(list(left & right))
    assert head(mine, count) == ranges_of(sorted(left)[:count])
    above = max(left, default=0) + number
    assert appended(mine, above + 1, count) == ranges_of([*left, *range(above + 1, above + 1 + count)])
    assert set(numbers(span(number, count))) == set(range(number, number + count))


def begun(last: int = 9, **changes: Any) -> ArrayState:
    return recorded(begin(array_state(last, **changes), NOW))


def running(**changes: Any) -> ArrayState:
    """Four of ten jobs are open."""
    return recorded(advance(begun(**changes), Made(start=0, count=4), NOW))


def recorded(state: ArrayState) -> ArrayState:
    return state.model_copy(update={"events": ()})
