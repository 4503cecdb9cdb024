"""What kind of terminal there is: colour, width, whether questions can be asked. Data goes to standard output only."""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def coloured(stream: IO[str]) -> bool:
    """NO_COLOR turns colour off, CLICOLOR_FORCE turns it on where it would be off; else only terminals have it."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb" and os.environ.get("CLICOLOR") != "0"


def interactive() -> bool:
    """Whether a question can be asked and answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def console(*, stderr: bool = False, file: IO[str] | None = None) -> Console:
    """A console that obeys the rules above, and prints text as it is: no markup, nothing highlighted."""
    from rich.console import Console

    stream = file or (sys.stderr if stderr else sys.stdout)
    colour = coloured(sys.stderr if stderr else sys.stdout)
    return Console(
        file=stream,
        force_terminal=True if colour else None,
        no_color=not colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def visible(text: str) -> str:
    """Text without what would steer a terminal. Lines stay lines."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def say(text: str) -> None:
    """Talk: a line on standard error."""
    print(text, file=sys.stderr, flush=True)
