"""Documents: apply, validate, render, diff."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command


def register(app: typer.Typer) -> None:
    """Add these commands."""
    command(app, "apply", "perdure apply -f job.yaml", "perdure apply -f job.yaml --wait", shows="JobView")(apply)
    command(app, "validate", "perdure validate -f job.yaml", shows="Validation")(validate)
    command(
        app,
        "render",
        "perdure render -f job.yaml > whole.yaml",
        "perdure render -f job.yaml --cluster north-1",
        shows="Rendered",
    )(render)
    command(app, "diff", "perdure diff -f job.yaml", shows="Diff")(diff)


def apply(
    file: given.File,
    follow: given.FollowBesideFile = False,
    wait: given.Wait = False,
    propagate_exit: given.PropagateExit = False,
    dry_run: given.DryRun = False,
    yes: given.Yes = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Submit what a file describes, unless the live job of that name is this very one.

    A live job of that name that differs is a conflict, which lists the fields. The file may also hold a template or a
    schedule; or documents of the scheduler (queues, flavors, priority classes, topologies, node pools,
    reservations), which are stored together or not at all. The plan is shown first, on standard error.
    """
    from perdure.cli import submitting

    out = Out.of(json, output)
    after = submitting.After(follow=follow, wait=wait, propagate_exit=propagate_exit)
    with session.client(project) as client:
        status = submitting.apply(client, file, out, after, dry_run=dry_run, yes=yes)
    raise typer.Exit(status)


def validate(
    file: given.File, project: given.Project = None, json: given.Json = None, output: given.Output = None
) -> None:
    """Check a file as `apply` would: every fault with its line, and what to write instead.

    The file may hold a job, a template, a schedule, or documents of the scheduler.
    """
    from perdure.cli.document_views import VALIDATION, validated

    with session.client(project) as client:
        Out.of(json, output).one(validated(client, file), VALIDATION)


def render(
    file: given.File,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="NAME", help="Print the very objects on this cluster, which it would take."),
    ] = None,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Print a job's document with every default filled in; or with --cluster the objects that it would be there."""
    from perdure.cli.cluster_shapes import OBJECTS
    from perdure.cli.template_view import RENDERED
    from perdure.client.submitting import request

    with session.client(project) as client:
        out = Out.of(json, output)
        if cluster is not None:
            out.one(client.jobs.objects(request(file), cluster=cluster), OBJECTS)
        else:
            out.one(client.jobs.render(request(file)), RENDERED)


def diff(file: given.File, project: given.Project = None, json: given.Json = None, output: given.Output = None) -> None:
    """Compare a job's file, and the folder it would run in, with the newest job of its name.

    Documents of the scheduler are compared with those that are stored under their names.
    """
    from perdure.cli.document_views import DIFF
    from perdure.cli.scheduling_shapes import CHANGES
    from perdure.client.documents import of_scheduler
    from perdure.client.submitting import drafting, request

    with session.client(project) as client:
        if of_scheduler(file):
            Out.of(json, output).one(client.scheduling_documents.diff(file), CHANGES)
            return
        draft = client.run(drafting(request(file)))
        Out.of(json, output).one(client.jobs.diff(draft.body), DIFF)
