"""Tables and properties for people. On a terminal aligned and cut to its width; in a pipe whole, separated by tabs."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from perdure.cli import terminal
from perdure.cli.output import Column, Shape

GAP = 2
LEAST = 24  # letters of a column that is cut, before others are left out for it


def rows(items: Sequence[Any], shape: Shape) -> None:
    """A table with headings; with no items only says so, on standard error."""
    if not items:
        terminal.say("nothing found")
        return
    if sys.stdout.isatty():
        with _paged() as console:
            console.print(_table(items, shape, console.width))
        return
    print("\t".join(column.heading for column in shape.columns))
    for item in items:
        row(item, shape)
    sys.stdout.flush()


def screen(items: Sequence[Any], shape: Shape, nobody: str) -> None:
    """The table in place of all that stands on the terminal."""
    console = terminal.console()
    console.clear()
    if items:
        console.print(_table(items, shape, console.width))
    else:
        console.print(nobody)


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


def _table(items: Sequence[Any], shape: Shape, width: int) -> Any:
    """A table that fits: without columns in which nothing stands, then without those that can be spared, then cut."""
    from rich.table import Table

    cells = {column: [_cell(column, item) for item in items] for column in shape.columns}
    wanted = {
        column: max(len(column.heading), *(cell.cell_len for cell in found))
        for column, found in cells.items()
        if any(cell.plain for cell in found)
    }
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    shown = _fitting(wanted, width)
    for column, most in shown.items():
        table.add_column(column.heading, overflow="ellipsis", no_wrap=True, width=most)
    for number in range(len(items)):
        table.add_row(*(cells[column][number] for column in shown))
    return table


def _fitting(wanted: Mapping[Column, int], width: int) -> dict[Column, int]:
    """The columns that are shown, with their widths. The widest, which are those of sentences, are cut first."""
    shown = dict(wanted)
    for column in [column for column in wanted if column.spare][::-1]:
        if _total(shown, LEAST) > width:
            del shown[column]
    most = max(shown.values(), default=0)
    while most > 1 and _total(shown, most) > width:
        most -= 1
    return {column: min(each, most) for column, each in shown.items()}


def _total(widths: Mapping[Column, int], most: int) -> int:
    """What the columns take when none is wider than `most`, with the gaps between them."""
    return sum(min(each, most) for each in widths.values()) + GAP * len(widths)


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
    try:
        pager = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, text=True, env=environment)
    except (OSError, ValueError) as error:
        terminal.say(f"the pager {command!r} cannot be used: {getattr(error, 'strerror', None) or error}")
        yield terminal.console()
        return
    with pager, suppress(BrokenPipeError):  # the reader has seen enough
        yield terminal.console(file=pager.stdin)
