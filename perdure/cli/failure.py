"""Saying what went wrong: what, where, why, what to do, under which code, and where to read more."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from perdure.codes import CLIENT_FAULT, USAGE, Exit
from perdure.errors import PerdureApiError, PerdureError


def tell(error: PerdureError) -> int:
    """Print an error on standard error. Returns the exit code."""
    from rich.text import Text

    from perdure.cli import tables, terminal

    headline = Text.assemble((f"error {error.code}: ", "bold red"), terminal.visible(error.detail))
    terminal.console(stderr=True).print(headline, soft_wrap=True)
    lines = [("where", _place(error.where)), ("why", error.why or error.title), ("do", error.remedy)]
    for fault in error.errors:
        place = f"{_place(fault.where)}: " if fault.where else ""
        lines.append(("fault", f"{place}{fault.detail} [{fault.code}]\n{fault.remedy}"))
    lines.append(("more", f"perdure errors {error.code}{_page(error)}"))
    tables.properties([(f"  {name}", value) for name, value in lines if value], stderr=True)
    return error.exit_code


def usage(error: Any) -> int:
    """Print a usage error of the command line's own parser; the help, when no command was named at all."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return int(Exit.USAGE)
    told = PerdureError(USAGE, _sentence(error.format_message()), remedy=_hint(error))
    return tell(told)


def fault(error: Exception) -> int:
    """Print a fault of our own, with the way it took when PERDURE_DEBUG is set."""
    if os.environ.get("PERDURE_DEBUG"):
        traceback.print_exception(error)
    return tell(PerdureError(CLIENT_FAULT, f"{type(error).__name__}: {error}"))


def interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return int(Exit.INTERRUPTED)


def _page(error: PerdureError) -> str:
    """The address of the page about a code: as the API says, else where it would be."""
    address = error.page if isinstance(error, PerdureApiError) and error.page else None
    return f", {address}" if address else ""


def _sentence(message: str) -> str:
    return message.strip().rstrip(".").replace("Value error, ", "")


def _place(where: str | None) -> str:
    """Where a fault is, as whoever typed the command knows it: a request's query comes from options of its names."""
    part, _, name = (where or "").partition(".")
    return f"--{name}" if part == "query" and name.isidentifier() else where or ""


def _hint(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f"See `{context.command_path} --help`." if context is not None else USAGE.remedy
