"""Which test proves what a field of a job does. A field that stands here is served; the others are refused.

tests/definitions/test_refusals.py holds this table, the refusals and the model together, and looks for each test.
"""

DOCUMENTS = "tests/definitions/test_documents.py::"
FIELDS = "tests/integration/test_fields.py::"
OUTCOMES = "tests/integration/test_outcomes.py::"
LIFECYCLE = "tests/policies/test_lifecycle.py::"
RETRY = "tests/policies/test_retry.py::"
KEPT = (
    "tests/policies/test_checkpoints.py::test_no_rules_remove_the_resume_point_the_last_ones_or_what_is_being_written"
)
RANKS = "tests/policies/test_rank_environment.py::"

FIELD_BEHAVIOUR: dict[str, str] = {
    "apiVersion": f"{DOCUMENTS}test_what_is_no_document_of_ours_is_named",
    "kind": f"{DOCUMENTS}test_what_is_no_document_of_ours_is_named",
    "metadata.name": "tests/store/test_jobs.py::test_a_live_name_is_refused_saying_who_holds_it",
    "metadata.project": "tests/api/test_submit.py::test_a_document_and_a_request_that_name_two_projects_are_refused",
    "metadata.labels": f"{FIELDS}test_labels_select_and_annotations_are_shown",
    "metadata.annotations": f"{FIELDS}test_labels_select_and_annotations_are_shown",
    "spec.type": f"{FIELDS}test_the_type_is_shown_with_the_job",
    "spec.mode": f"{OUTCOMES}test_a_service_restarts_in_place_becomes_ready_and_ends_only_when_cancelled",
    "spec.command": f"{OUTCOMES}test_the_end_is_told_as_it_was",
    "spec.shell": f"{OUTCOMES}test_the_end_is_told_as_it_was",
    "spec.args": f"{FIELDS}test_arguments_reach_the_command_as_they_stand",
    "spec.env.*.value": f"{FIELDS}test_variables_reach_the_command_as_text",
    "spec.env.*.secret": f"{FIELDS}test_a_secret_reaches_the_command_and_no_log",
    "spec.secretFiles[].secret": f"{FIELDS}test_a_secret_file_is_private_and_gone_afterwards",
    "spec.secretFiles[].path": f"{FIELDS}test_a_secret_file_is_private_and_gone_afterwards",
    "spec.workdir.mode": f"{FIELDS}test_the_command_starts_in_the_working_directory_of_its_mode",
    "spec.workdir.path": f"{FIELDS}test_the_command_starts_in_the_working_directory_of_its_mode",
    "spec.workdir.snapshot": f"{FIELDS}test_a_snapshot_gives_every_attempt_the_same_bytes",
    "spec.workingDir": f"{FIELDS}test_the_command_starts_in_the_folder_inside_its_working_directory",
    "spec.nodes": f"{OUTCOMES}test_one_of_eight_ranks_failing_ends_the_gang_and_is_named_with_its_last_lines",
    "spec.processesPerNode": f"{FIELDS}test_every_process_of_every_node_is_started_with_its_place",
    "spec.distributed.framework": f"{RANKS}test_a_rank_is_told_its_place_in_the_words_of_its_framework",
    "spec.distributed.backend": f"{RANKS}test_the_backend_reaches_the_job_and_horovod_as_far_as_it_knows_it",
    "spec.distributed.masterPort": f"{FIELDS}test_the_master_listens_on_the_port_that_was_asked_for",
    "spec.suspend": f"{LIFECYCLE}test_a_job_submitted_as_suspended_starts_nothing_until_it_is_resumed",
    "spec.timeout": f"{OUTCOMES}test_the_end_is_told_as_it_was",
    "spec.gracePeriod": f"{FIELDS}test_a_process_that_ignores_sigterm_is_killed_after_its_grace",
    "spec.retry.limit": f"{RETRY}test_the_limit_counts_only_what_is_the_jobs_own",
    "spec.retry.backoff.initial": f"{RETRY}test_back_off_grows_is_capped_and_never_overflows",
    "spec.retry.backoff.max": f"{RETRY}test_back_off_grows_is_capped_and_never_overflows",
    "spec.retry.backoff.factor": f"{RETRY}test_back_off_grows_is_capped_and_never_overflows",
    "spec.retry.budget": f"{RETRY}test_the_budget_bounds_when_the_next_attempt_may_begin",
    "spec.retry.rules": f"{RETRY}test_a_job_may_forbid_what_the_table_allows",
    "spec.checkpoints.every": f"{FIELDS}test_the_job_is_told_how_often_to_save",
    "spec.checkpoints.keepLast": KEPT,
    "spec.checkpoints.keepEvery": f"{FIELDS}test_checkpoints_are_kept_by_number_step_and_metric",
    "spec.checkpoints.keepBest.metric": f"{FIELDS}test_checkpoints_are_kept_by_number_step_and_metric",
    "spec.checkpoints.keepBest.mode": f"{FIELDS}test_checkpoints_are_kept_by_number_step_and_metric",
    "spec.checkpoints.keepBest.count": f"{FIELDS}test_checkpoints_are_kept_by_number_step_and_metric",
    "spec.checkpoints.resume": f"{LIFECYCLE}test_a_job_that_wants_no_resume_begins_anew",
    "spec.checkpoints.from.job": f"{FIELDS}test_a_job_starts_from_a_checkpoint_of_another",
    "spec.checkpoints.from.step": f"{FIELDS}test_a_job_starts_from_a_checkpoint_of_another",
    "spec.progress.hangAfter": f"{OUTCOMES}test_the_end_is_told_as_it_was",
    "spec.service.readiness.file": f"{FIELDS}test_a_service_is_ready_when_its_probe_says_so",
    "spec.service.readiness.tcpPort": f"{FIELDS}test_a_service_is_ready_when_its_probe_says_so",
    "spec.service.readiness.httpPort": f"{FIELDS}test_a_service_is_ready_when_its_probe_says_so",
    "spec.service.readiness.httpPath": f"{FIELDS}test_a_service_is_ready_when_its_probe_says_so",
    "spec.service.readiness.initialDelay": f"{FIELDS}test_a_service_is_looked_at_when_and_as_often_as_it_says",
    "spec.service.readiness.period": f"{FIELDS}test_a_service_is_looked_at_when_and_as_often_as_it_says",
    "spec.service.readiness.failureThreshold": f"{FIELDS}test_a_service_is_looked_at_when_and_as_often_as_it_says",
    "spec.service.restart.initial": f"{FIELDS}test_a_crashing_service_waits_longer_each_time_up_to_its_limit",
    "spec.service.restart.max": f"{FIELDS}test_a_crashing_service_waits_longer_each_time_up_to_its_limit",
    "spec.service.restart.limit": f"{FIELDS}test_a_crashing_service_waits_longer_each_time_up_to_its_limit",
    "spec.artifacts.keepFor": f"{FIELDS}test_artifacts_are_deleted_when_their_time_is_over",
    "spec.artifacts.maxBytes": f"{FIELDS}test_artifacts_beyond_the_limit_are_named_and_left",
    "spec.ttlAfterFinished": f"{FIELDS}test_an_ended_job_is_deleted_when_its_time_is_over",
}
