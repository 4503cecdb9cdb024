"""From a document and a folder to an accepted job: the folder is looked at, kept, and named in the submit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perdure.client._models import BaseEnv, GitState, JobView, Plan, Rendered, Submission, SubmitJob, TemplateUse
from perdure.client.documents import Document, body_of
from perdure.client.operations import catalog, jobs
from perdure.client.script import Script, Work
from perdure.codes import CHANGING_FILE
from perdure.errors import SnapshotRefused
from perdure.snapshot import Limits, Snapshot, limits_from, take

Progress = Callable[[str, int, int], None]  # (what is being done, bytes done, bytes in all)
CARRIED = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX")
TRIES = 3  # to keep a folder that is being worked in


@dataclass(frozen=True)
class Draft:
    """A submit that has not been sent. `snapshot` is None when the job uses no copy of a folder."""

    body: SubmitJob
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
) -> SubmitJob:
    """The body of a submit: a document, or a template with values. The folder is added by `drafting`."""
    fields: dict[str, Any] = {"name": name} if name else {}
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
) -> Script[Draft]:
    """Add to a submit where it comes from. Looks at the folder when the job wants a copy of it; writes nothing.

    `folder` is the present one when left out. Raises SnapshotRefused when it cannot be kept.
    """
    given = os.environ if environment is None else environment
    here = (folder or Path.cwd()).resolve()
    wanted = yield from _wanted_folder(body, here, project)
    limits = limits_from(given)
    snapshot: Snapshot | None = None
    if wanted is not None:
        snapshot = yield Work(lambda: take(wanted, limits=limits, progress=_told(progress, "reading")))
    submission = Submission(base_env=_base_env(given), cwd=str(wanted or here))
    draft = Draft(body.model_copy(update={"submission": submission}), project, None, limits)
    return _named(draft, snapshot)


def planning(draft: Draft) -> Script[Plan]:
    """What sending the draft would do. Writes nothing."""
    plan: Plan = yield jobs.plan(draft.body, project=draft.project)
    return plan


def sending(draft: Draft, progress: Progress | None = None) -> Script[JobView]:
    """Keep the folder unless it is kept already, then submit. A folder that changed meanwhile is taken anew."""
    draft = yield from keeping(draft, progress)
    view: JobView = yield jobs.submit(draft.body, project=draft.project)
    return view


def keeping(draft: Draft, progress: Progress | None = None) -> Script[Draft]:
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


def _retaken(draft: Draft, before: Snapshot, progress: Progress | None) -> Script[Draft]:
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


def _wanted_folder(body: SubmitJob, here: Path, project: str | None) -> Script[Path | None]:
    """The folder that the job wants a copy of, or None. Text and templates are read by the API, which knows how."""
    document = body.document
    if document is None:
        rendered: Rendered = yield jobs.render(body, project=project)
        document = rendered.document
    spec = document.get("spec")
    workdir = spec.get("workdir") if isinstance(spec, dict) else None
    asked = workdir if isinstance(workdir, dict) else {}
    if asked.get("mode", "snapshot") != "snapshot" or asked.get("snapshot"):
        return None
    base = Path(body.source).resolve().parent if body.source else here
    return base / asked["path"] if isinstance(asked.get("path"), str) else here


def _named(draft: Draft, snapshot: Snapshot | None) -> Draft:
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
