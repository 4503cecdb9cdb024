"""Tables and properties for people. On a terminal aligned and cut to its width; in a pipe whole, separated by tabs."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from perdure.cli import terminal
from perdure.cli.output import Column, Shape

GAP = 2


def rows(items: Sequence[Any], shape: Shape) -> None:
    """A table with headings; with no items only says so, on standard error."""
    if not items:
        terminal.say("nothing found")
        return
    if sys.stdout.isatty():
        with _paged() as console:
            console.print(_table(items, shape))
        return
    print("\t".join(column.heading for column in shape.columns))
    for item in items:
        row(item, shape)
    sys.stdout.flush()


def row(item: Any, shape: Shape) -> None:
    """One line of a table, separated by tabs."""
    from rich.text import Text

    cells = Text("\t").join(_cell(column, item) for column in shape.columns)
    if terminal.coloured(sys.stdout):
        terminal.console().print(cells, soft_wrap=True)
    else:
        print(cells.plain, flush=True)


def properties(lines: Sequence[tuple[str, str]], *, stderr: bool = False) -> None:
    """Names and values, one below the other; values of several lines are kept together, empty ones left out."""
    from rich.text import Text

    shown = [(name, value) for name, value in lines if value]
    width = max((len(name) for name, _ in shown), default=0) + GAP
    console = terminal.console(stderr=stderr)
    for name, value in shown:
        first, *more = terminal.visible(value).split("\n")
        console.print(Text.assemble((name.ljust(width), "bold"), first), soft_wrap=True)
        for line in more:
            console.print(" " * width + line, soft_wrap=True)


def _table(items: Sequence[Any], shape: Shape) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column in shape.columns:
        table.add_column(column.heading, overflow="ellipsis", no_wrap=True)
    for item in items:
        table.add_row(*(_cell(column, item) for column in shape.columns))
    return table


def _cell(column: Column, item: Any) -> Any:
    from rich.text import Text

    text = " ".join(terminal.visible(column.cell(item)).split())
    return Text(text, style=column.style(text) if column.style else "")


@contextmanager
def _paged() -> Iterator[Any]:
    """A console whose output goes through the pager that PERDURE_PAGER or PAGER names, if one does."""
    command = os.environ.get("PERDURE_PAGER", os.environ.get("PAGER", ""))
    if command in ("", "cat"):
        yield terminal.console()
        return
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    pager = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, text=True, env=environment)
    with pager, suppress(BrokenPipeError):  # the reader has seen enough
        yield terminal.console(file=pager.stdin)
