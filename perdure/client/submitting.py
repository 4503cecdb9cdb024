"""From a document and a folder to an accepted job: the folder is looked at, kept, and named in the submit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml

from perdure.client._models import (
    BaseEnv,
    CreateSchedule,
    GitState,
    JobView,
    Plan,
    Rendered,
    ScheduleView,
    Submission,
    SubmitJob,
    TemplateUse,
)
from perdure.client.documents import Document, body_of
from perdure.client.operations import catalog, jobs
from perdure.client.script import Script, Work
from perdure.codes import CHANGING_FILE
from perdure.errors import SnapshotRefused
from perdure.order import dependencies
from perdure.snapshot import Limits, Snapshot, limits_from, take

Progress = Callable[[str, int, int], None]  # (what is being done, bytes done, bytes in all)
CARRIED = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX")
TRIES = 3  # to keep a folder that is being worked in


B = TypeVar("B", SubmitJob, CreateSchedule)


@dataclass(frozen=True)
class Draft(Generic[B]):
    """What has not been sent yet. `snapshot` is None when no copy of a folder is wanted."""

    body: B
    project: str | None
    snapshot: Snapshot | None = None
    limits: Limits = field(default_factory=Limits)


def request(
    document: Document | None,
    *,
    template: str | None = None,
    version: int | None = None,
    values: Mapping[str, Any] | None = None,
    name: str | None = None,
    after: Sequence[str] = (),
    where: str = "after",
) -> SubmitJob:
    """The body of a submit: a document, or a template with values. The folder is added by `drafting`.

    `after`: jobs to wait for, besides those that the document names; PD-2901 about `where` when one does not read so.
    """
    fields: dict[str, Any] = {"name": name} if name else {}
    if after:
        fields["after"] = dependencies(after, where)
    if template is not None:
        fields["template"] = TemplateUse(name=template, version=version, values=dict(values or {}))
    else:
        fields |= body_of(document if document is not None else {})
    return SubmitJob(**fields)


def drafting(
    body: SubmitJob,
    *,
    folder: Path | None = None,
    project: str | None = None,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
) -> Script[Draft[SubmitJob]]:
    """Add to a submit where it comes from. Looks at the folder when the job wants a copy of it; writes nothing.

    `folder` is the present one when left out. Raises SnapshotRefused when it cannot be kept.
    """
    document = body.document
    if document is None:  # text and templates are read by the API, which knows how
        rendered: Rendered = yield jobs.render(body, project=project)
        document = rendered.document
    origin = _Origin(folder, os.environ if environment is None else environment, progress)
    return (yield from _located(Draft(body, project), document, origin))


def scheduling(
    document: Document,
    *,
    folder: Path | None = None,
    project: str | None = None,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
) -> Script[Draft[CreateSchedule]]:
    """The same for a schedule, whose jobs all run in the copy that is kept now."""
    fields = body_of(document)
    whole = fields["document"] if "document" in fields else _loosely_read(fields["text"])
    spec = whole.get("spec") if isinstance(whole, dict) else None
    job = spec.get("job") if isinstance(spec, dict) else None
    origin = _Origin(folder, os.environ if environment is None else environment, progress)
    draft = Draft(CreateSchedule(**fields), project)
    return (yield from _located(draft, job if isinstance(job, dict) else None, origin))


def planning(draft: Draft[SubmitJob]) -> Script[Plan]:
    """What sending the draft would do. Writes nothing."""
    plan: Plan = yield jobs.plan(draft.body, project=draft.project)
    return plan


def sending(draft: Draft[SubmitJob], progress: Progress | None = None) -> Script[JobView]:
    """Keep the folder unless it is kept already, then submit. A folder that changed meanwhile is taken anew."""
    draft = yield from keeping(draft, progress)
    view: JobView = yield jobs.submit(draft.body, project=draft.project)
    return view


def creating(draft: Draft[CreateSchedule], progress: Progress | None = None) -> Script[ScheduleView]:
    """The same for a schedule."""
    draft = yield from keeping(draft, progress)
    view: ScheduleView = yield catalog.create_schedule(draft.body, project=draft.project)
    return view


def keeping(draft: Draft[B], progress: Progress | None = None) -> Script[Draft[B]]:
    """Upload the draft's snapshot unless the API has it. Returns the draft, naming the snapshot that is kept now."""
    for attempt in range(1, TRIES + 1):
        snapshot = draft.snapshot
        if snapshot is None or (yield catalog.head_snapshot(snapshot.sha256, project=draft.project)):
            return draft
        try:
            yield from _uploading(snapshot, draft.project, progress)
        except SnapshotRefused as refusal:
            if refusal.code != CHANGING_FILE.code or attempt == TRIES:
                raise
            draft = yield from _retaken(draft, snapshot, progress)
        else:
            return draft
    return draft


