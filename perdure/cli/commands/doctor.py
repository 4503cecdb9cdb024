"""Whether a deployment is well, part by part, with what would mend it."""

from __future__ import annotations

from typing import Any

import typer

from perdure.cli import options as given
from perdure.cli.output import Column, Out, Shape
from perdure.cli.verb import command
from perdure.codes import Exit

FINDING = Shape(
    columns=(
        Column("CHECK", lambda each: each.check),
        Column("STATUS", lambda each: each.status.value),
        Column("CODE", lambda each: each.code or ""),
        Column("DETAIL", lambda each: each.detail),
        Column("FIX", lambda each: each.remedy or ""),
    ),
    name=lambda each: each.check,
)
DIAGNOSIS = Shape(columns=(), name=lambda found: "healthy" if found.healthy else "ill")


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "doctor", "perdure doctor", "perdure doctor --json healthy,findings", shows="Diagnosis")(doctor)


def doctor(json: given.Json = None, output: given.Output = None) -> None:
    """Look at every part of the deployment: database, engine, queues, object store, clusters. For its admins.

    Exit code 0 when all is well, 8 when something is not.
    """
    from perdure.cli import session

    with session.client(None) as client:
        found = client.system.doctor()
    _show(found, Out.of(json, output))
    raise typer.Exit(Exit.OK if found.healthy else Exit.SERVER)


def _show(found: Any, out: Out) -> None:
    if out.is_table:
        out.many(found.findings, FINDING)
    else:
        out.one(found, DIAGNOSIS)
