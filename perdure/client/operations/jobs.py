"""Jobs: submit, look, list, wait, operate, delete."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from perdure.client._models import (
    Applied,
    CloneJob,
    ClusterObjects,
    Diff,
    ExtendJob,
    ImportedJobs,
    ImportJobs,
    JobPage,
    JobView,
    ObjectsDiff,
    Operate,
    Operation,
    Phase,
    Plan,
    Rendered,
    ReprioritiseJob,
    ResizeJob,
    SubmitJob,
    Validation,
    Why,
)
from perdure.client.call import Call, M, as_json, nothing, reading, segment

JSON = "application/json"
PATIENCE = 120.0  # seconds that a cluster may take to answer


def submit(body: SubmitJob, *, project: str | None = None) -> Call[JobView]:
    """Accept a job. It is accepted when this answers; it starts by itself shortly after."""
    return _document("submit", "/v1/jobs", JobView, body, project, {"dryRun": None}, keyed=True)


def plan(body: SubmitJob, *, project: str | None = None) -> Call[Plan]:
    """What a submit would do. Nothing is written."""
    return _document("submit", "/v1/jobs", Plan, body, project, {"dryRun": True})


def validate(body: SubmitJob, *, project: str | None = None) -> Call[Validation]:
    """Check a document as a submit would, without what depends on stored things."""
    return _document("validate", "/v1/jobs:validate", Validation, body, project)


def render(body: SubmitJob, *, project: str | None = None) -> Call[Rendered]:
    """Fill in every default and template parameter."""
    return _document("render", "/v1/jobs:render", Rendered, body, project)


def objects(body: SubmitJob, *, cluster: str | None = None, project: str | None = None) -> Call[ClusterObjects]:
    """The objects that a document would be on its cluster. `cluster`: of a job that names none."""
    return _document("objects", "/v1/jobs:objects", ClusterObjects, body, project, {"cluster": cluster})


def objects_diff(job: str, *, project: str | None = None) -> Call[ObjectsDiff]:
    """In what the objects of the job's present attempt differ from what was made."""
    path = f"/v1/jobs/{segment(job)}/objects"
    return Call("jobs.objectsDiff", "GET", path, reading(ObjectsDiff), project=project, patience=PATIENCE)


def diff(body: SubmitJob, *, project: str | None = None) -> Call[Diff]:
    """Compare a document with the newest job of its name."""
    return _document("diff", "/v1/jobs:diff", Diff, body, project)


def apply(body: SubmitJob, *, project: str | None = None) -> Call[Applied]:
    """Submit unless the live job of that name has this very document. Another document is a conflict."""
    return _document("apply", "/v1/jobs:apply", Applied, body, project, keyed=True)


def import_jobs(body: ImportJobs, *, project: str | None = None) -> Call[ImportedJobs]:
    """Translate documents of another system into jobs. Nothing is written."""
    sent = as_json(body)
    path = "/v1/jobs:import"
    return Call("jobs.import", "POST", path, reading(ImportedJobs), body=sent, content_type=JSON, project=project)


def list_jobs(
    *,
    phase: list[Phase] | None = None,
    selector: str | None = None,
    owner: str | None = None,
    since: datetime | None = None,
    template: str | None = None,
    schedule: str | None = None,
    name: str | None = None,
    cluster: str | None = None,
    array: str | None = None,
    children: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    project: str | None = None,
) -> Call[JobPage]:
    """Jobs, newest first. `array`: only the jobs of this one. `children`: jobs of arrays too, else only those named."""
    query = {
        "phase": phase,
        "selector": selector,
        "owner": owner,
        "since": since,
        "template": template,
        "schedule": schedule,
        "name": name,
        "cluster": cluster,
        "array": array,
        "children": children,
        "limit": limit,
        "cursor": cursor,
    }
    return Call("jobs.list", "GET", "/v1/jobs", reading(JobPage), query, project=project)


def children(
    job: str,
    *,
    phase: list[Phase] | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    project: str | None = None,
) -> Call[JobPage]:
    """The jobs of an array, by index."""
    query = {"phase": phase, "limit": limit, "cursor": cursor}
    path = f"/v1/jobs/{segment(job)}/children"
    return Call("jobs.children", "GET", path, reading(JobPage), query, project=project)


def get(job: str, *, project: str | None = None) -> Call[JobView]:
    """One job by id, or the newest one by name."""
    return Call("jobs.get", "GET", f"/v1/jobs/{segment(job)}", reading(JobView), project=project)


