"""From rows to what the API shows. One function per kind; nothing is decided here."""

import math
from typing import Any
from urllib.parse import quote

from api.order import awaited
from api.settings import ApiSettings
from definitions.api_arrays import ArrayView
from definitions.api_catalog import ParameterView, SecretView, SnapshotView, TemplateView
from definitions.api_history import ArtifactView, AttemptView, CheckpointView, EventView, RankView
from definitions.api_jobs import JobLinks, JobView, ProgressView
from definitions.api_submit import GitState, Rendered
from definitions.ids import job_workflow_id
from definitions.job import Job
from definitions.job_document import document_of
from definitions.submission import JobSubmission
from definitions.template import Template
from definitions.template_parameters import Parameter
from definitions.yaml_writer import to_yaml
from store.tables import (
    ArtifactRow,
    AttemptRow,
    CheckpointRow,
    EventRow,
    JobRow,
    SecretRow,
    SnapshotRow,
    TemplateRow,
)


def etag(row: JobRow) -> str:
    return f'"{row.generation}"'


def job_view(row: JobRow, settings: ApiSettings, *, whole: bool = True, array: ArrayView | None = None) -> JobView:
    """A job; without its document unless `whole`. `array`: of one that is an array."""
    progress = _progress(row.progress) if row.progress else None
    return JobView(
        id=row.id,
        name=row.name,
        tenant=row.tenant,
        project=row.project,
        owner=row.owner,
        labels=row.labels,
        mode=row.mode,
        type=row.type,
        phase=row.phase,
        reason=row.reason,
        failure=row.failure,
        attempt=row.attempt,
        attempts=row.attempt,  # attempts are numbered from 1 without gaps
        exit_code=row.exit_code,
        cluster=row.cluster,
        nodes=row.nodes,
        asked_nodes=row.asked_nodes,
        ranks=row.ranks,
        gpus=row.gpus,
        step=progress.step if progress else None,
        progress=progress,
        checkpoint_step=row.checkpoint_step,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        deadline=row.deadline,
        wake_at=row.wake_at,
        array=array,
        after=awaited(JobSubmission.model_validate(row.submission)) if whole and row.submission.get("after") else [],
        generation=row.generation,
        links=job_links(row, settings),
        spec=row.spec if whole else None,
        **_origin(row),
    )


def job_links(row: JobRow, settings: ApiSettings) -> JobLinks:
    base = f"{settings.public_url.rstrip('/')}/v1/jobs/{row.id}"
    project = "" if row.project == "default" else f"?project={quote(row.project, safe='')}"
    workflow = quote(job_workflow_id(row.tenant, row.id), safe="")
    ui = f"{settings.ui_url.rstrip('/')}/namespaces/{quote(settings.namespace, safe='')}/workflows/{workflow}"
    return JobLinks.model_validate({"self": base + project, "logs": f"{base}/logs{project}", "workflow": ui})


def attempt_view(row: AttemptRow) -> AttemptView:
    return AttemptView(
        number=row.number,
        token=row.token,
        started_at=row.started_at,
        ended_at=row.ended_at,
        failure=row.failure,
        reason=row.reason,
        exit_code=row.exit_code,
        signal=row.signal,
        first_rank=row.first_rank,
        from_step=row.from_step,
        reached_step=row.reached_step,
        checkpoint_step=row.checkpoint_step,
        counted=row.counted,
        nodes=row.nodes,
        ranks=[RankView.model_validate(rank) for rank in row.ranks],
    )


def event_view(row: EventRow) -> EventView:
    return EventView(seq=row.seq, at=row.at, actor=row.actor, kind=row.kind, reason=row.reason, data=row.data)


def checkpoint_view(row: CheckpointRow) -> CheckpointView:
    return CheckpointView(
        step=row.step,
        folder=row.folder,
        attempt=row.attempt,
        token=row.token,
        complete=row.complete,
        problem=row.problem,
        bytes=row.bytes,
        files=row.files,
        metrics=_numbers(row.metrics),
        saved_at=row.saved_at,
        verified_at=row.verified_at,
        deleted_at=row.deleted_at,
    )


def artifact_view(row: ArtifactRow) -> ArtifactView:
    return ArtifactView(
        path=row.path, attempt=row.attempt, bytes=row.bytes, sha256=row.sha256, created_at=row.created_at
    )


def rendered(job: Job) -> Rendered:
    """A document in both of its forms."""
    return Rendered(document=document_of(job), text=to_yaml(job))


def finite(value: float | str) -> float | None:
    """JSON has no NaN and no infinity: the store keeps them as words, the API shows null."""
    number = float(value)
    return number if math.isfinite(number) else None


def _origin(row: JobRow) -> dict[str, Any]:
    """Where a job comes from."""
    git = row.submission.get("git")
    return {
        "snapshot": row.snapshot,
        "git": GitState.model_validate(git) if git else None,
        "template": f"{row.template}@{row.template_version}" if row.template else None,
        "schedule": row.schedule,
        "cloned_from": row.cloned_from,
        "parent": row.parent,
        "array_index": row.array_index,
    }


def _progress(stored: dict[str, Any]) -> ProgressView:
    return ProgressView.model_validate(stored | {"metrics": _numbers(stored.get("metrics", {}))})


def _numbers(stored: dict[str, Any]) -> dict[str, float | None]:
    return {name: finite(value) for name, value in stored.items()}


def snapshot_view(row: SnapshotRow) -> SnapshotView:
    return SnapshotView(sha256=row.sha256, bytes=row.bytes, files=row.files, created_at=row.created_at)


def secret_view(row: SecretRow) -> SecretView:
    return SecretView(
        name=row.name, owner=row.owner, version=row.version, created_at=row.created_at, rotated_at=row.rotated_at
    )


def template_view(row: TemplateRow, versions: list[int], jobs: int, *, whole: bool = True) -> TemplateView:
    """A template; without its document unless `whole`."""
    template = Template.model_validate(row.document)
    return TemplateView(
        name=row.name,
        version=row.version,
        versions=versions,
        description=template.spec.description,
        parameters=[_parameter(parameter) for parameter in template.spec.parameters],
        jobs=jobs,
        created_at=row.created_at,
        document=row.document if whole else None,
    )


def _parameter(parameter: Parameter) -> ParameterView:
    named = {"name", "type", "required", "default", "description"}
    rules = parameter.model_dump(mode="json", by_alias=True, exclude=named, exclude_defaults=True)
    return ParameterView(
        name=parameter.name,
        type=parameter.type,
        required=parameter.default is None,
        default=parameter.default,
        description=parameter.description,
        rules=rules,
    )
