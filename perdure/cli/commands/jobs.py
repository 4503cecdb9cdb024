"""Jobs: list, show, why, wait, clone, delete."""

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
    command(app, "list", "perdure jobs list --phase Running --selector team=vision --json name,phase", shows="JobView")(
        list_
    )
    command(app, "show", "perdure jobs show digits", "perdure jobs show digits --json phase,reason", shows="JobView")(
        show
    )
    command(app, "children", "perdure jobs children sweep --phase Failed", shows="JobView")(children)
    command(app, "why", "perdure jobs why digits", shows="Why")(why)
    command(app, "objects", "perdure jobs objects tuned", shows="ObjectsDiff")(objects)
    command(app, "wait", "perdure jobs wait digits --timeout 2h", shows="JobView")(wait)
    command(app, "clone", "perdure jobs clone digits --set spec.timeout=4h --from-step 1200", shows="JobView")(clone)
    command(app, "delete", "perdure jobs delete digits -y")(delete)


def list_(
    phase: Annotated[
        list[given.PhaseName] | None, typer.Option(case_sensitive=False, help="Only these phases; repeatable.")
    ] = None,
    selector: Annotated[
        str | None, typer.Option("--selector", "-l", metavar="LABELS", help="Such as team=vision,stage!=test,gpu.")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Only jobs of this person.")] = None,
    name: Annotated[str | None, typer.Option(help="Only jobs of this name.")] = None,
    cluster: Annotated[str | None, typer.Option(metavar="NAME", help="Only jobs on this cluster.")] = None,
    template: Annotated[str | None, typer.Option(help="Only jobs of this template.")] = None,
    schedule: Annotated[str | None, typer.Option(help="Only jobs of this schedule.")] = None,
    array: Annotated[str | None, typer.Option(metavar="JOB", help="Only jobs of this array.")] = None,
    with_children: Annotated[bool, typer.Option("--children", help="Jobs of arrays too.")] = False,
    since: given.Since = None,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on with every job that changes.")] = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List jobs, newest first. An array stands for its jobs, unless these are asked for."""
    from perdure.cli.lists import changes, show_list
    from perdure.cli.shapes import JOB
    from perdure.client.operations import jobs
    from perdure.client.phases import phases

    out = Out.of(json, output)
    make = partial(
        jobs.list_jobs,
        phase=phases(phase),
        selector=selector,
        owner=owner,
        since=session.since(since),
        template=template,
        schedule=schedule,
        name=name,
        cluster=cluster,
        array=array,
        children=True if with_children else None,
    )
    with session.client(project) as client:
        if not watch:
            show_list(client, out, JOB, make, limit=limit, cursor=cursor, whole=whole)
            return
        look = partial(lambda: client.call(make(limit=limit or 500)).items)
        out.stream(changes(look, lambda job: (job.id, job.generation, job.step, str(job.array))), JOB)


def children(
    job: given.Job,
    phase: Annotated[
        list[given.PhaseName] | None, typer.Option(case_sensitive=False, help="Only these phases; repeatable.")
    ] = None,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List the jobs of an array, by index."""
    from perdure.cli.lists import show_list
    from perdure.cli.shapes import JOB
    from perdure.client.operations import jobs
    from perdure.client.phases import phases

    make = partial(jobs.children, job, phase=phases(phase))
    with session.client(project) as client:
        show_list(client, Out.of(json, output), JOB, make, limit=limit, cursor=cursor, whole=whole)


def show(
    job: given.Job,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on with every change until the job has ended.")
    ] = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Show a job: where it is, why, and the link to its workflow in the engine's web UI."""
    from perdure.cli.following import watched
    from perdure.cli.shapes import JOB

    out = Out.of(json, output)
    with session.client(project) as client:
        if watch:
            out.stream(watched(client, job), JOB)
        else:
            out.one(client.jobs.get(job), JOB)


def why(job: given.Job, project: given.Project = None, json: given.Json = None, output: given.Output = None) -> None:
    """Say why a job is where it is: the reason stored with the decision, the last lines, and what would help."""
    from perdure.cli.explaining import WHY

    with session.client(project) as client:
        Out.of(json, output).one(client.jobs.why(job), WHY)


def objects(
    job: given.Job, project: given.Project = None, json: given.Json = None, output: given.Output = None
) -> None:
    """Compare the objects of a job on a cluster with what was made: what people or the cluster changed."""
    from perdure.cli.cluster_shapes import OBJECTS_DIFF

    with session.client(project) as client:
        Out.of(json, output).one(client.jobs.objects_diff(job), OBJECTS_DIFF)


def wait(
    job: given.Job,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Longest wait, such as 2h: exit code 7.")] = None,
    propagate_exit: given.PropagateExit = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Wait until a job has ended: exit code 0 when it succeeded, 1 when it failed or was cancelled."""
    from perdure.cli import following
    from perdure.cli.humane import duration
    from perdure.cli.shapes import JOB

    longest = session.argument("--timeout", lambda: duration(timeout).total_seconds() if timeout else None)
    with session.client(project) as client:
        run = client.attach(job)
        view = following.wait(run, longest)
        Out.of(json, output).one(view, JOB)
    raise typer.Exit(following.exit_code(view, propagate=propagate_exit))


def clone(
    job: given.Job,
    name: Annotated[str | None, typer.Option(help="Name of the new job; the old one when left out.")] = None,
    set_values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change of the document, such as spec.nodes=4; repeatable."),
    ] = None,
    from_step: Annotated[int | None, typer.Option(min=0, help="Begin at the checkpoint of this step.")] = None,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Submit a job's stored document and snapshot again, with changes if wanted."""
    from perdure.cli.overrides import overrides
    from perdure.cli.shapes import JOB

    with session.client(project) as client:
        view = client.jobs.clone(job, name=name, overrides=overrides(set_values), from_step=from_step)
        Out.of(json, output).one(view, JOB)


def delete(job: given.Job, yes: given.Yes = False, project: given.Project = None) -> None:
    """Delete an ended job with its logs, checkpoints and artifacts; an array with its jobs."""
    from perdure.cli.terminal import say

    session.confirm(f"Delete job {job} with all it left?", yes)
    with session.client(project) as client:
        client.jobs.delete(job)
    say(f"deleted job {job}")
