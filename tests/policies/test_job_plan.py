"""From documents to what is run."""

from datetime import timedelta
from typing import Any

import pytest

from definitions.attempt import Readiness, RestartRule, SecretFile, SecretRef, SeedCheckpoint, Workdir
from definitions.errors import PerdureError
from definitions.job import Job
from definitions.job_state import CheckpointRules, RetryRules
from definitions.places import Ticket
from definitions.states import FailureClass, Mode, Phase
from definitions.submission import JobSubmission
from policies.advice import advice
from policies.job_figures import plan, retry_plan
from policies.job_plan import JobIds, initial_state
from policies.job_settle import settle

IDS = JobIds(tenant="acme", project="vision", job="j" * 26, owner="ada", seed="5" * 32)
SNAPSHOT = "0f" * 32
HERE = JobSubmission(base_env={"PATH": "/usr/bin"}, cwd="/home/ada/digits", snapshot=SNAPSHOT)


def job(**spec: Any) -> Job:
    body = {"command": ["python", "train.py"]} | spec
    return Job.model_validate({"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": "digits"}, "spec": body})


def launch_of(submission: JobSubmission = HERE, **spec: Any) -> Any:
    return initial_state(settle(job(**spec), submission).job, IDS, submission).launch


@pytest.mark.parametrize(
    ("spec", "field", "wanted"),
    [
        ({"args": ["--lr", "1"]}, "argv", ("python", "train.py", "--lr", "1")),
        ({"command": [], "shell": "false; true"}, "argv", ("/bin/sh", "-c", "false; true")),
        ({"env": {"A": "1", "B": {"secret": "s"}}}, "env", {"A": "1", "B": SecretRef(secret="s")}),
        ({"secretFiles": [{"secret": "s", "path": "p"}]}, "secret_files", (SecretFile(secret="s", path="p"),)),
        ({"nodes": 2, "processesPerNode": 4}, "ranks", 8),
        ({"gracePeriod": "5s"}, "grace", timedelta(seconds=5)),
        ({"progress": {"hangAfter": "15m"}}, "hang_after", timedelta(minutes=15)),
        ({"checkpoints": {"every": "5m"}}, "checkpoint_every", timedelta(minutes=5)),
        ({"distributed": {"framework": "pytorch", "backend": "gloo"}}, "framework", "pytorch"),
        ({"distributed": {"framework": "pytorch", "backend": "gloo"}}, "backend", "gloo"),
        ({"distributed": {"masterPort": 29500}}, "master_port", 29500),
        ({}, "base_env", {"PATH": "/usr/bin"}),
        ({}, "restart", None),
        ({}, "workdir", Workdir(mode="snapshot", sha256=SNAPSHOT)),
        ({"workingDir": "src"}, "workdir", Workdir(mode="snapshot", sha256=SNAPSHOT, subfolder="src")),
        ({"workdir": {"mode": "live"}}, "workdir", Workdir(mode="live", path="/home/ada/digits")),
        ({"workdir": {"mode": "live", "path": "/data"}}, "workdir", Workdir(mode="live", path="/data")),
        ({"workdir": {"mode": "none"}}, "workdir", Workdir(mode="none")),
        ({"mode": "service"}, "restart", RestartRule()),
        (
            {"mode": "service", "service": {"restart": {"initial": "2s", "max": "9s", "limit": 4}}},
            "restart",
            RestartRule(first_delay=timedelta(seconds=2), longest_delay=timedelta(seconds=9), limit=4),
        ),
        (
            {"mode": "service", "service": {"readiness": {"httpPort": 80, "period": "1s"}}},
            "readiness",
            Readiness(http_port=80, period=timedelta(seconds=1)),
        ),
    ],
)
def test_a_field_of_the_document_becomes_part_of_every_launch(spec: dict[str, Any], field: str, wanted: Any) -> None:
    assert getattr(launch_of(**spec), field) == wanted


def test_rules_for_retries_and_checkpoints_are_the_documents() -> None:
    backoff = {"initial": "1s", "max": "2m", "factor": 3}
    made = initial_state(
        job(
            retry={"limit": 7, "backoff": backoff, "budget": "1d", "rules": {"hang": 2}},
            checkpoints={"keepLast": 5, "keepEvery": 100, "keepBest": {"metric": "acc", "mode": "max", "count": 2}},
            timeout="2h",
        ),
        IDS,
        HERE,
    )
    assert made.retry == RetryRules(
        limit=7,
        first_delay=timedelta(seconds=1),
        longest_delay=timedelta(minutes=2),
        factor=3,
        budget=timedelta(days=1),
        classes={FailureClass.HANG: 2},
    )
    assert made.checkpoints == CheckpointRules(
        keep_last=5, keep_every=100, keep_best=2, best_metric="acc", best_is_max=True
    )
    assert (made.timeout, made.phase, made.seed) == (timedelta(hours=2), Phase.PENDING, IDS.seed)
    assert initial_state(job(checkpoints={"resume": "never"}), IDS, HERE).checkpoints.resume is False


