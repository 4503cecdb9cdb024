"""`perdure run`: a job from a command, without a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.completion import reservations
from perdure.cli.output import Out
from perdure.cli.verb import command


class WorkdirMode(StrEnum):
    SNAPSHOT = "snapshot"
    LIVE = "live"
    NONE = "none"


class Mode(StrEnum):
    BATCH = "batch"
    SERVICE = "service"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        "run",
        "perdure run -- python train.py",
        "perdure run --nodes 2 --timeout 2h --checkpoint-every 5m --env LR=0.1 --follow -- python train.py",
        "perdure run --template finetune --set epochs=3 --wait",
        "perdure run --cluster north-1 --gpus 8 -- python train.py",
        "perdure run --queue research --gpus 1 -- python train.py",
        "perdure run --array 0-99%10 -- python train.py",
        "perdure run --after digits:any -- python train.py",
        shows="JobView",
        context_settings={"allow_interspersed_args": False},
    )(run)


def run(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Program and arguments, run with no shell between."),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Machines, or groups of processes on one.")] = None,
    processes_per_node: Annotated[int | None, typer.Option(min=1, help="Processes on each node.")] = None,
    cluster: given.OnCluster = None,
    image: Annotated[str | None, typer.Option(help="Image of its pods, on a cluster.")] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help="GPUs of each node.")] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Queue that it waits in.")] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=100, help="0 to 100; more goes first.")
    ] = None,
    priority_class: Annotated[str | None, typer.Option(metavar="NAME", help="Its priority class.")] = None,
    reservation: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Reservation that it runs in.", autocompletion=reservations),
    ] = None,
    array: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST-LAST[:STEP][%LIMIT]", help="One job per index, told by PERDURE_ARRAY_INDEX; LIMIT at once."
        ),
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOB[:ok|fail|any]",
            help="Begin when this job has succeeded, has failed (:fail), or has ended (:any); repeatable.",
            autocompletion=given.jobs,
        ),
    ] = None,
    framework: Annotated[str | None, typer.Option(help="Whose variables each process gets, such as pytorch.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="NAME=VALUE", help="Variable, or NAME=secret:SECRET; repeatable."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name; from the command when left out.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Label to select by; repeatable.")
    ] = None,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Longest running time, such as 2h.")] = None,
    retries: Annotated[int | None, typer.Option(min=0, help="Most attempts after the first.")] = None,
    checkpoint_every: Annotated[str | None, typer.Option(metavar="TIME", help="How often it is asked to save.")] = None,
    grace: Annotated[str | None, typer.Option(metavar="TIME", help="Time between SIGTERM and SIGKILL.")] = None,
    hang_after: Annotated[
        str | None, typer.Option(metavar="TIME", help="An attempt that reports nothing for so long is hung.")
    ] = None,
    workdir: Annotated[
        WorkdirMode | None, typer.Option(help="Run in a copy of this folder, in the folder itself, or in an empty one.")
    ] = None,
    mode: Annotated[Mode | None, typer.Option(help="A batch job ends; a service runs until it is stopped.")] = None,
    readiness_file: Annotated[str | None, typer.Option(help="Ready when this file is in the run folder.")] = None,
    readiness_tcp: Annotated[int | None, typer.Option(metavar="PORT", help="Ready when this port accepts.")] = None,
    readiness_http: Annotated[
        int | None, typer.Option(metavar="PORT", help="Ready when this port answers 2xx.")
    ] = None,
    readiness_path: Annotated[str | None, typer.Option(help="Path to ask --readiness-http for.")] = None,
    template: Annotated[
        str | None, typer.Option(help="Template to run instead of a command.", autocompletion=given.templates)
    ] = None,
    template_version: Annotated[int | None, typer.Option(min=1, help="Its version; the newest when left out.")] = None,
    set_values: given.SetValues = None,
    follow: given.Follow = False,
    wait: given.Wait = False,
    propagate_exit: given.PropagateExit = False,
    dry_run: given.DryRun = False,
    yes: given.Yes = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Run a command as a job, in a copy of the present folder. Shows the plan first, on standard error.

    On a terminal it asks before it submits. Ctrl-C while it follows or waits leaves the job running.
    """
    from perdure.cli import submitting
    from perdure.cli.array_words import array_of
    from perdure.cli.job_document import Flags, check_command
    from perdure.cli.naming import body_for

    flags = Flags(
        command=command or (),
        name=name,
        labels=session.pairs("--label", label),
        env=session.pairs("--env", env),
        nodes=nodes,
        processes_per_node=processes_per_node,
        cluster=cluster,
        image=image,
        gpus=gpus,
        queue=queue,
        priority=priority,
        priority_class=priority_class,
        reservation=reservation,
        array=array_of(array),
        after=after or (),
        framework=framework,
        timeout=timeout,
        retries=retries,
        checkpoint_every=checkpoint_every,
        grace=grace,
        hang_after=hang_after,
        workdir=workdir.value if workdir else None,
        mode=mode.value if mode else None,
        readiness_file=readiness_file,
        readiness_tcp=readiness_tcp,
        readiness_http=readiness_http,
        readiness_path=readiness_path,
    )
    check_command(flags, template, {"--set": set_values, "--template-version": template_version})
    then = submitting.After(follow=follow, wait=wait, propagate_exit=propagate_exit)
    with session.client(project) as client:
        body = body_for(client, flags, template, template_version, session.pairs("--set", set_values))
        status = submitting.submit(client, body, Out.of(json, output), then, dry_run=dry_run, yes=yes)
    raise typer.Exit(status)
