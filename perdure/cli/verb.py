"""How commands and nouns are added: each has examples in its help, and `--json` may stand with or without fields."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

from perdure.cli.output import EVERYTHING

F = TypeVar("F", bound=Callable[..., None])
SEVERAL = re.compile(r"[A-Za-z][\w.]*(, *[A-Za-z][\w.]*)*,? *")


class Verb(TyperCommand):
    """A command. `shows` names the model of its data, whose fields may follow --json."""

    shows: str | None = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, settled(args, self.shows))


def command(app: typer.Typer, name: str, *examples: str, shows: str | None = None, **settings: Any) -> Callable[[F], F]:
    """Add a function as a command of `app`. Its docstring is the help; the examples are put below it."""
    kind = type("Verb", (Verb,), {"shows": shows})

    def add(function: F) -> F:
        app.command(name, cls=kind, help=exemplified(function.__doc__ or "", *examples), **settings)(function)
        return function

    return add


def group(parent: typer.Typer, name: str, text: str, *examples: str) -> typer.Typer:
    """Add a noun, to which verbs are then added."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    parent.add_typer(app, name=name, help=exemplified(text, *examples))
    return app


def exemplified(text: str, *examples: str) -> str:
    """A help text with examples below it, one a line, which stay as they are written."""
    shown = "\n".join(f"  {example}" for example in examples)
    return f"{inspect.cleandoc(text)}\n\n\b\nExample:\n{shown}"


def settled(args: list[str], shows: str | None) -> list[str]:
    """`--json` takes the word behind it only when that can be nothing else: several fields, or the name of one.

    A job that is called like a field is asked for with the job first: `perdure jobs show phase --json`.
    """
    settled: list[str] = []
    waiting = list(args)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*settled, word, *waiting]
        if word == "--json":
            word = f"--json={waiting.pop(0) if waiting and _fields(waiting[0], shows) else EVERYTHING}"
        settled.append(word)
    return settled


def _fields(word: str, shows: str | None) -> bool:
    if not word:
        return True  # which is then refused by saying which fields there are
    if not SEVERAL.fullmatch(word):
        return False
    if "," in word:
        return True
    if shows is None:
        return False
    from perdure.client import _models

    fields = getattr(_models, shows).model_fields
    return word.partition(".")[0] in {field.alias or name for name, field in fields.items()}
