"""Where a secret's value comes from: a prompt that shows nothing, a pipe, or a file. Never the command line, which
other users of the machine can see and the shell writes down.
"""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

from perdure.cli import terminal
from perdure.client.documents import read_text
from perdure.codes import NO_VALUE
from perdure.errors import PerdureError


def read(name: str, file: Path | None) -> str:
    """The value, without the line end that editors and `echo` put behind it. Raises PerdureError PD-2917."""
    if file is not None:
        value = read_text(file)
    elif terminal.interactive():
        value = getpass.getpass(f"Value of {name} (not shown): ")
    else:
        value = sys.stdin.read()
    value = value.removesuffix("\n").removesuffix("\r")
    if not value:
        raise PerdureError(NO_VALUE, f"no value was given for {name}", where=str(file) if file else "standard input")
    return value
