"""Applying a file of the scheduler's documents: show what would change, ask, store all of it or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perdure.cli import session, terminal
from perdure.cli.scheduling_shapes import CHANGES, change_lines, summary

if TYPE_CHECKING:
    from perdure.cli.output import Out
    from perdure.client import Client


def apply(client: Client, file: Path, out: Out, *, dry_run: bool, yes: bool) -> None:
    """Store the documents of a file. What is the same already stays as it is."""
    planned = client.scheduling_documents.apply(file, dry_run=True)
    if dry_run:
        out.one(planned, CHANGES)
        terminal.say("nothing was stored")
        return
    if not yes and terminal.interactive() and any(item.changes for item in planned.items):
        for line in change_lines(planned):
            terminal.say(line)
        if not session.ask("Apply this?", default=True):
            terminal.say("nothing was stored")
            return
    applied = client.scheduling_documents.apply(file)
    out.one(applied, CHANGES)
    terminal.say(summary(applied))
