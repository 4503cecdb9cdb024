"""Imports: documents that were written for other systems."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command, group

Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="NAME", help="Cluster that the jobs are to run on; else none is set.")
]


def register(app: typer.Typer) -> None:
    """Add the noun."""
    imports = group(
        app, "import", "Documents of other systems, as jobs.", "perdure import kubernetes -f training.yaml > job.yaml"
    )
    command(
        imports,
        "kubernetes",
        "perdure import kubernetes -f training.yaml > job.yaml",
        "perdure import kubernetes -f training.yaml --cluster north-1 --json",
        shows="ImportedJobs",
    )(kubernetes)


def kubernetes(
    file: given.File,
    cluster: Cluster = None,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Translate a Job, JobSet, PyTorchJob, MPIJob or TrainJob. Nothing is submitted: the jobs are printed as YAML.

    Every field that changed or was left out is named on standard error, with its line and the reason.
    """
    from perdure.cli.import_view import IMPORTED, told
    from perdure.client._models import ImportJobs
    from perdure.client.documents import read_text

    text = read_text(file)
    with session.client(project) as client:
        found = client.jobs.import_(ImportJobs(text=text, source=str(file), cluster=cluster))
    for line in told(found, str(file)):
        print(line, file=sys.stderr)
    Out.of(json, output).one(found, IMPORTED)
