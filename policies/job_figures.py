"""The plan of a job: what a submit would do, said before anything is written."""

from collections.abc import Sequence
from typing import Any

from definitions.api_order import AwaitedView
from definitions.api_submit import Plan, RetryPlan, WorkdirPlan
from definitions.job import Job, JobSpec
from definitions.job_document import gpus_of, ranks_of
from definitions.places import Ticket
from definitions.quantities import format_duration
from definitions.states import FailureClass
from policies.array_figures import array_view, array_warnings
from policies.cluster_place import Place
from policies.job_plan import argv_of
from policies.retry import TABLE


def plan(
    job: Job,
    document: dict[str, Any],
    warnings: tuple[str, ...],
    place: Place | None = None,
    ticket: Ticket | None = None,
    after: Sequence[AwaitedView] = (),
    *,
    template: str | None = None,
    snapshot_bytes: int | None = None,
    snapshot_files: int | None = None,
) -> Plan:
    """Say what a settled job would do. The sizes are those of its stored snapshot, if it has one."""
    spec, place = job.spec, place or Place()
    named = {entry.secret for entry in spec.env.values() if entry.secret} | {file.secret for file in spec.secret_files}
    return Plan(
        name=job.metadata.name,
        project=job.metadata.project,
        mode=spec.mode,
        document=document,
        command=list(argv_of(spec)),
        cluster=place.cluster,
        image=place.image,
        volumes=list(place.volumes),
        queue=ticket.queue if ticket else None,
        priority=ticket.priority if ticket else 0,
        priority_class=ticket.priority_class if ticket else None,
        reservation=ticket.reservation if ticket else None,
        after=list(after),
        array=array_view(job),
        nodes=spec.nodes,
        ranks=ranks_of(spec),
        gpus=gpus_of(spec),
        env=list(spec.env),
        secrets=sorted(named),
        workdir=WorkdirPlan(
            mode=spec.workdir.mode,
            sha256=spec.workdir.snapshot,
            path=spec.workdir.path,
            bytes=snapshot_bytes,
            files=snapshot_files,
        ),
        timeout=format_duration(spec.timeout) if spec.timeout is not None else None,
        grace=format_duration(spec.grace_period),
        retry=retry_plan(spec),
        checkpoint_every=format_duration(spec.checkpoints.every) if spec.checkpoints.every is not None else None,
        template=template,
        warnings=[*warnings, *array_warnings(job, ticket)],
    )


def retry_plan(spec: JobSpec) -> RetryPlan:
    """The rules of the document laid over the table of policies/retry.py."""
    retry = spec.retry
    return RetryPlan(
        limit=retry.limit,
        first_delay=format_duration(retry.backoff.initial),
        longest_delay=format_duration(retry.backoff.max),
        budget=format_duration(retry.budget) if retry.budget is not None else None,
        by_class={failure: _most_retries(failure, spec) for failure in FailureClass},
    )


def _most_retries(failure: FailureClass, spec: JobSpec) -> int:
    rule = TABLE[failure]
    if (asked := spec.retry.rules.get(failure)) is not None:
        return min(asked, spec.retry.limit) if rule.counted else asked
    if not rule.retried:
        return 0
    return spec.retry.limit if rule.limit is None else min(rule.limit, spec.retry.limit)
