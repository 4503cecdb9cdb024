"""How each kind of thing is shown: the columns of its table, the lines of its properties, its name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from perdure.cli.humane import ago, lasting, number, size, sparkline
from perdure.cli.output import Column, Shape

GOOD, BAD, BUSY, QUIET = "green", "red", "yellow", "dim"
PHASE_STYLE = {
    "Succeeded": GOOD,
    "Running": GOOD,
    "Failed": BAD,
    "Cancelled": QUIET,
    "Suspended": QUIET,
}


def _now() -> datetime:
    return datetime.now(UTC)


def ago_now(at: datetime | None) -> str:
    """A time as seen from now."""
    return ago(at, _now())


def _phase(text: str) -> str:
    return PHASE_STYLE.get(text, BUSY)


def _yes(text: str) -> str:
    return GOOD if text == "yes" else BAD


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _span(item: Any) -> str:
    """How long something ran, or has been running."""
    return lasting((item.ended_at or _now()) - item.started_at) if item.started_at else ""


def _local(at: datetime | None) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z") if at else ""


def _job_lines(job: Any) -> list[tuple[str, str]]:
    lines = [
        ("name", job.name),
        ("id", job.id),
        ("phase", job.phase),
        ("reason", job.reason),
        ("failure", _text(job.failure)),
        ("exit code", _text(job.exit_code)),
        ("attempt", f"{job.attempt} of {job.attempts} so far" if job.attempt else ""),
        ("ranks", f"{job.ranks} on {job.nodes} nodes, {job.gpus} GPUs"),
        ("progress", _progress(job)),
        ("checkpoint", f"step {job.checkpoint_step} verified" if job.checkpoint_step is not None else ""),
        ("next", f"attempt {ago_now(job.wake_at)}" if job.wake_at else ""),
        ("deadline", f"{_local(job.deadline)} ({ago_now(job.deadline)})" if job.deadline else ""),
        ("owner", f"{job.owner} in project {job.project}"),
        ("labels", ", ".join(f"{key}={value}" for key, value in job.labels.items())),
        ("from", _origin(job)),
        ("folder", _folder(job)),
        ("created", f"{_local(job.created_at)} ({ago_now(job.created_at)})"),
        ("ran", _span(job)),
        ("workflow", job.links.workflow),
    ]
    return [(name, _text(value)) for name, value in lines]


def _progress(job: Any) -> str:
    if job.progress is None or job.progress.step is None:
        return f"step {job.step}" if job.step is not None else ""
    seen = job.progress
    parts = [f"step {seen.step}"]
    parts += [f"{number(seen.rate)} steps/s"] if seen.rate else []
    parts += [f"done {ago_now(seen.eta)}"] if seen.eta else []
    parts += [f"{name} {number(value)}" for name, value in seen.metrics.items()]
    return ", ".join(parts)


def _origin(job: Any) -> str:
    found = [("template", job.template), ("schedule", job.schedule), ("clone of", job.cloned_from)]
    return ", ".join(f"{what} {value}" for what, value in found if value)


def _folder(job: Any) -> str:
    if not job.snapshot:
        return ""
    git = f", git {job.git.commit[:12]}{' with changes' if job.git.dirty else ''}" if job.git and job.git.commit else ""
    return f"snapshot {job.snapshot[:12]}{git}"


JOB = Shape(
    columns=(
        Column("NAME", lambda job: job.name),
        Column("PHASE", lambda job: job.phase, _phase),
        Column("ATTEMPT", lambda job: _text(job.attempt or "")),
        Column("STEP", lambda job: _text(job.step)),
        Column("RANKS", lambda job: _text(job.ranks)),
        Column("AGE", lambda job: lasting(_now() - job.created_at)),
        Column("RAN", _span),
        Column("OWNER", lambda job: job.owner),
        Column("ID", lambda job: job.id),
        Column("REASON", lambda job: job.reason),
    ),
    name=lambda job: job.name,
    lines=_job_lines,
)
ATTEMPT = Shape(
    columns=(
        Column("ATTEMPT", lambda each: _text(each.number)),
        Column("STARTED", lambda each: _local(each.started_at)),
        Column("RAN", _span),
        Column("FROM STEP", lambda each: _text(each.from_step)),
        Column("REACHED", lambda each: _text(each.reached_step)),
        Column("CHECKPOINT", lambda each: _text(each.checkpoint_step)),
        Column("EXIT", lambda each: f"signal {each.signal}" if each.signal else _text(each.exit_code)),
        Column("FIRST RANK", lambda each: _text(each.first_rank)),
        Column("FAILURE", lambda each: _text(each.failure), lambda text: BAD),
        Column("NODES", lambda each: ",".join(each.nodes)),
        Column("REASON", lambda each: each.reason),
    ),
    name=lambda each: str(each.number),
)
EVENT = Shape(
    columns=(
        Column("TIME", lambda event: _local(event.at)),
        Column("ACTOR", lambda event: event.actor),
        Column("KIND", lambda event: event.kind),
        Column("REASON", lambda event: event.reason),
    ),
    name=lambda event: str(event.seq),
)
CHECKPOINT = Shape(
    columns=(
        Column("STEP", lambda each: _text(each.step)),
        Column("COMPLETE", lambda each: "yes" if each.complete else "no", _yes),
        Column("ATTEMPT", lambda each: _text(each.attempt)),
        Column("SIZE", lambda each: size(each.bytes)),
        Column("FILES", lambda each: _text(each.files)),
        Column("SAVED", lambda each: ago_now(each.saved_at)),
        Column("DELETED", lambda each: ago_now(each.deleted_at)),
        Column("METRICS", lambda each: " ".join(f"{name}={number(value)}" for name, value in each.metrics.items())),
        Column("PROBLEM", lambda each: each.problem, lambda text: BAD),
    ),
    name=lambda each: each.folder,
)
ARTIFACT = Shape(
    columns=(
        Column("PATH", lambda each: each.path),
        Column("SIZE", lambda each: size(each.bytes)),
        Column("ATTEMPT", lambda each: _text(each.attempt)),
        Column("KEPT", lambda each: ago_now(each.created_at)),
        Column("SHA256", lambda each: each.sha256[:16]),
    ),
    name=lambda each: each.path,
)
OPERATION = Shape(
    columns=(
        Column("JOB", lambda each: each.job),
        Column("ASKED", lambda each: each.verb),
        Column("PHASE", lambda each: each.phase, _phase),
        Column("MESSAGE", lambda each: each.message),
    ),
    name=lambda each: each.job,
)
TEMPLATE = Shape(
    columns=(
        Column("NAME", lambda each: each.name),
        Column("VERSION", lambda each: _text(each.version)),
        Column("JOBS", lambda each: _text(each.jobs)),
        Column("PARAMETERS", lambda each: " ".join(p.name + ("*" if p.required else "") for p in each.parameters)),
        Column("CREATED", lambda each: ago_now(each.created_at)),
        Column("DESCRIPTION", lambda each: each.description),
    ),
    name=lambda each: each.name,
)
SECRET = Shape(
    columns=(
        Column("NAME", lambda each: each.name),
        Column("VERSION", lambda each: _text(each.version)),
        Column("CREATED", lambda each: ago_now(each.created_at)),
        Column("ROTATED", lambda each: ago_now(each.rotated_at)),
    ),
    name=lambda each: each.name,
)
ERROR = Shape(
    columns=(
        Column("CODE", lambda each: each.code),
        Column("EXIT", lambda each: _text(each.exit)),
        Column("TITLE", lambda each: each.title),
        Column("WHY", lambda each: each.why),
        Column("REMEDY", lambda each: each.remedy),
    ),
    name=lambda each: each.code,
)


def _calendar(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items() if value not in ("*", None))


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
        ("next runs", "\n".join(f"{_local(at)} ({ago_now(at)})" for at in each.next_runs)),
        ("last jobs", "\n".join(each.last_jobs)),
    ]
    return [(name, _text(value)) for name, value in lines]


SCHEDULE = Shape(
    columns=(
        Column("NAME", lambda each: each.name),
        Column("TIMES", lambda each: " | ".join([*each.cron, *map(_calendar, each.calendars)])),
        Column("TIME ZONE", lambda each: each.time_zone),
        Column("PAUSED", lambda each: "yes" if each.paused else "no"),
        Column("NEXT", lambda each: ago_now(each.next_runs[0]) if each.next_runs else ""),
        Column("OVERLAP", lambda each: each.overlap),
    ),
    name=lambda each: each.name,
    lines=schedule_lines,
)
SPARK_WIDTH = 40


def _values(series: Any) -> list[float]:
    return [point.value for point in series.points]


METRIC = Shape(
    columns=(
        Column("METRIC", lambda series: series.name),
        Column("STEPS", lambda series: f"{series.points[0].step}-{series.points[-1].step}" if series.points else ""),
        Column("POINTS", lambda series: str(len(series.points))),
        Column("FIRST", lambda series: number(_values(series)[0] if series.points else None)),
        Column("LAST", lambda series: number(_values(series)[-1] if series.points else None)),
        Column("LEAST", lambda series: number(min(_values(series), default=None))),
        Column("MOST", lambda series: number(max(_values(series), default=None))),
        Column("COURSE", lambda series: sparkline(_values(series), SPARK_WIDTH)),
    ),
    name=lambda series: series.name,
)
LOG = Shape(columns=(Column("LINE", lambda line: line.text),), name=lambda line: line.text)


def _accepted_lines(job: Any) -> list[tuple[str, str]]:
    return [
        ("name", job.name),
        ("id", job.id),
        ("phase", job.phase),
        ("reason", job.reason),
        ("workflow", job.links.workflow),
    ]


ACCEPTED = Shape(columns=JOB.columns, name=JOB.name, lines=_accepted_lines)
