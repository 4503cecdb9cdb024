"""Options that several commands share, each written once. Imports nothing heavy: every command loads this."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.completion import clusters, jobs, nodes, schedules, secrets, templates
from perdure.cli.output import Format


class PhaseName(StrEnum):
    """Phases as --phase takes them; a test holds them and the API's together."""

    PENDING = "Pending"
    QUEUED = "Queued"
    STARTING = "Starting"
    RUNNING = "Running"
    COLLECTING = "Collecting"
    BACKING_OFF = "BackingOff"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    CANCELLING = "Cancelling"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


Job = Annotated[
    str, typer.Argument(metavar="JOB", help="Id of a job, or a name: the newest of that name.", autocompletion=jobs)
]
TemplateName = Annotated[str, typer.Argument(metavar="TEMPLATE", help="Name of a template.", autocompletion=templates)]
SecretName = Annotated[str, typer.Argument(metavar="SECRET", help="Name of a secret.", autocompletion=secrets)]
ScheduleName = Annotated[str, typer.Argument(metavar="SCHEDULE", help="Name of a schedule.", autocompletion=schedules)]
ClusterName = Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of a cluster.", autocompletion=clusters)]
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="Name of a node.", autocompletion=nodes)]
OnCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="NAME", help="Cluster to run on; the usual one when left out.", autocompletion=clusters
    ),
]
Project = Annotated[
    str | None, typer.Option("--project", "-p", metavar="NAME", help="Project to work in, else PERDURE_PROJECT.")
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="[FIELDS]", help="Print JSON; with names separated by commas only those fields."),
]
Output = Annotated[
    Format | None, typer.Option("--output", "-o", help="Form of the data.", show_choices=True, case_sensitive=False)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Go ahead without being asked.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", min=1, max=500, help="Most entries of one page.")]
Cursor = Annotated[str | None, typer.Option(help="Go on where a page ended.")]
All = Annotated[bool, typer.Option("--all", help="All pages.")]
Since = Annotated[
    str | None, typer.Option(metavar="WHEN", help="Only from then on: 10m (ago), or 2026-01-31T18:00:00Z.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, in your words; kept in the job's events.")]
File = Annotated[Path, typer.Option("--file", "-f", metavar="FILE", help="The document, YAML or JSON.")]
Attempt = Annotated[int | None, typer.Option(min=1, help="Only this attempt.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end: exit code 0 when it succeeded, 1 when not.")]
FOLLOW = "Print log lines until the job has ended, then as --wait."
Follow = Annotated[bool, typer.Option("--follow", "-f", help=FOLLOW)]
FollowBesideFile = Annotated[bool, typer.Option("--follow", help=FOLLOW)]  # there -f names the file
PropagateExit = Annotated[
    bool, typer.Option("--propagate-exit", help="As --wait, with the job's own exit code (1 to 125).")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen; write and upload nothing.")]
SetValues = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Value of a template's parameter; repeatable.")
]
