"""What a job leaves behind: events, attempts, checkpoints, metrics."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command


def register(app: typer.Typer) -> None:
    """Add these verbs to `perdure jobs`."""
    command(
        app,
        "events",
        "perdure jobs events digits --since 1h",
        "perdure jobs events digits -f --json",
        shows="EventView",
    )(events)
    command(app, "attempts", "perdure jobs attempts digits", shows="AttemptView")(attempts)
    command(app, "checkpoints", "perdure jobs checkpoints digits --json step,complete", shows="CheckpointView")(
        checkpoints
    )
    command(app, "metrics", "perdure jobs metrics digits --name loss", shows="MetricSeries")(metrics)


def events(
    job: given.Job,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", "--watch", "-w", help="Go on with every event until the job has ended.")
    ] = False,
    since: given.Since = None,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Show what happened to a job, who did it and why; oldest first."""
    from perdure.cli.following import detaching
    from perdure.cli.lists import show_list
    from perdure.cli.shapes import EVENT
    from perdure.client.operations import history

    out = Out.of(json, output)
    begin = session.since(since)
    with session.client(project) as client:
        if not follow:
            show_list(
                client, out, EVENT, partial(history.events, job, since=begin), limit=limit, cursor=cursor, whole=whole
            )
            return
        run = client.attach(job)
        with detaching(run.view.name, run.id):
            out.stream((event for event in run.events(follow=True) if begin is None or event.at >= begin), EVENT)


def attempts(
    job: given.Job,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List every run of a job, with how it ended and where it began and got to."""
    from perdure.cli.lists import show_list
    from perdure.cli.shapes import ATTEMPT
    from perdure.client.operations import history

    with session.client(project) as client:
        make = partial(history.attempts, job)
        show_list(client, Out.of(json, output), ATTEMPT, make, limit=limit, cursor=cursor, whole=whole)


def checkpoints(
    job: given.Job,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List a job's saved states as the platform judged them, newest step first."""
    from perdure.cli.lists import show_list
    from perdure.cli.shapes import CHECKPOINT
    from perdure.client.operations import history

    with session.client(project) as client:
        make = partial(history.checkpoints, job)
        show_list(client, Out.of(json, output), CHECKPOINT, make, limit=limit, cursor=cursor, whole=whole)


def metrics(
    job: given.Job,
    name: Annotated[list[str] | None, typer.Option(metavar="METRIC", help="Only this metric; repeatable.")] = None,
    points: Annotated[int | None, typer.Option(min=2, max=5000, help="Most points of a series.")] = None,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Draw what a job reported of itself in progress.jsonl, by step.

    Each line there names its step, time, attempt and rank beside the metrics; lines that do not are left out.
    """
    from perdure.cli.lists import show_list
    from perdure.cli.shapes import METRIC
    from perdure.client.operations import history

    with session.client(project) as client:
        make = partial(history.metrics, job, name=name or None, points=points)
        show_list(client, Out.of(json, output), METRIC, make, limit=limit, cursor=cursor, whole=whole)
