"""A bar for what takes a while, on standard error of a terminal; elsewhere nothing is drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perdure.cli import terminal

if TYPE_CHECKING:
    from perdure.client.submitting import Progress


@contextmanager
def showing(*, counts: str | None = None) -> Iterator[Progress | None]:
    """Something to call with (what is being done, bytes done, bytes in all). `counts`: no bytes, but what is named."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TaskID, TextColumn
    from rich.progress import Progress as Bars

    amount = (DownloadColumn(binary_units=True),) if counts is None else (MofNCompleteColumn(), TextColumn(counts))
    columns = (TextColumn("{task.description}"), BarColumn(), *amount)
    with Bars(*columns, console=terminal.console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show
