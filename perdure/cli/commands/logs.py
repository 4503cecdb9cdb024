"""The logs of a job."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command


def register(app: typer.Typer) -> None:
    """Add the verb to `perdure jobs`."""
    command(
        app, "logs", "perdure jobs logs digits --tail 100", "perdure jobs logs digits -f --rank 0", shows="LogLineView"
    )(logs)


def logs(
    job: given.Job,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
    since: given.Since = None,
    tail: Annotated[
        int | None, typer.Option(min=0, max=10_000, help="Begin with each rank's last so many lines.")
    ] = None,
    rank: Annotated[int | None, typer.Option(min=0, help="Only this rank; else all, merged by time.")] = None,
    attempt: given.Attempt = None,
    timestamps: Annotated[bool, typer.Option("--timestamps", "-t", help="Put the time in front of each line.")] = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Print the log lines of a job's newest attempt, or of the one that is named. Secrets are masked."""
    from perdure.cli.following import detaching, print_logs
    from perdure.cli.shapes import LOG

    out = Out.of(json, output)
    begin = session.since(since)
    with session.client(project) as client:
        run = client.attach(job)
        lines = run.logs(
            follow=follow, rank=rank, attempt=attempt, tail=tail, since=begin, timestamps=timestamps or not out.is_table
        )
        with detaching(run.view.name, run.id):
            if out.is_table:
                print_logs(lines, ranks=1 if rank is not None else run.view.ranks, timestamps=timestamps)
            else:
                out.stream(lines, LOG)