@dataclass(frozen=True)
class _Origin:
    """Where something is submitted from."""

    folder: Path | None
    environment: Mapping[str, str]
    progress: Progress | None


def _located(draft: Draft[B], job: Mapping[str, Any] | None, origin: _Origin) -> Script[Draft[B]]:
    """The draft with its submission, and with a snapshot of the folder that the job document asks for."""
    here = (origin.folder or Path.cwd()).resolve()
    wanted = _wanted_folder(job, Path(draft.body.source).resolve().parent if draft.body.source else here, here)
    limits = limits_from(origin.environment)
    snapshot: Snapshot | None = None
    if wanted is not None:
        snapshot = yield Work(lambda: take(wanted, limits=limits, progress=_told(origin.progress, "reading")))
    submission = Submission(base_env=_base_env(origin.environment), cwd=str(wanted or here))
    body = draft.body.model_copy(update={"submission": submission})
    return _named(Draft(body, draft.project, None, limits), snapshot)


def _wanted_folder(job: Mapping[str, Any] | None, beside: Path, here: Path) -> Path | None:
    """The folder that a job document wants a copy of: `beside` its file when it names one, else the present one."""
    spec = job.get("spec") if job is not None else None
    if not isinstance(spec, Mapping):
        return None
    workdir = spec.get("workdir")
    asked = workdir if isinstance(workdir, Mapping) else {}
    if asked.get("mode", "snapshot") != "snapshot" or asked.get("snapshot"):
        return None
    return beside / asked["path"] if isinstance(asked.get("path"), str) else here


def _loosely_read(text: str) -> Any:
    """What YAML text holds, as far as it can be read. Nothing is judged here: the API reads it again, and strictly."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _retaken(draft: Draft[B], before: Snapshot, progress: Progress | None) -> Script[Draft[B]]:
    snapshot = yield Work(lambda: take(before.root, limits=draft.limits, progress=_told(progress, "reading again")))
    return _named(draft, snapshot)


def _uploading(snapshot: Snapshot, project: str | None, progress: Progress | None) -> Script[None]:
    with tempfile.TemporaryDirectory(prefix="perdure-snapshot-") as folder:
        archive = Path(folder, "snapshot.tar.gz")
        yield Work(lambda: _pack(snapshot, archive, progress))
        yield catalog.put_snapshot(snapshot.sha256, archive, project=project)


def _pack(snapshot: Snapshot, archive: Path, progress: Progress | None) -> None:
    with archive.open("wb") as target:
        snapshot.pack(target, _told(progress, "packing"))


def _named(draft: Draft[B], snapshot: Snapshot | None) -> Draft[B]:
    """The draft, saying which snapshot it uses and where that stood in git."""
    if snapshot is None:
        return draft
    where: dict[str, Any] = {"snapshot": snapshot.sha256}
    if snapshot.git is not None:
        where["git"] = GitState(**snapshot.git.as_json())
    submission = (draft.body.submission or Submission()).model_copy(update=where)
    return replace(draft, body=draft.body.model_copy(update={"submission": submission}), snapshot=snapshot)


def _base_env(given: Mapping[str, str]) -> BaseEnv:
    return BaseEnv(**{name: given[name] for name in CARRIED if name in given})


def _told(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(what, done, total)
