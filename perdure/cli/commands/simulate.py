"""Simulations: a trace of jobs on a cluster in virtual time, under one policy or several."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from perdure.cli import options as given
from perdure.cli.output import Out
from perdure.cli.verb import command


class Policy(StrEnum):
    """Policies as --policy takes them; a test holds them and the simulator's together."""

    PERDURE = "perdure"
    FIFO = "fifo"
    PRIORITY = "priority"
    EASY = "easy"
    FIRST_FIT = "first-fit"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        "simulate",
        "perdure simulate --trace jobs.csv --nodes 2 --policy fifo --policy easy",
        "perdure simulate --trace gavel --limit 300 --nodes 16 --policy easy --report report",
        "perdure simulate --trace jobs.csv --nodes 2 --policy easy --what-if nodes=+1 --job train-2",
    )(simulate)


def simulate(
    trace: Annotated[str, typer.Option(metavar="openb|gavel|FILE", help="Jobs: a known trace, CSV or JSON lines.")],
    policy: Annotated[
        list[Policy] | None,
        typer.Option(help="Who runs where and when: perdure when left out; repeat it to compare.", show_choices=True),
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="N|FILE", help="So many equal nodes, or a file of them; else the trace's own.")
    ] = None,
    gpus_per_node: Annotated[int, typer.Option(min=1, max=1024, help="GPUs of each equal node.")] = 8,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", metavar="FILE", help="Documents: queues, classes, pools of nodes, reservations."),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When second 0 of the trace is, for reservations: 2027-03-01T00:00:00Z."),
    ] = None,
    load: Annotated[float, typer.Option(min=0.001, max=1000, help="2 lets the jobs arrive twice as fast.")] = 1.0,
    limit: Annotated[int | None, typer.Option(min=1, metavar="JOBS", help="Only the first jobs.")] = None,
    overstated: Annotated[
        float,
        typer.Option(min=1, max=100, help="Jobs without a limit declare up to so many times what they need."),
    ] = 1.0,
    failure_hours: Annotated[
        float | None, typer.Option(min=0.01, help="Nodes fail, each after so many hours on average.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all that is drawn: limits, failures.")] = 1,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write an HTML page and charts there.")] = None,
    what_if: Annotated[
        str | None, typer.Option(metavar="CHANGE", help="queue=NAME,gpus=+8 or nodes=+1: run once more with that.")
    ] = None,
    job: Annotated[str | None, typer.Option(metavar="ID", help="The job that --what-if is asked for.")] = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Run a trace of jobs through a scheduling policy in virtual time, and say what became of them.

    With --what-if: when a job would start, as things are and after a change, under the policy named first.
    """
    from perdure.cli.progress import showing
    from perdure.local import simulation

    asked = {
        "trace": trace,
        "policies": [each.value for each in policy or (Policy.PERDURE,)],
        "nodes": int(nodes) if nodes is not None and nodes.isdecimal() else nodes,
        "gpusPerNode": gpus_per_node,
        "documents": [str(path) for path in file or ()],
        "begin": begin,
        "load": load,
        "limit": limit,
        "overstated": overstated,
        "failureHours": failure_hours,
        "seed": seed,
        "report": None if report is None else str(report),
        "whatIf": what_if,
        "job": job,
    }
    with showing(counts="jobs") as progress:
        answer = simulation.simulate(asked, progress)
    _show(answer, Out.of(json, output))


def _show(answer: dict[str, Any], out: Out) -> None:
    from perdure.cli.simulation_shapes import OUTCOME, SIMULATION, what_if
    from perdure.cli.terminal import say

    if not out.is_table:
        out.one(answer, SIMULATION)
    else:
        out.many(answer["policies"], OUTCOME)
        if answer["whatIf"] is not None:
            print(what_if(answer["whatIf"]))
    if answer["report"]:
        say(f"wrote {answer['report'][0]}")
