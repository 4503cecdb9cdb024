"""Where an attempt starts, and which checkpoints may go, over all mixtures of complete and broken ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.attempt import CheckpointRecord
from definitions.job_state import CheckpointRules
from policies.checkpoints import MOST_NAMED, age_order, deciding, explain_resume, resume_point
from policies.retention import to_prune

TOKENS = ["a" * 32, "b" * 32, "c" * 32]


def record(
    step: int, attempt: int = 1, *, complete: bool = True, problem: str = "", metrics: dict[str, float] | None = None
) -> CheckpointRecord:
    token = TOKENS[attempt - 1]
    return CheckpointRecord(
        step=step,
        token=token,
        attempt=attempt,
        folder=f"checkpoints/step-{step:010d}.{token}",
        complete=complete,
        problem=problem,
        metrics=metrics or {},
    )


records = st.lists(
    st.builds(
        record,
        step=st.integers(0, 30),
        attempt=st.integers(1, 3),
        complete=st.booleans(),
        metrics=st.dictionaries(st.just("loss"), st.floats(allow_nan=True, allow_infinity=True)),
    ),
    max_size=12,
    unique_by=lambda r: r.folder,
)
rules = st.builds(
    CheckpointRules,
    keep_last=st.integers(0, 4),
    keep_every=st.none() | st.integers(1, 10),
    keep_best=st.integers(0, 3),
    best_metric=st.none() | st.just("loss"),
    best_is_max=st.booleans(),
)


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        ([], "starts from the beginning: there is no complete checkpoint"),
        ([record(10), record(9)], "resumes from step 10"),
        ([record(10), record(20, complete=False, problem="cut")], "resumes from step 10; step 20 is incomplete: cut"),
        ([record(10), record(5, complete=False, problem="cut")], "resumes from step 10"),
        (
            [record(3, complete=False, problem="x"), record(2, complete=False, problem="y")],
            "starts from the beginning: there is no complete checkpoint; "
            "step 2 is incomplete: y; step 3 is incomplete: x",
        ),
    ],
)
def test_the_sentence_says_where_it_starts_and_what_was_passed_over(
    there: list[CheckpointRecord], sentence: str
) -> None:
    assert explain_resume(there) == sentence


def test_of_two_complete_ones_at_one_step_the_later_attempts_is_taken() -> None:
    assert resume_point([record(10, 2), record(10, 1)]) == record(10, 2)


@given(records)
def test_the_resume_point_is_complete_and_no_complete_one_is_newer(there: list[CheckpointRecord]) -> None:
    chosen = resume_point(there)
    complete = [r for r in there if r.complete]
    assert (chosen is None) == (not complete)
    if chosen:
        assert chosen.complete
        assert all(age_order(r) <= age_order(chosen) for r in complete)
        assert explain_resume(there).startswith(f"resumes from step {chosen.step}")


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        (CheckpointRules(keep_last=1), {50}),
        (CheckpointRules(keep_last=2), {40, 50}),
        (CheckpointRules(keep_last=0), {50}),
        (CheckpointRules(keep_last=9), {10, 20, 30, 40, 50}),
        (CheckpointRules(keep_last=1, keep_every=20), {20, 40, 50}),
        (CheckpointRules(keep_last=1, keep_best=2, best_metric="loss"), {30, 40, 50}),
        (CheckpointRules(keep_last=1, keep_best=1, best_metric="loss", best_is_max=True), {10, 50}),
        (CheckpointRules(keep_last=1, keep_best=3, best_metric="absent"), {50}),
        (CheckpointRules(keep_last=1, keep_best=3), {50}),
    ],
)
def test_kept_are_the_last_the_periodic_and_the_best(rules: CheckpointRules, kept: set[int]) -> None:
    losses = {10: 0.9, 20: 0.5, 30: 0.1, 40: 0.3, 50: 0.7}
    there = [record(step, metrics={"loss": loss}) for step, loss in losses.items()]
    pruned = to_prune(there, rules)
    assert {r.step for r in there if r.folder not in pruned} == kept


def test_an_incomplete_one_goes_only_when_it_is_older_than_all_that_are_kept_for_being_last() -> None:
    there = [record(5, complete=False), record(10), record(15, complete=False), record(20), record(25, complete=False)]
    assert to_prune(there, CheckpointRules(keep_last=2)) == (record(5).folder,)
    assert to_prune(there, CheckpointRules(keep_last=3)) == ()
    assert to_prune(there, CheckpointRules(keep_last=1)) == (record(5).folder, record(10).folder, record(15).folder)


def test_what_the_running_attempt_may_be_writing_stays() -> None:
    there = [record(5, 2, complete=False), record(5, 1, complete=False), record(10), record(20)]
    assert to_prune(there, CheckpointRules(keep_last=1), running=TOKENS[1]) == (record(5, 1).folder, record(10).folder)


def test_what_an_attempt_starts_from_stays() -> None:
    there = [record(10), record(20), record(30)]
    assert to_prune(there, CheckpointRules(keep_last=1), in_use=[record(10).folder]) == (record(20).folder,)


@given(records, rules, st.sampled_from([None, *TOKENS]))
def test_no_rules_remove_the_resume_point_the_last_ones_or_what_is_being_written(
    there: list[CheckpointRecord], chosen: CheckpointRules, running: str | None
) -> None:
    pruned = to_prune(there, chosen, running=running)
    left = [r for r in there if r.folder not in pruned]
    assert resume_point(left) == resume_point(there)
    newest = sorted((r for r in there if r.complete), key=age_order)[-max(chosen.keep_last, 1) :]
    assert set(pruned).isdisjoint(r.folder for r in newest)
    assert set(pruned).isdisjoint(r.folder for r in there if not r.complete and r.token == running)
    assert set(pruned) <= {r.folder for r in there}


@given(records, rules)
def test_pruning_twice_removes_nothing_more(there: list[CheckpointRecord], chosen: CheckpointRules) -> None:
    pruned = to_prune(there, chosen)
    assert to_prune([r for r in there if r.folder not in pruned], chosen) == ()


@given(there=records)
def test_the_few_records_that_decide_say_the_same_as_all(there: list[CheckpointRecord]) -> None:
    few = deciding(there)
    assert bool(few) == bool(there)
    assert resume_point(few) == resume_point(there)
    assert explain_resume(few) == explain_resume(there)


def test_of_many_broken_checkpoints_the_newest_are_named() -> None:
    broken = [record(step, complete=False, problem="cut") for step in range(1, 101)]
    told = explain_resume([record(0), *broken])
    assert told.count("is incomplete") == MOST_NAMED
    assert "step 100 is incomplete" in told