def test_a_job_that_begins_at_a_checkpoint_of_another_resumes_from_it() -> None:
    seed = SeedCheckpoint(job="k" * 26, folder="checkpoints/step-0000000100." + "a" * 32, step=100)
    made = initial_state(job(), IDS, HERE.model_copy(update={"seed_checkpoint": seed}))
    assert (made.resume_from, made.resume_step, made.launch.seed_checkpoint) == (seed.folder, 100, seed)


def test_a_ticket_goes_to_the_state_and_its_class_is_not_the_clusters() -> None:
    ticket = Ticket(queue="research", priority=7, priority_class="urgent")
    on_cluster = job(cluster="north", priorityClass="urgent", workdir={"mode": "none"})
    with_ticket = initial_state(on_cluster, IDS, JobSubmission(ticket=ticket))
    without = initial_state(on_cluster, IDS, JobSubmission())
    assert (with_ticket.ticket, without.ticket) == (ticket, None)
    assert with_ticket.launch.pod is not None
    assert without.launch.pod is not None
    assert (with_ticket.launch.pod.priority_class, without.launch.pod.priority_class) == (None, "urgent")


def test_the_stored_document_gives_the_same_state_as_the_accepted_one() -> None:
    accepted = settle(job(nodes=2, env={"B": {"secret": "s"}}, timeout="90m", mode="service"), HERE).job
    stored = Job.model_validate(accepted.model_dump(mode="json", by_alias=True, exclude_none=True))
    assert initial_state(stored, IDS, HERE) == initial_state(accepted, IDS, HERE)
    assert settle(accepted, HERE).job == accepted


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"workdir": {"mode": "snapshot"}}, "spec.workdir.snapshot"),
        ({"workdir": {"mode": "live"}}, "spec.workdir.path"),
        ({"workdir": {"mode": "live", "path": "relative"}}, "spec.workdir.path"),
    ],
)
def test_a_folder_that_is_asked_for_must_be_named(spec: dict[str, Any], where: str) -> None:
    with pytest.raises(PerdureError) as refused:
        settle(job(**spec), JobSubmission())
    assert (refused.value.code.code, refused.value.where) == ("PD-2031", where)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, ["no spec.timeout"]),
        ({"timeout": "1h"}, []),
        ({"mode": "service"}, []),
        ({"timeout": "1h", "workdir": {"mode": "live"}}, ["whatever the folder holds"]),
        ({"timeout": "5m", "checkpoints": {"every": "5m"}}, ["nothing would be saved"]),
        ({"timeout": "1h", "progress": {"hangAfter": "1m"}, "checkpoints": {"every": "5m"}}, ["looks hung"]),
    ],
)
def test_what_is_legal_but_surprising_is_said(spec: dict[str, Any], words: list[str]) -> None:
    found = settle(job(**spec), HERE).warnings
    assert len(found) == len(words)
    assert all(word in warning for word, warning in zip(words, found, strict=True))


def test_a_job_without_a_snapshot_starts_in_an_empty_folder_and_says_so() -> None:
    settled = settle(job(timeout="1h"), JobSubmission())
    assert settled.job.spec.workdir.mode == "none"
    assert settled.warnings == ("no snapshot was uploaded: the command starts in an empty folder",)


def test_the_plan_shows_what_retries_really_come() -> None:
    shown = retry_plan(job(retry={"limit": 5, "rules": {"user-error": 2, "hang": 9, "preempted": 50}}).spec)
    assert shown.by_class[FailureClass.USER_ERROR] == 2
    assert shown.by_class[FailureClass.HANG] == 5  # counted failures never exceed the limit
    assert shown.by_class[FailureClass.PREEMPTED] == 50  # others are not counted
    assert shown.by_class[FailureClass.OUT_OF_MEMORY] == 1
    assert shown.by_class[FailureClass.COMMAND_NOT_FOUND] == 0


def test_the_plan_names_what_is_injected_and_never_a_value() -> None:
    spec = {"env": {"A": "plain", "B": {"secret": "two"}}, "secretFiles": [{"secret": "one", "path": "p"}]}
    made = plan(job(**spec), {}, ("w",), template="t@1", snapshot_bytes=10, snapshot_files=2)
    assert (made.env, made.secrets, made.warnings, made.template) == (["A", "B"], ["one", "two"], ["w"], "t@1")
    assert made.mode is Mode.BATCH


@pytest.mark.parametrize("failure", list(FailureClass))
def test_there_is_advice_for_every_class_of_failure(failure: FailureClass) -> None:
    assert advice(Phase.FAILED, failure)
    assert advice(Phase.RUNNING, failure) == ()
