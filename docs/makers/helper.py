"""The training helper's example and functions, from perdure/job.py."""

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from docs.makers.markdown import code, fenced, table
from perdure import job


def block() -> str:
    rows = ([code(_signature(function)), _first_sentence(function)] for function in functions())
    return "\n\n".join([fenced(example(), "python"), table(["Call", "What it does"], rows)])


def example() -> str:
    """The first indented passage of the module's docstring."""
    lines = inspect.cleandoc(job.__doc__ or "").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("    "))
    end = next(
        (n for n, line in enumerate(lines[start:], start) if line and not line.startswith("    ")),
        len(lines),
    )
    return textwrap.dedent("\n".join(lines[start:end])).strip()


def functions() -> Iterator[Callable[..., Any]]:
    """The public functions in the order in which they stand in the file."""
    members = (member for name, member in vars(job).items() if not name.startswith("_") and name != "main")
    own = (member for member in members if inspect.isfunction(member) and member.__module__ == job.__name__)
    return iter(sorted(own, key=lambda function: inspect.unwrap(function).__code__.co_firstlineno))


def _signature(function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters.values()
    shown = (str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters)
    return f"job.{function.__name__}({', '.join(shown)})"


def _first_sentence(function: Callable[..., Any]) -> str:
    told = inspect.getdoc(function) or ""
    return " ".join(told.split("\n\n")[0].split())
