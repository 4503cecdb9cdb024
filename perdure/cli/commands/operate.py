"""Requests to a job: cancel, suspend, resume, extend, reprioritise, resize, checkpoint now."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command


def register(app: typer.Typer) -> None:
    """Add these verbs to `perdure jobs`."""
    command(app, "cancel", "perdure jobs cancel digits -y --reason 'wrong data'", shows="Operation")(cancel)
    command(app, "suspend", "perdure jobs suspend digits --reason 'making room'", shows="Operation")(suspend)
    command(app, "resume", "perdure jobs resume digits", shows="Operation")(resume)
    command(app, "extend", "perdure jobs extend digits --by 30m", shows="Operation")(extend)
    command(app, "reprioritise", "perdure jobs reprioritise digits --priority 50", shows="Operation")(reprioritise)
    command(app, "resize", "perdure jobs resize digits --nodes 4", shows="Operation")(resize)
    command(app, "checkpoint", "perdure jobs checkpoint digits", shows="Operation")(checkpoint)


def cancel(
    job: given.Job,
    reason: given.Reason = "",
    yes: given.Yes = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """End a job: SIGTERM, its grace period, SIGKILL to every descendant. A cancelled job cannot be resumed."""
    session.confirm(f"Cancel job {job}?", yes)
    _ask("cancel", job, project, Out.of(json, output), reason=reason)


def suspend(
    job: given.Job,
    reason: given.Reason = "",
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Save a checkpoint, end the processes, keep the job. It goes on from there when it is resumed."""
    _ask("suspend", job, project, Out.of(json, output), reason=reason)


def resume(
    job: given.Job,
    reason: given.Reason = "",
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Start a suspended job again, from its newest verified checkpoint."""
    _ask("resume", job, project, Out.of(json, output), reason=reason)


def extend(
    job: given.Job,
    by: Annotated[str, typer.Option("--by", metavar="TIME", help="How much longer, such as 30m.")],
    reason: given.Reason = "",
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Give a job more running time before its timeout."""
    from perdure.cli.humane import duration

    session.argument("--by", lambda: duration(by))
    _ask("extend", job, project, Out.of(json, output), by=by, reason=reason)


def reprioritise(
    job: given.Job,
    priority: Annotated[
        int, typer.Option("--priority", metavar="N", min=0, max=100, help="0 to 100; more goes first.")
    ],
    reason: given.Reason = "",
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Let a job go before or behind others of its class, while it waits and when it waits again."""
    _ask("reprioritise", job, project, Out.of(json, output), priority=priority, reason=reason)


def resize(
    job: given.Job,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", min=1, help="Within the bounds of spec.elastic.")],
    reason: given.Reason = "",
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Let an elastic job run on so many nodes. One that runs saves, stops, and goes on from its step at that size."""
    _ask("resize", job, project, Out.of(json, output), nodes=nodes, reason=reason)


def checkpoint(
    job: given.Job,
    reason: given.Reason = "",
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Ask a running job to save now."""
    _ask("checkpoint", job, project, Out.of(json, output), reason=reason)


def _ask(verb: str, job: str, project: str | None, out: Out, **details: str | int) -> None:
    from perdure.cli.shapes import OPERATION

    with session.client(project) as client:
        out.one(getattr(client.jobs, verb)(job, **details), OPERATION)
