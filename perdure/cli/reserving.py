"""Reserving from the command line: show what it comes to, ask, book."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perdure.cli import session, terminal
from perdure.cli.reservation_document import Wanted, document, options_given
from perdure.cli.reservation_shapes import PLAN, RESERVATION, plan_lines
from perdure.codes import USAGE
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from perdure.cli.output import Out
    from perdure.client import Client


def document_of(name: str | None, file: Path | None, wanted: Wanted) -> Path | dict[str, Any]:
    """The document of a file, or of options. Raises PerdureError PD-2901 for both, or neither."""
    said = options_given(wanted)
    if file is not None:
        beside = [*([] if name is None else ["a name"]), *said]
        if beside:
            what = f"the file says it all, and {', '.join(beside)} is given too"
            raise PerdureError(USAGE, what, where="--file", remedy="Write it into the file, or leave the file out.")
        return file
    if name is None:
        raise PerdureError(USAGE, "a reservation needs a name", where="NAME", remedy="Give a name, or -f FILE.")
    return document(name, wanted)


def create(client: Client, given: Path | dict[str, Any], out: Out, *, weeks: int, dry_run: bool, yes: bool) -> None:
    """Book a reservation, after every window of the next weeks was shown. Without a terminal it must be told `yes`."""
    plan = client.reservations.preview(given, weeks=weeks)
    if dry_run:
        out.one(plan, PLAN)
        terminal.say("nothing was booked")
        return
    for line in plan_lines(plan):
        terminal.say(line)
    session.confirm(f"Reserve {plan.keeps} for queue {plan.queue}?", yes)
    view = client.reservations.create(given)
    terminal.say(f"created reservation {view.name}")
    out.one(view, RESERVATION)
