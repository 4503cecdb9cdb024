"""Templates, secrets, schedules and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perdure.client._models import (
    CreateSchedule,
    JobView,
    Rendered,
    RenderTemplate,
    SchedulePage,
    ScheduleView,
    SecretPage,
    SecretView,
    SnapshotView,
    TemplatePage,
    TemplateView,
)
from perdure.client.call import Call, Reply, as_json, nothing, reading, segment
from perdure.client.documents import Document, body_of

JSON = "application/json"


def create_template(document: Document, *, dry_run: bool = False, project: str | None = None) -> Call[TemplateView]:
    """Store a template. A changed document under a name that is there becomes its next version.

    With `dry_run` nothing is stored; the version that it would be is told.
    """
    return Call(
        "templates.create",
        "POST",
        "/v1/templates",
        reading(TemplateView),
        {"dryRun": True if dry_run else None},
        body=as_json(body_of(document)),
        content_type=JSON,
        project=project,
        keyed=not dry_run,
    )


def list_templates(
    *, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[TemplatePage]:
    """Templates by name, the newest version of each."""
    page = {"limit": limit, "cursor": cursor}
    return Call("templates.list", "GET", "/v1/templates", reading(TemplatePage), page, project=project)


def get_template(name: str, *, version: int | None = None, project: str | None = None) -> Call[TemplateView]:
    """One template, with its parameters and the versions there are."""
    path = f"/v1/templates/{segment(name)}"
    return Call("templates.get", "GET", path, reading(TemplateView), {"version": version}, project=project)


def render_template(
    name: str, values: Mapping[str, Any] | None = None, *, version: int | None = None, project: str | None = None
) -> Call[Rendered]:
    """The job document that these values give."""
    body = as_json(RenderTemplate(values=dict(values or {}), version=version))
    path = f"/v1/templates/{segment(name)}:render"
    return Call("templates.render", "POST", path, reading(Rendered), body=body, content_type=JSON, project=project)


def delete_template(name: str, *, project: str | None = None) -> Call[None]:
    """Remove every version. Jobs that came from it keep their documents."""
    return Call("templates.delete", "DELETE", f"/v1/templates/{segment(name)}", nothing, project=project)


def create_secret(name: str, value: str, *, project: str | None = None) -> Call[SecretView]:
    """Keep a value, encrypted. It is never shown again."""
    return _secret("secrets.create", "/v1/secrets", {"name": name, "value": value}, project)


def rotate_secret(name: str, value: str, *, project: str | None = None) -> Call[SecretView]:
    """Replace the value. Attempts that start from now on get the new one."""
    return _secret("secrets.rotate", f"/v1/secrets/{segment(name)}:rotate", {"value": value}, project)


def list_secrets(
    *, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[SecretPage]:
    """Names of secrets, and when they last changed."""
    page = {"limit": limit, "cursor": cursor}
    return Call("secrets.list", "GET", "/v1/secrets", reading(SecretPage), page, project=project)


def delete_secret(name: str, *, project: str | None = None) -> Call[None]:
    """Remove the value. Jobs that name it can no longer start attempts."""
    return Call("secrets.delete", "DELETE", f"/v1/secrets/{segment(name)}", nothing, project=project)


def create_schedule(body: CreateSchedule, *, dry_run: bool = False, project: str | None = None) -> Call[ScheduleView]:
    """Store a schedule; it runs by the clock from now on. With `dry_run` nothing is stored; its next runs are told."""
    return Call(
        "schedules.create",
        "POST",
        "/v1/schedules",
        reading(ScheduleView),
        {"dryRun": True if dry_run else None},
        body=as_json(body),
        content_type=JSON,
        project=project,
        keyed=not dry_run,
    )


def list_schedules(
    *, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[SchedulePage]:
    """Schedules by name."""
    page = {"limit": limit, "cursor": cursor}
    return Call("schedules.list", "GET", "/v1/schedules", reading(SchedulePage), page, project=project)


def get_schedule(name: str, *, project: str | None = None) -> Call[ScheduleView]:
    """One schedule, with its next runs and its last jobs."""
    return Call("schedules.get", "GET", f"/v1/schedules/{segment(name)}", reading(ScheduleView), project=project)


def pause_schedule(name: str, *, project: str | None = None) -> Call[ScheduleView]:
    """Submit nothing until it is resumed."""
    return _operate("pause", name, project)


def resume_schedule(name: str, *, project: str | None = None) -> Call[ScheduleView]:
    """Run by the clock again. Times that passed meanwhile are not made up for."""
    return _operate("resume", name, project)


def trigger_schedule(name: str, *, project: str | None = None) -> Call[JobView]:
    """Submit its job once, now, even while it is paused."""
    path = f"/v1/schedules/{segment(name)}:trigger"
    return Call("schedules.trigger", "POST", path, reading(JobView), project=project, keyed=True)


def delete_schedule(name: str, *, project: str | None = None) -> Call[None]:
    """Remove a schedule. Jobs that it submitted go on."""
    return Call("schedules.delete", "DELETE", f"/v1/schedules/{segment(name)}", nothing, project=project)


def put_snapshot(sha256: str, archive: Path, *, project: str | None = None) -> Call[SnapshotView]:
    """Store the archive of a snapshot. Every file in it is checked against its manifest."""
    path = f"/v1/snapshots/{segment(sha256)}"
    read = reading(SnapshotView)
    return Call("snapshots.put", "PUT", path, read, file=archive, content_type="application/gzip", project=project)


def head_snapshot(sha256: str, *, project: str | None = None) -> Call[bool]:
    """Whether a snapshot is there already."""
    path = f"/v1/snapshots/{segment(sha256)}"
    return Call("snapshots.head", "HEAD", path, _found, project=project, answers=frozenset({404}))


def _found(reply: Reply) -> bool:
    return reply.status < 400


def _secret(operation: str, path: str, body: dict[str, str], project: str | None) -> Call[SecretView]:
    read = reading(SecretView)
    return Call(operation, "POST", path, read, body=as_json(body), content_type=JSON, project=project, keyed=True)


def _operate(verb: str, name: str, project: str | None) -> Call[ScheduleView]:
    path = f"/v1/schedules/{segment(name)}:{verb}"
    return Call(f"schedules.{verb}", "POST", path, reading(ScheduleView), project=project, keyed=True)
