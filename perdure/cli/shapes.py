"""How each kind of thing is shown: the columns of its table, the lines of its properties, its name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from perdure.cli.array_words import array_brief, array_lines
from perdure.cli.humane import ago, count, lasting, number, size, sparkline
from perdure.cli.order_words import after_words
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


def text(value: Any) -> str:
    """A value as a cell; nothing for None."""
    return "" if value is None else str(value)


def _span(item: Any) -> str:
    """How long something ran, or has been running."""
    return lasting((item.ended_at or _now()) - item.started_at) if item.started_at else ""


def local(at: datetime | None) -> str:
    """A time in the zone of whoever looks, which is named."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z") if at else ""


def _job_lines(job: Any) -> list[tuple[str, str]]:
    lines = [
        ("name", job.name),
        ("id", job.id),
        ("phase", job.phase),
        ("reason", job.reason),
        ("failure", text(job.failure)),
        ("exit code", text(job.exit_code)),
        ("attempt", text(job.attempt or "")),
        *array_lines(job.array),
        ("array", f"index {job.array_index} of {job.parent}" if job.parent else ""),
        ("runs on", _size(job)),
        ("after", after_words(job.after)),
        ("progress", _progress(job)),
        ("checkpoint", f"step {job.checkpoint_step} verified" if job.checkpoint_step is not None else ""),
        ("next", f"attempt {ago_now(job.wake_at)}" if job.wake_at else ""),
        ("deadline", f"{local(job.deadline)} ({ago_now(job.deadline)})" if job.deadline else ""),
        ("owner", f"{job.owner} in project {job.project}"),
        ("labels", ", ".join(f"{key}={value}" for key, value in job.labels.items())),
        ("from", _origin(job)),
        ("folder", _folder(job)),
        ("created", f"{local(job.created_at)} ({ago_now(job.created_at)})"),
        ("ran", _span(job)),
        ("workflow", job.links.workflow),
    ]
    return [(name, text(value)) for name, value in lines]


def _reason(job: Any) -> str:
    """Of an array that is under way, where its jobs are; else the reason alone."""
    return text(job.reason) if job.array is None or job.ended_at is not None else array_brief(job.array)


def _size(job: Any) -> str:
    place = "" if job.cluster in (None, "local") else f" of cluster {job.cluster}"
    asked = "" if job.asked_nodes in (None, job.nodes) else f" ({job.asked_nodes} asked for)"
    ranks = f"{count(job.ranks, 'process', 'processes')} on {count(job.nodes, 'node', 'nodes')}{asked}{place}"
    return f"{ranks}, {count(job.gpus, 'GPU', 'GPUs')}{', as a service' if job.mode == 'service' else ''}"


def _progress(job: Any) -> str:
    if job.progress is None or job.progress.step is None:
        return f"step {job.step}" if job.step is not None else ""
    seen = job.progress
    parts = [f"step {seen.step}"]
    if job.ended_at is None:
        parts += [f"{seen.rate:.3g} steps/s"] if seen.rate else []
        parts += [f"done {ago_now(seen.eta)}"] if seen.eta and seen.eta > _now() else []
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
        Column("ATTEMPT", lambda job: text(job.attempt or "")),
        Column("STEP", lambda job: text(job.step)),
        Column("RANKS", lambda job: text(job.ranks), spare=True),
        Column("CLUSTER", lambda job: text(job.cluster), spare=True),
        Column("AGE", lambda job: lasting(_now() - job.created_at)),
        Column("RAN", _span),
        Column("OWNER", lambda job: job.owner, spare=True),
        Column("ID", lambda job: job.id, spare=True),
        Column("REASON", _reason),
    ),
    name=lambda job: job.name,
    lines=_job_lines,
)


def _ready(attempt: Any) -> str:
    """How many processes are ready and how often they were restarted, of what has not ended."""
    if attempt.ended_at is not None or not attempt.ranks:
        return ""
    restarts = sum(rank.restarts for rank in attempt.ranks)
    ready = f"{sum(bool(rank.ready) for rank in attempt.ranks)} of {len(attempt.ranks)}"
    return f"{ready}, {count(restarts, 'restart', 'restarts')}" if restarts else ready


def _nodes(attempt: Any) -> str:
    made_up = {rank.node for rank in attempt.ranks if rank.simulated}
    return ",".join(f"{node} (simulated)" if node in made_up else node for node in attempt.nodes)


ATTEMPT = Shape(
    columns=(
        Column("ATTEMPT", lambda each: text(each.number)),
        Column("STARTED", lambda each: local(each.started_at)),
        Column("RAN", _span),
        Column("FROM STEP", lambda each: text(each.from_step)),
        Column("REACHED", lambda each: text(each.reached_step)),
        Column("CHECKPOINT", lambda each: text(each.checkpoint_step), spare=True),
        Column("EXIT", lambda each: f"signal {each.signal}" if each.signal else text(each.exit_code)),
        Column("FIRST RANK", lambda each: text(each.first_rank), spare=True),
        Column("READY", _ready),
        Column("FAILURE", lambda each: text(each.failure), lambda text: BAD),
        Column("NODES", _nodes, spare=True),
        Column("REASON", lambda each: each.reason),
    ),
    name=lambda each: str(each.number),
)
EVENT = Shape(
    columns=(
        Column("TIME", lambda event: local(event.at)),
        Column("ACTOR", lambda event: event.actor),
        Column("KIND", lambda event: event.kind),
        Column("REASON", lambda event: event.reason),
    ),
    name=lambda event: str(event.seq),
)
CHECKPOINT = Shape(
    columns=(
        Column("STEP", lambda each: text(each.step)),
        Column("COMPLETE", lambda each: "yes" if each.complete else "no", _yes),
        Column("ATTEMPT", lambda each: text(each.attempt)),
        Column("SIZE", lambda each: size(each.bytes)),
        Column("FILES", lambda each: text(each.files)),
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
        Column("ATTEMPT", lambda each: text(each.attempt)),
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


SPARK_WIDTH = 40


def _values(series: Any) -> list[float]:
    return [point.value for point in series.points]


METRIC = Shape(
    columns=(
        Column("METRIC", lambda series: series.name),
        Column("STEPS", lambda series: f"{series.points[0].step}-{series.points[-1].step}" if series.points else ""),
        Column("POINTS", lambda series: str(len(series.points)), spare=True),
        Column("FIRST", lambda series: number(_values(series)[0] if series.points else None), spare=True),
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
