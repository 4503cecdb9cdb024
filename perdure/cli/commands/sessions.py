"""Sessions with running ranks: a program beside one, and ports of one."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.verb import command

Rank = Annotated[int, typer.Option("--rank", min=0, help="Which rank of the job.")]
Interactive = Annotated[bool, typer.Option("--stdin", "-i", help="Pass standard input on to the program.")]
Terminal = Annotated[bool, typer.Option("--tty", "-t", help="Give the program a terminal; needs one here too.")]
Program = Annotated[list[str], typer.Argument(metavar="PROGRAM...", help="Program and arguments, behind --.")]
Ports = Annotated[list[str], typer.Argument(metavar="[LOCAL:]PORT...", help="Port of the rank, and of this machine.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to `perdure jobs`."""
    command(
        app,
        "exec",
        "perdure jobs exec digits -- env",
        "perdure jobs exec -it digits --rank 0 -- sh",
    )(exec_)
    command(app, "port-forward", "perdure jobs port-forward digits 6006", "perdure jobs port-forward digits 8080:80")(
        port_forward
    )


def exec_(
    job: given.Job,
    program: Program,
    rank: Rank = 0,
    stdin: Interactive = False,
    tty: Terminal = False,
    project: given.Project = None,
) -> None:
    """Run a program beside a running rank: in its environment, its folder, its pod. Its exit code becomes this one's.

    Who may operate a job may do this. The job's events say who did, what was run, and how it ended.
    """
    from perdure.cli import exec_session

    with session.client(project) as client:
        status = exec_session.run(client, job, program, rank=rank, stdin=stdin, tty=tty)
    raise typer.Exit(status)


def port_forward(job: given.Job, ports: Ports, rank: Rank = 0, project: given.Project = None) -> None:
    """Reach ports of a running rank from this machine, until interrupted: http://127.0.0.1:PORT.

    Port 0 of this machine stands for any that is free. Each connection is a session of its own in the job's events.
    """
    from perdure.cli import forwarding

    wanted = session.argument("PORT", lambda: [forwarding.pair(word) for word in ports])
    with session.client(project) as client:
        forwarding.run(client, job, wanted, rank=rank)
