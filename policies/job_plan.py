"""From a Job document to what is run: the state that its workflow starts from.

Nothing here looks at the world. What depends on stored things (snapshots, secrets, other jobs' checkpoints) was found
when the job was accepted and comes in with the submission.
"""

from definitions.attempt import AttemptLaunch, AttemptRef, Readiness, RestartRule, SecretFile, SecretRef, Workdir
from definitions.job import Job, JobSpec
from definitions.job_checkpoints import Checkpoints, MetricMode, ResumeMode
from definitions.job_lifecycle import Retry
from definitions.job_state import CheckpointRules, JobState, RetryRules
from definitions.job_workload import WorkdirMode
from definitions.pod_needs import PodNeeds
from definitions.states import Mode
from definitions.submission import JobSubmission
from definitions.wire import Wire
from policies.array_children import array_environment
from policies.job_sizes import sizes_of
from policies.pod_plan import pod_needs

SHELL = ("/bin/sh", "-c")


class JobIds(Wire):
    """What a job's row adds to its document. `seed`: 32 hex digits, from which attempt tokens derive."""

    tenant: str
    project: str
    job: str
    owner: str
    seed: str


def initial_state(job: Job, ids: JobIds, submission: JobSubmission) -> JobState:
    """The state of an accepted job before anything has happened to it. The same row always gives the same state."""
    spec = job.spec
    seed = submission.seed_checkpoint
    return JobState(
        tenant=ids.tenant,
        project=ids.project,
        job=ids.job,
        launch=attempt_template(job, ids, submission),
        seed=ids.seed,
        retry=retry_rules(spec.retry),
        checkpoints=checkpoint_rules(spec.checkpoints),
        timeout=spec.timeout,
        pin=spec.placement.pin,
        resume_from=seed.folder if seed else None,
        resume_step=seed.step if seed else None,
        ticket=submission.ticket,
        sizes=sizes_of(spec),
        after=submission.after,
    )


def argv_of(spec: JobSpec) -> tuple[str, ...]:
    """What every rank runs. `shell` is one text for `/bin/sh -c`; anything else goes without a shell."""
    return (*SHELL, spec.shell) if spec.shell is not None else (*spec.command, *spec.args)


def attempt_template(job: Job, ids: JobIds, submission: JobSubmission) -> AttemptLaunch:
    """What every attempt of the job is launched with; number, token, deadline and resume point are filled in later."""
    spec = job.spec
    return AttemptLaunch(
        ref=AttemptRef(tenant=ids.tenant, project=ids.project, job=ids.job, number=0, token=""),
        name=job.metadata.name,
        owner=ids.owner,
        mode=spec.mode,
        argv=argv_of(spec),
        env=_env(spec) | array_environment(submission.array),
        secret_files=tuple(SecretFile(secret=file.secret, path=file.path) for file in spec.secret_files),
        base_env=submission.base_env,
        workdir=_workdir(spec),
        nodes=spec.nodes,
        processes_per_node=spec.processes_per_node,
        framework=spec.distributed.framework,
        backend=spec.distributed.backend,
        master_port=spec.distributed.master_port,
        grace=spec.grace_period,
        hang_after=spec.progress.hang_after,
        checkpoint_every=spec.checkpoints.every,
        seed_checkpoint=submission.seed_checkpoint,
        artifacts_max_bytes=spec.artifacts.max_bytes,
        restart=_restart(spec),
        readiness=_readiness(spec),
        pod=_pod(spec, submission),
    )


def _pod(spec: JobSpec, submission: JobSubmission) -> PodNeeds | None:
    """With a ticket the priority class is one of the scheduler's, which the cluster itself may not know."""
    needs = pod_needs(spec)
    if needs is None or submission.ticket is None:
        return needs
    return needs.model_copy(update={"priority_class": None})


def retry_rules(retry: Retry) -> RetryRules:
    return RetryRules(
        limit=retry.limit,
        first_delay=retry.backoff.initial,
        longest_delay=retry.backoff.max,
        factor=retry.backoff.factor,
        budget=retry.budget,
        classes=dict(retry.rules),
    )


def checkpoint_rules(checkpoints: Checkpoints) -> CheckpointRules:
    best = checkpoints.keep_best
    return CheckpointRules(
        keep_last=checkpoints.keep_last,
        keep_every=checkpoints.keep_every,
        keep_best=best.count if best else 0,
        best_metric=best.metric if best else None,
        best_is_max=best is not None and best.mode is MetricMode.MAX,
        resume=checkpoints.resume is ResumeMode.AUTO,
    )


def _env(spec: JobSpec) -> dict[str, str | SecretRef]:
    return {
        name: SecretRef(secret=entry.secret) if entry.secret is not None else entry.value or ""
        for name, entry in spec.env.items()
    }


def _workdir(spec: JobSpec) -> Workdir:
    """The document was settled when the job was accepted: a snapshot has its digest, a live folder its path."""
    subfolder = spec.working_dir or "."
    match spec.workdir.mode:
        case WorkdirMode.SNAPSHOT:
            return Workdir(mode="snapshot", sha256=spec.workdir.snapshot, subfolder=subfolder)
        case WorkdirMode.LIVE:
            return Workdir(mode="live", path=spec.workdir.path, subfolder=subfolder)
        case WorkdirMode.NONE:
            return Workdir(mode="none", subfolder=subfolder)


def _restart(spec: JobSpec) -> RestartRule | None:
    if spec.mode is not Mode.SERVICE:
        return None
    if spec.service is None:
        return RestartRule()
    rule = spec.service.restart
    return RestartRule(first_delay=rule.initial, longest_delay=rule.max, limit=rule.limit)


def _readiness(spec: JobSpec) -> Readiness | None:
    probe = spec.service.readiness if spec.service else None
    if probe is None:
        return None
    return Readiness(
        file=probe.file,
        tcp_port=probe.tcp_port,
        http_port=probe.http_port,
        http_path=probe.http_path or "/",
        initial_delay=probe.initial_delay,
        period=probe.period,
        failure_threshold=probe.failure_threshold,
    )