def why(job: str, *, project: str | None = None) -> Call[Why]:
    """Why the job is where it is, as decided at the time."""
    return Call("jobs.why", "GET", f"/v1/jobs/{segment(job)}/why", reading(Why), project=project)


def wait(job: str, *, timeout: float = 30, project: str | None = None) -> Call[JobView]:
    """Answer when the job has ended, or after `timeout` seconds (at most 60) with the job as it then is."""
    path = f"/v1/jobs/{segment(job)}/wait"
    query = {"timeout": timeout}
    return Call("jobs.wait", "GET", path, reading(JobView), query, project=project, patience=timeout + 30)


def delete(job: str, *, if_match: int | None = None, project: str | None = None) -> Call[None]:
    """Delete an ended job with its logs, checkpoints and artifacts. `if_match`: only at this generation."""
    path = f"/v1/jobs/{segment(job)}"
    return Call("jobs.delete", "DELETE", path, nothing, headers=_matching(if_match), project=project)


def cancel(job: str, *, reason: str = "", if_match: int | None = None, project: str | None = None) -> Call[Operation]:
    """End the job: SIGTERM, its grace period, SIGKILL to every descendant."""
    return _operate("cancel", job, Operate(reason=reason), if_match, project)


def suspend(job: str, *, reason: str = "", if_match: int | None = None, project: str | None = None) -> Call[Operation]:
    """Save a checkpoint, end the processes, keep the job."""
    return _operate("suspend", job, Operate(reason=reason), if_match, project)


def resume(job: str, *, reason: str = "", if_match: int | None = None, project: str | None = None) -> Call[Operation]:
    """Start a suspended job again, from its newest verified checkpoint."""
    return _operate("resume", job, Operate(reason=reason), if_match, project)


def extend(
    job: str, by: str, *, reason: str = "", if_match: int | None = None, project: str | None = None
) -> Call[Operation]:
    """Give the job more running time: `by` is a duration such as `30m`."""
    return _operate("extend", job, ExtendJob(by=by, reason=reason), if_match, project)


def reprioritise(
    job: str, priority: int, *, reason: str = "", if_match: int | None = None, project: str | None = None
) -> Call[Operation]:
    """Let the job go before or behind others of its class: `priority` is from 0 to 100, and more goes first."""
    return _operate("reprioritise", job, ReprioritiseJob(priority=priority, reason=reason), if_match, project)


def resize(
    job: str, nodes: int, *, reason: str = "", if_match: int | None = None, project: str | None = None
) -> Call[Operation]:
    """Let an elastic job run on so many nodes, within its bounds: it saves, stops, and goes on from its step."""
    return _operate("resize", job, ResizeJob(nodes=nodes, reason=reason), if_match, project)


def checkpoint(
    job: str, *, reason: str = "", if_match: int | None = None, project: str | None = None
) -> Call[Operation]:
    """Ask the running job to save now."""
    return _operate("checkpoint", job, Operate(reason=reason), if_match, project)


def clone(
    job: str,
    *,
    name: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    from_step: int | None = None,
    project: str | None = None,
) -> Call[JobView]:
    """Submit the stored document and snapshot again, with changes if wanted, from a checkpoint if wanted."""
    body = as_json(CloneJob(name=name, overrides=dict(overrides or {}), from_step=from_step))
    path = f"/v1/jobs/{segment(job)}:clone"
    read = reading(JobView)
    return Call("jobs.clone", "POST", path, read, body=body, content_type=JSON, project=project, keyed=True)


def _document(
    verb: str,
    path: str,
    answer: type[M],
    body: SubmitJob,
    project: str | None,
    query: Mapping[str, Any] | None = None,
    *,
    keyed: bool = False,
) -> Call[M]:
    return Call(
        f"jobs.{verb}",
        "POST",
        path,
        reading(answer),
        query or {},
        body=as_json(body),
        content_type=JSON,
        project=project,
        keyed=keyed,
    )


def _operate(
    verb: str,
    job: str,
    body: Operate | ExtendJob | ReprioritiseJob | ResizeJob,
    if_match: int | None,
    project: str | None,
) -> Call[Operation]:
    return Call(
        f"jobs.{verb}",
        "POST",
        f"/v1/jobs/{segment(job)}:{verb}",
        reading(Operation),
        body=as_json(body),
        content_type=JSON,
        headers=_matching(if_match),
        project=project,
        keyed=True,
    )


def _matching(generation: int | None) -> dict[str, str]:
    return {} if generation is None else {"if-match": f'"{generation}"'}
