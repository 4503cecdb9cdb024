"""What jobs do on one machine they do on the production pair: the same tests, on another control plane."""

import pytest

from tests.integration.test_fields import (  # noqa: F401
    test_a_job_starts_from_a_checkpoint_of_another,
    test_a_secret_reaches_the_command_and_no_log,
    test_a_snapshot_gives_every_attempt_the_same_bytes,
    test_an_ended_job_is_deleted_when_its_time_is_over,
    test_artifacts_are_deleted_when_their_time_is_over,
    test_labels_select_and_annotations_are_shown,
)
from tests.integration.test_outcomes import (  # noqa: F401
    test_a_killed_rank_is_retried_from_its_last_verified_checkpoint,
    test_a_service_restarts_in_place_becomes_ready_and_ends_only_when_cancelled,
    test_cancel_ends_every_descendant_and_says_who_asked,
    test_one_of_eight_ranks_failing_ends_the_gang_and_is_named_with_its_last_lines,
    test_suspend_keeps_the_step_and_resume_goes_on_from_it,
    test_the_end_is_told_as_it_was,
)

pytestmark = [pytest.mark.production, pytest.mark.timeout(600)]  # what is not built yet is built first
