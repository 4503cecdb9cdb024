"""When a failed attempt is followed by another."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.facts import AttemptSummary, Launched, TimerFired
from definitions.job_state import RetryRules
from definitions.states import FailureClass
from policies.retry import SAME_FAILURE_LIMIT, TABLE, UNCOUNTED_LIMIT, decide, delay_before
from tests.support.jobs import NOW, after, due, ended, new_state, rank, started

SIGNAL = {"failure": FailureClass.SIGNAL, "signal": 9, "nodes": ("n1",)}


def attempts(*failures: Any, **common: Any) -> Any:
    return tuple(
        AttemptSummary(number=i + 1, token=str(i), **{**common, **(f if isinstance(f, dict) else {"failure": f})})
        for i, f in enumerate(failures)
    )


def verdict(past: Any, now: Any = NOW, **changes: Any) -> Any:
    state = new_state(attempts=past, started_at=NOW, **changes)
    return decide(state, past[-1], now)


def test_every_class_has_a_row() -> None:
    assert set(TABLE) == set(FailureClass)


@pytest.mark.parametrize("failure", [f for f in FailureClass if not TABLE[f].retried])
def test_what_would_only_repeat_itself_is_not_retried_and_says_how_to_allow_it(failure: Any) -> None:
    answer = verdict(attempts(failure))
    assert not answer.retry
    assert f"retry.rules.{failure}" in answer.why


def test_a_users_own_error_is_retried_when_the_job_says_so() -> None:
    rules = RetryRules(classes={FailureClass.USER_ERROR: 1})
    assert verdict(attempts(FailureClass.USER_ERROR), retry=rules).retry
    answer = verdict(attempts(FailureClass.USER_ERROR, FailureClass.USER_ERROR), retry=rules, retries_used=1)
    assert not answer.retry
    assert answer.why == "the one retry for user-error is used up"


def test_a_job_may_forbid_what_the_table_allows() -> None:
    assert not verdict(attempts(FailureClass.SIGNAL), retry=RetryRules(classes={FailureClass.SIGNAL: 0})).retry


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (0, "not retried: its limit of retries is 0"),
        (1, "the one retry is used up"),
        (2, "all 2 retries are used up"),
    ],
)
def test_a_limit_that_is_reached_is_told_as_what_it_was(limit: int, words: str) -> None:
    past = attempts(*[FailureClass.SIGNAL] * (limit + 1))
    assert verdict(past, retry=RetryRules(limit=limit), retries_used=limit).why == words


def test_the_limit_counts_only_what_is_the_jobs_own() -> None:
    assert not verdict(attempts(FailureClass.SIGNAL), retries_used=3).retry
    lost = verdict(attempts(FailureClass.NODE_LOST, nodes=("n1",)), retries_used=3)
    assert lost.retry
    assert not lost.counted
    assert lost.avoid == ("n1",)


def test_losing_nodes_is_free_but_not_for_ever() -> None:
    assert not verdict(attempts(*[FailureClass.NODE_LOST] * UNCOUNTED_LIMIT)).retry


def test_out_of_memory_is_tried_once_more() -> None:
    oom = FailureClass.OUT_OF_MEMORY
    assert verdict(attempts(oom)).retry
    assert not verdict(attempts(oom, oom), retries_used=1).retry


def test_the_same_failure_at_the_same_step_three_times_stops() -> None:
    past = attempts(SIGNAL, SIGNAL, SIGNAL, reached_step=120)
    answer = verdict(past, retry=RetryRules(limit=100))
    assert answer.repeated
    assert "at step 120 3 times" in answer.why


def test_progress_between_failures_is_no_repetition() -> None:
    past = attempts(*[{**SIGNAL, "reached_step": step} for step in (100, 110, 120)])
    assert verdict(past, retry=RetryRules(limit=100)).retry


@pytest.mark.parametrize("failure", [FailureClass.SIGNAL, FailureClass.EVICTED])
def test_signals_and_evictions_without_a_step_prove_nothing_about_the_job(failure: FailureClass) -> None:
    assert verdict(attempts(failure, failure, failure), retry=RetryRules(limit=100)).retry
    assert verdict(attempts(failure, failure, failure, reached_step=5), retry=RetryRules(limit=100)).repeated


def test_an_image_is_tried_once_more_later_and_elsewhere() -> None:
    answer = verdict(attempts({"failure": FailureClass.IMAGE, "nodes": ("n1",)}))
    assert (answer.retry, answer.delay, answer.avoid) == (True, timedelta(minutes=1), ("n1",))
    assert not verdict(attempts(FailureClass.IMAGE, FailureClass.IMAGE), retries_used=1).retry


@pytest.mark.parametrize("failure", [FailureClass.NODE_LOST, FailureClass.PREEMPTED, FailureClass.INFRASTRUCTURE])
def test_what_the_job_cannot_help_is_never_a_repetition(failure: Any) -> None:
    assert not verdict(attempts(*[failure] * SAME_FAILURE_LIMIT, reached_step=5), retry=RetryRules(limit=9)).repeated


def test_a_refused_launch_is_not_retried() -> None:
    answer = verdict(attempts(FailureClass.INFRASTRUCTURE), launch_refused=True)
    assert not answer.retry
    assert "never start" in answer.why


def test_the_budget_bounds_when_the_next_attempt_may_begin() -> None:
    rules = RetryRules(budget=timedelta(minutes=1), first_delay=timedelta(seconds=30))
    assert verdict(attempts(FailureClass.SIGNAL), retry=rules, now=NOW + timedelta(seconds=30)).retry
    late = verdict(attempts(FailureClass.SIGNAL), retry=rules, now=NOW + timedelta(seconds=31))
    assert "budget" in late.why


def test_a_full_disk_waits_longer_and_elsewhere() -> None:
    full = verdict(attempts(FailureClass.DISK_FULL, nodes=("n1",)))
    assert full.delay == 6 * RetryRules().first_delay
    assert full.avoid == ("n1",)


@given(
    retries=st.integers(0, 10_000),
    first=st.integers(0, 10_000),
    factor=st.floats(1, 100),
    longest=st.integers(0, 100_000),
    times=st.floats(0.1, 10),
)
def test_back_off_grows_is_capped_and_never_overflows(
    retries: int, first: int, factor: float, longest: int, times: float
) -> None:
    rules = RetryRules(first_delay=timedelta(seconds=first), longest_delay=timedelta(seconds=longest), factor=factor)
    delay = delay_before(rules, retries, times)
    assert timedelta(0) <= delay <= rules.longest_delay
    assert delay <= delay_before(rules, retries + 1, times)


@given(st.lists(st.sampled_from([f for f in FailureClass if f is not FailureClass.REPEATED]), min_size=1, max_size=60))
def test_no_sequence_of_failures_is_retried_for_ever(failures: Any) -> None:
    past: tuple[AttemptSummary, ...] = ()
    used = retried = 0
    for number, failure in enumerate(failures):
        past = (*past, AttemptSummary(number=number + 1, token="t", failure=failure, reached_step=number))
        answer = verdict(past, retries_used=used)
        if not answer.retry:
            break
        used += answer.counted
        retried += 1
    assert used <= RetryRules().limit
    assert retried <= RetryRules().limit + UNCOUNTED_LIMIT


def test_the_state_of_a_job_with_very_many_attempts_stays_small() -> None:
    state = new_state(retry=RetryRules(limit=1000, classes={FailureClass.USER_ERROR: 1000}))
    lines = tuple("\x1b[1m" * 100 for _ in range(20))
    state = started(state)
    for number in range(150):
        failed = ended(state, rank(0, exit_code=1, last_lines=lines), reached_step=number)
        assert failed.attempts[-1].last_lines == lines
        state = after(failed, TimerFired(), Launched(attempt=failed.attempt + 1, at=NOW), at=due(failed))
        state = state.model_copy(update={"events": ()})
    assert state.attempt == 151
    assert len(state.model_dump_json()) < 256 * 1024
