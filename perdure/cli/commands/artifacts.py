"""The files that a job left to be kept."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command, group

FilePath = Annotated[str, typer.Argument(metavar="PATH", help="Path of the artifact, as `list` shows it.")]


def register(app: typer.Typer) -> None:
    """Add the noun to `perdure jobs`."""
    artifacts = group(
        app, "artifacts", "Files that a job left in its artifacts folder.", "perdure jobs artifacts list digits"
    )
    command(artifacts, "list", "perdure jobs artifacts list digits --json path,sha256", shows="ArtifactView")(list_)
    command(artifacts, "get", "perdure jobs artifacts get digits model/weights.npz --to weights.npz")(get)
    command(artifacts, "delete", "perdure jobs artifacts delete digits model/weights.npz -y")(delete)


def list_(
    job: given.Job,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List the files that a job left, with their digests."""
    from perdure.cli.lists import show_list
    from perdure.cli.shapes import ARTIFACT
    from perdure.client.operations import history

    with session.client(project) as client:
        make = partial(history.artifacts, job)
        show_list(client, Out.of(json, output), ARTIFACT, make, limit=limit, cursor=cursor, whole=whole)


def get(
    job: given.Job,
    path: FilePath,
    to: Annotated[str | None, typer.Option(metavar="FILE", help="File to write, `-` for standard output.")] = None,
    attempt: given.Attempt = None,
    project: given.Project = None,
) -> None:
    """Fetch one of the files. It is checked against its digest, and never written over a file that is there."""
    from perdure.cli import fetching
    from perdure.cli.humane import count
    from perdure.cli.terminal import say

    with session.client(project) as client:
        run = client.attach(job)
        if to == "-":
            fetching.print_file(run, path, attempt)
            return
        target = Path(to or Path(path).name)
        size = fetching.save(run, path, target, attempt)
        say(f"{target}: {count(size, 'byte', 'bytes')}, digest verified")


def delete(
    job: given.Job,
    path: FilePath,
    attempt: given.Attempt = None,
    yes: given.Yes = False,
    project: given.Project = None,
) -> None:
    """Remove one of the files for good."""
    from perdure.cli.terminal import say

    session.confirm(f"Delete artifact {path} of job {job}?", yes)
    with session.client(project) as client:
        client.jobs.delete_artifact(job, path, attempt=attempt)
    say(f"deleted {path}")
