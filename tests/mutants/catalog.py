"""The faults: where, what stands there, what is put in its place, and the test that must turn red."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """`right` stands exactly once in `file`; with `wrong` in its place, `test` fails."""

    name: str
    file: str
    right: str
    wrong: str
    test: str


CATALOG = (
    Fault(
        "newest-instead-of-newest-complete",
        "policies/checkpoints.py",
        "(record for record in records if record.complete)",
        "(record for record in records)",
        "tests/cases/test_c10_checkpoints.py",
    ),
    Fault(
        "137-is-out-of-memory",
        "policies/failure.py",
        "if rank.oom is OomEvidence.CONFIRMED:",
        "if rank.oom is OomEvidence.CONFIRMED or rank.exit_code == 137:",
        "tests/policies/test_failure.py",
    ),
    Fault(
        "an-earlier-attempt-may-end-the-present-one",
        "policies/lifecycle.py",
        "seen.ref.token != state.ref.token",
        "seen.ref.job != state.ref.job",
        "tests/policies/test_lifecycle.py::test_what_an_earlier_attempt_still_reports_changes_nothing",
    ),
    Fault(
        "the-last-failing-rank-is-the-cause",
        "policies/failure.py",
        "return min(causes, key=_when, default=None)",
        "return max(causes, key=_when, default=None)",
        "tests/policies/test_failure.py::test_the_first_rank_that_failed_by_itself_is_the_cause",
    ),
    Fault(
        "lost-nodes-use-up-retries",
        "policies/lifecycle.py",
        "state.retries_used + (1 if verdict.counted else 0)",
        "state.retries_used + 1",
        "tests/policies/test_lifecycle.py::test_losing_a_node_uses_up_no_retry",
    ),
    Fault(
        "suspend-without-a-checkpoint",
        "policies/job_steps.py",
        "checkpoint_first=suspend,",
        "checkpoint_first=False,",
        "tests/policies/test_lifecycle.py::test_suspend_asks_for_a_checkpoint_and_resume_goes_on_from_it_without_using_a_retry",
    ),
    Fault(
        "another-tenants-things-are-allowed",
        "policies/access.py",
        "if resource.tenant != principal.tenant:",
        "if resource.tenant != resource.tenant:",
        "tests/api",
    ),
)
