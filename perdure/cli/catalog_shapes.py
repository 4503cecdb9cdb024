"""How templates, secrets, schedules and error codes are shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from perdure.cli.output import Column, Shape
from perdure.cli.shapes import ago_now, local, text

TEMPLATE = Shape(
    columns=(
        Column("NAME", lambda each: each.name),
        Column("VERSION", lambda each: text(each.version)),
        Column("JOBS", lambda each: text(each.jobs)),
        Column("PARAMETERS", lambda each: " ".join(p.name + ("*" if p.required else "") for p in each.parameters)),
        Column("CREATED", lambda each: ago_now(each.created_at)),
        Column("DESCRIPTION", lambda each: each.description),
    ),
    name=lambda each: each.name,
)
SECRET = Shape(
    columns=(
        Column("NAME", lambda each: each.name),
        Column("VERSION", lambda each: text(each.version)),
        Column("CREATED", lambda each: ago_now(each.created_at)),
        Column("ROTATED", lambda each: ago_now(each.rotated_at)),
    ),
    name=lambda each: each.name,
)
ERROR = Shape(
    columns=(
        Column("CODE", lambda each: each.code),
        Column("EXIT", lambda each: text(each.exit)),
        Column("TITLE", lambda each: each.title),
        Column("WHY", lambda each: each.why),
        Column("REMEDY", lambda each: each.remedy),
    ),
    name=lambda each: each.code,
)


def _calendar(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items() if value not in ("*", None))


def _there(at: datetime, zone: str) -> str:
    """A time as the schedule's own zone has it, where this machine knows that zone."""
    try:
        return at.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S %Z")
    except (ZoneInfoNotFoundError, ValueError):
        return local(at)


def schedule_lines(each: Any) -> list[tuple[str, str]]:
    """A schedule with its next runs, as properties."""
    lines = [
        ("name", each.name),
        ("cron", "\n".join(each.cron)),
        ("calendars", "\n".join(_calendar(at) for at in each.calendars)),
        ("time zone", each.time_zone),
        ("overlap", each.overlap),
        ("catch up", each.catch_up),
        ("jitter", each.jitter),
        ("paused", "yes" if each.paused else ""),
        ("owner", f"{each.owner} in project {each.project}"),
        ("next runs", "\n".join(f"{_there(at, each.time_zone)} ({ago_now(at)})" for at in each.next_runs)),
        ("last jobs", "\n".join(each.last_jobs)),
    ]
    return [(name, text(value)) for name, value in lines]


SCHEDULE = Shape(
    columns=(
        Column("NAME", lambda each: each.name),
        Column("TIMES", lambda each: " | ".join([*each.cron, *map(_calendar, each.calendars)])),
        Column("TIME ZONE", lambda each: each.time_zone),
        Column("PAUSED", lambda each: "yes" if each.paused else "no"),
        Column("NEXT", lambda each: ago_now(each.next_runs[0]) if each.next_runs and not each.paused else ""),
        Column("OVERLAP", lambda each: each.overlap),
    ),
    name=lambda each: each.name,
    lines=schedule_lines,
)
