"""What a command needs around its work: a client, confirmation, arguments that are read before anything is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from perdure.cli import terminal
from perdure.cli.humane import moment
from perdure.codes import NOT_CONFIRMED, USAGE
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from perdure.client import Client

T = TypeVar("T")


def client(project: str | None) -> Client:
    """A client of the API that the environment names."""
    from perdure.client import Client

    return Client.from_env(project=project) if project else Client.from_env()


def confirm(question: str, yes: bool) -> None:
    """Ask before something is destroyed. Raises PerdureError PD-2903 when nobody can be asked."""
    if yes:
        return
    if not terminal.interactive():
        raise PerdureError(NOT_CONFIRMED, f"{question} There is no terminal to answer on", where="-y")
    if not ask(question, default=False):
        raise PerdureError(NOT_CONFIRMED, "not done, since the answer was no")


def ask(question: str, *, default: bool) -> bool:
    """A question with yes or no, on standard error."""
    print(f"{question} [{'Y/n' if default else 'y/N'}] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip().lower()
    return default if not answer else answer in ("y", "yes")


def since(text: str | None) -> datetime | None:
    """The value of --since. Raises PerdureError PD-2901."""
    return None if text is None else argument("--since", lambda: moment(text, datetime.now(UTC)))


def argument(option: str, read: Callable[[], T]) -> T:
    """Read an option's value; what cannot be read is a usage error that names the option."""
    try:
        return read()
    except ValueError as error:
        raise PerdureError(USAGE, str(error), where=option) from error


def pairs(option: str, given: list[str] | None) -> Mapping[str, str]:
    """`NAME=VALUE` options as a mapping. Raises PerdureError PD-2901 for one without `=`, or a name given twice."""
    found: dict[str, str] = {}
    for word in given or ():
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise PerdureError(USAGE, f"{word!r} is not written NAME=VALUE", where=option)
        if name in found:
            raise PerdureError(USAGE, f"{name} is given twice", where=option)
        found[name] = value
    return found
