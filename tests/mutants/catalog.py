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
        "nodes-are-written-for-a-window-that-has-changed",
        "store/reserved.py",
        "seen = [*(column == value for column, value in key), BookingRow.version == one.version]",
        "seen = [column == value for column, value in key]",
        "tests/store/test_reserved.py",
    ),
    Fault(
        "a-scheduler-that-starts-again-gives-windows-other-nodes",
        "activities/scheduling_windows.py",
        "hold(wants, nodes, kept, self._until() if wants else {})",
        "hold(wants, nodes, (), self._until() if wants else {})",
        "tests/activities/test_reserved_pools.py::test_a_scheduler_that_starts_again_keeps_the_nodes_of_windows",
    ),
    Fault(
        "jobs-of-the-next-window-go-with-the-last-one",
        "policies/scheduling/bookings.py",
        "return since < booking.ends or (booking.cancelled is not None and since == booking.ends)",
        "return True",
        "tests/policies/scheduling/test_claims.py",
    ),
    Fault(
        "a-window-that-has-begun-gets-the-terms-of-a-later-document",
        "policies/scheduling/calendar.py",
        "look.entries[at].booking.begins > look.now:",
        "look.entries[at].booking.ends > look.now:",
        "tests/policies/scheduling/test_calendar.py",
    ),
    Fault(
        "a-job-that-is-to-end-with-its-window-waits-again",
        "policies/job_queueing.py",
        "    if fact.for_good:\n        over = ",
        "    if fact.resizes:\n        over = ",
        "tests/policies/test_job_leaving.py",
    ),
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
        "seen.ref.token != state.ref.token:\n        return stay(state)\n    if seen.exists and not seen.ended:",
        "seen.ref.job != state.ref.job:\n        return stay(state)\n    if seen.exists and not seen.ended:",
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
        "checkpoint_first=state.stop_requested is not Verb.CANCEL,",
        "checkpoint_first=False,",
        "tests/policies/test_lifecycle.py::test_suspend_asks_for_a_checkpoint_and_resume_goes_on_from_it_without_using_a_retry",
    ),
    Fault(
        "another-tenants-things-are-allowed",
        "policies/access.py",
        "if resource.tenant != principal.tenant:",
        "if resource.tenant != resource.tenant:",
        "tests/policies/test_access.py",
    ),
    Fault(
        "manifest-hash-is-skipped",
        "activities/checkpoints.py",
        'return None if cache.digest(path) == saved.sha256 else "has other bytes than were saved (its sha256 differs)"',
        "return None",
        "tests/activities/test_checkpoints.py",
    ),
    Fault(
        "the-last-complete-checkpoint-may-go",
        "policies/retention.py",
        "last = complete[-max(rules.keep_last, 1) :]",
        "last = complete[: max(rules.keep_last, 1)]",
        "tests/policies/test_checkpoints.py",
    ),
    Fault(
        "no-gang-restart",
        "activities/adapters/local/shim/stopping.py",
        "gang = self._spec.ranks > 1 and not self._spec.service",
        "gang = False",
        "tests/activities/local/test_contract.py",
    ),
    Fault(
        "pid-without-start-time",
        "activities/adapters/local/shim/procs.py",
        "return pid > 0 and started is not None and start_time(pid) == started",
        "return pid > 0 and started is not None and start_time(pid) is not None",
        "tests/activities/local/test_parts.py::test_a_process_is_known_by_pid_and_start_time",
    ),
    Fault(
        "command-runs-before-its-identity-is-written",
        "activities/adapters/local/shim/starting.py",
        "opened = _is_ready(rank) and _identify(rank, identified) and _wait(rank)",
        "opened = _is_ready(rank) and _wait(rank) and _identify(rank, identified)",
        "tests/activities/local/test_contract.py",
    ),
    Fault(
        "only-the-commands-own-children-are-killed",
        "activities/adapters/local/shim/procs.py",
        "waiting.extend(children(child))",
        "waiting.extend(())",
        "tests/activities/local/test_contract.py",
    ),
    Fault(
        "a-secret-across-a-split-line-is-shown",
        "activities/adapters/local/shim/logfile.py",
        "if start < cut < end:",
        "if start < cut < start:",
        "tests/activities/local/test_logfile.py",
    ),
    Fault(
        "an-older-state-overwrites-a-newer-one",
        "activities/adapters/journal.py",
        "if state.event_count < job.event_count or",
        "if state.event_count < 0 or",
        "tests/activities/test_journal.py",
    ),
    Fault(
        "a-key-serves-two-requests",
        "store/idempotency.py",
        "if (found.method, found.path, found.request_sha256) != (request.method, request.path, request.sha256):",
        "if (found.method, found.path) != (request.method, request.path):",
        "tests/store/test_idempotency.py",
    ),
    Fault(
        "a-repeated-request-is-carried-out-again",
        "policies/requests.py",
        "    if request.request_id in state.handled:\n        return stay(state)",
        "    if request.request_id in ():\n        return stay(state)",
        "tests/policies/test_lifecycle.py::test_a_repeated_request_changes_nothing",
    ),
    Fault(
        "places-of-an-asking-that-was-taken-back-start-the-job",
        "policies/job_queueing.py",
        "or fact.asked_at not in (None, state.queued_at):",
        "or fact.asked_at is state.job:",
        "tests/policies/test_job_queueing.py",
    ),
    Fault(
        "a-displaced-job-is-suspended-for-good",
        "policies/job_queueing.py",
        'return _wait(state, now, f"displaced: {state.displaced}; it will go on {_from_where(state)}", SYSTEM)',
        "return move(state, Phase.SUSPENDED, state.displaced, now, RecordCommand())",
        "tests/policies/test_job_queueing.py",
    ),
    Fault(
        "places-are-given-back-before-the-pods-are-gone",
        "activities/adapters/journal.py",
        "gave_back = gangs.follow(session, job, state.phase, state.attempt, ask, state.queued_at, now)",
        "phase = type(state.phase).BACKING_OFF if state.displaced else state.phase\n"
        "    gave_back = gangs.follow(session, job, phase, state.attempt, ask, state.queued_at, now)",
        "tests/activities/test_journal_gangs.py",
    ),
    Fault(
        "a-limit-of-a-queue-above-is-not-looked-at",
        "policies/scheduling/admission.py",
        "for name in rules.path(queue):",
        "for name in rules.path(queue)[:1]:",
        "tests/policies/scheduling/test_admission.py",
    ),
    Fault(
        "simulated-gpus-are-shown-to-cuda",
        "policies/places.py",
        'protocol.SIMULATED: "1", **dict.fromkeys(VISIBLE_DEVICES, "")}',
        'protocol.SIMULATED: "1", **dict.fromkeys(VISIBLE_DEVICES, devices)}',
        "tests/policies/test_places.py",
    ),
    Fault(
        "all-nodes-of-a-job-get-its-first-place",
        "policies/places.py",
        "launch.placement.pods[rank // launch.processes_per_node]",
        "launch.placement.pods[0]",
        "tests/policies/test_places.py",
    ),
    Fault(
        "a-pod-is-let-go-to-any-node-that-it-likes",
        "activities/adapters/kubernetes/objects/placement.py",
        '[*term.get("matchFields", []), only]',
        'term.get("matchFields", [])',
        "tests/activities/kubernetes/test_objects.py",
    ),
    Fault(
        "whoever-begins-to-follow-overlooks-an-end-that-is-being-written",
        "store/followers.py",
        "select(JobRow).where(*mine).with_for_update().execution_options",
        "select(JobRow).where(*mine).execution_options",
        "tests/store/test_followers.py::test_who_comes_while_the_end_is_being_written_waits_for_it_and_sees_it",
    ),
    Fault(
        "word-for-a-job-that-has-not-begun-is-lost",
        "workers/end_teller.py",
        "[word for word in words if word.begun or word.over]",
        "list(words)",
        "tests/workers/test_end_teller.py::test_word_for_a_job_that_has_not_begun_stays_until_it_has",
    ),
    Fault(
        "a-gang-that-grows-holds-only-what-it-had",
        "store/resizes.py",
        "both[resource] = both.get(resource, 0) + amount",
        "both[resource] = both.get(resource, 0)",
        "tests/store/test_resizes.py::test_both_places_are_held_until_the_attempt_has_gone_and_then_only_the_new_ones",
    ),
    Fault(
        "a-job-gets-places-of-a-size-that-it-asks-for-no-longer",
        "store/gangs.py",
        "(row.attempt + 1, row.asked_at, row.shape) == (attempt, since, ask.shape)",
        "(row.attempt + 1, row.asked_at) == (attempt, since)",
        "tests/store/test_resizes.py::test_a_job_that_asks_for_something_else_by_then_waits_anew_with_nothing_held",
    ),
    Fault(
        "an-end-that-is-heard-twice-counts-twice",
        "policies/arrays.py",
        "index is None or not ranges.has(state.open, position)",
        "index is None",
        "tests/policies/test_arrays.py",
    ),
    Fault(
        "an-array-that-is-over-makes-jobs",
        "store/arrays.py",
        "if array.phase.is_final or array.deleted_at is not None or not offers:",
        "if not offers:",
        "tests/activities/test_arrays.py::test_an_array_that_is_over_makes_no_job_however_late_the_batch_comes",
    ),
    Fault(
        "gangs-grow-into-what-limits-keep-for-those-who-wait",
        "policies/scheduling/growing.py",
        "return all(short is None or short.rule is Bound.POOL for short in later)",
        "return bool(later)",
        "tests/policies/scheduling/test_growing.py",
    ),
    Fault(
        "what-was-given-up-stays-in-the-calendar",
        "api/reservation_windows.py",
        "if each.begins < min(each.ends, days.ends) and each.ends > days.begins",
        "if each.begins < days.ends and each.ends > days.begins",
        "tests/api/test_reservations.py::test_a_calendar_has_real_hours_by_day_of_what_is_booked_and_of_what_the_rule_names",
    ),
    Fault(
        "others-of-its-shape-keep-a-gang-from-places-freed-for-it",
        "policies/scheduling/plan.py",
        "        self._offer_what_is_seated()\n        for",
        "        for",
        "tests/policies/scheduling/test_plan_freed.py",
    ),
    Fault(
        "who-arrives-later-in-a-round-delays-who-has-no-promise-yet",
        "policies/scheduling/plan.py",
        "request.id not in self.profile.pins and self.ahead.plan(number)",
        "request.id not in self.profile.pins and not request",
        "tests/policies/scheduling/test_plan_ahead.py",
    ),
)
