"""Staying with a job until it ends. Ctrl-C leaves it alone, and says how to come back and how to stop it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from perdure.cli.terminal import say
from perdure.codes import Exit

if TYPE_CHECKING:
    from perdure.cli.output import Out
    from perdure.client import Client, Run
    from perdure.client._models import JobView, LogLineView

LARGEST_OWN_EXIT = 125  # above it shells have meanings of their own


@contextmanager
def detaching(name: str, id: str) -> Iterator[None]:
    """Ctrl-C inside ends the command with 130 and the job goes on."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"\ndetached; {name} goes on")
        say(f"come back:  perdure jobs logs -f {id}")
        say(f"stop it:    perdure jobs cancel {id}")
        raise typer.Exit(Exit.INTERRUPTED) from None


def wait(run: Run, timeout: float | None = None) -> JobView:
    """Wait for the end of a job."""
    with detaching(run.view.name, run.id):
        return run.wait(timeout)


def exit_code(view: JobView, *, propagate: bool) -> int:
    """0 for success, else 1; or with `propagate` the job's own code, where it has one that can be passed on."""
    from perdure.client._models import Phase

    if view.phase is Phase.SUCCEEDED:
        return int(Exit.OK)
    if propagate and view.exit_code is not None and 1 <= view.exit_code <= LARGEST_OWN_EXIT:
        return view.exit_code
    return int(Exit.JOB_FAILED)


def watched(client: Client, job: str) -> Iterator[JobView]:
    """A job each time it has changed, until it has ended."""
    from perdure.cli.lists import INTERVAL
    from perdure.client.phases import FINAL

    shown: object = None
    while True:
        view = client.jobs.get(job)
        state = (view.generation, view.step)
        if state != shown:
            shown = state
            yield view
        if view.phase in FINAL:
            return
        job = view.id
        client.jobs.wait(job, timeout=INTERVAL)


def print_logs(lines: Iterable[LogLineView], *, ranks: int, timestamps: bool) -> None:
    """Log lines for people: the rank in front when there are several, a note where the next attempt begins."""
    attempt: int | None = None
    for line in lines:
        if attempt is not None and line.attempt != attempt:
            say(f"--- attempt {line.attempt}")
        attempt = line.attempt
        at = f"{line.at.astimezone().isoformat(timespec='milliseconds')} " if timestamps and line.at else ""
        rank = f"[{line.rank}] " if ranks > 1 else ""
        print(f"{at}{rank}{line.text}", flush=True)


def follow_logs(run: Run, out: Out) -> None:
    """Print a job's log lines in the form that was asked for, until it has ended."""
    from perdure.cli.shapes import LOG

    lines = run.logs(follow=True)
    if out.is_table:
        print_logs(lines, ranks=run.view.ranks, timestamps=False)
    else:
        out.stream(lines, LOG)
