"""A job that a window of a reservation sends away: in less time than its own, or for good."""

from datetime import timedelta

import pytest

from definitions.facts import StopCommand, Verb
from definitions.job_state import JobState
from definitions.states import Phase
from policies.lifecycle import advance
from tests.policies.test_job_queueing import STOPPED, TICKET, waiting
from tests.support.jobs import NOW, after, asked, checkpoint, displaced, ended, new_state, placed, places

OVER = "the reservation night is over"
SECOND = timedelta(seconds=1)


def running() -> JobState:
    return placed(new_state(ticket=TICKET))


def test_a_job_that_is_not_to_wait_again_is_cancelled_and_says_why() -> None:
    state = running()
    word = displaced(state, OVER).model_copy(update={"for_good": True})
    decision = advance(state, word, NOW)
    assert (decision.state.phase, decision.state.reason) == (Phase.CANCELLING, f"cancelled: {OVER}")
    (stop,) = decision.commands
    assert isinstance(stop, StopCommand)
    assert (stop.stop.reason, stop.stop.checkpoint_first) == ("cancelled", False)
    assert advance(decision.state, word, NOW).state == decision.state
    over = ended(decision.state, STOPPED, checkpoints=(checkpoint(40),))
    assert (over.phase, over.reason) == (Phase.CANCELLED, f"cancelled: {OVER}; every process has ended")


def test_one_that_has_not_heard_of_its_places_is_cancelled_at_once_and_they_start_nothing_later() -> None:
    state = waiting()
    late = places(state)
    decision = advance(state, displaced(state, OVER, attempt=1).model_copy(update={"for_good": True}), NOW)
    assert (decision.state.phase, decision.state.reason) == (Phase.CANCELLED, f"cancelled: {OVER}")
    assert advance(decision.state, late, NOW).state == decision.state


def test_a_person_who_cancels_a_job_that_leaves_is_named_as_the_reason() -> None:
    state = after(running(), displaced(running(), OVER), asked(Verb.CANCEL))
    assert ended(state, STOPPED).reason == "cancelled; every process has ended"


@pytest.mark.parametrize(
    ("within", "save", "grace"),
    [(None, 120, 5), (600, 120, 5), (90, 85, 5), (8, 4, 4), (0, 0, 0)],
)
def test_a_job_saves_and_stops_within_the_time_that_it_is_given(within: int | None, save: int, grace: int) -> None:
    state = running()
    limit = None if within is None else within * SECOND
    decision = advance(state, displaced(state, OVER).model_copy(update={"within": limit}), NOW)
    (command,) = decision.commands
    assert isinstance(command, StopCommand)
    assert (command.stop.checkpoint_within, command.stop.grace) == (save * SECOND, grace * SECOND)
    again = after(ended(decision.state, STOPPED), places(ended(decision.state, STOPPED)))
    assert (again.attempt, again.leave_within) == (2, None)
