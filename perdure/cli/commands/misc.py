"""Error codes explained, completion for shells, versions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer

from perdure import __version__
from perdure.cli import options as given
from perdure.cli.output import Out, Shape
from perdure.cli.verb import command

PROGRAM = "perdure"
COMPLETE = "_PERDURE_COMPLETE"


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    """Add these commands."""
    command(app, "errors", "perdure errors PD-2004", "perdure errors --json code,title", shows="ErrorCodeView")(errors)
    command(app, "completion", "source <(perdure completion bash)")(completion)
    command(app, "metrics", "perdure metrics")(metrics)
    command(app, "version", "perdure version --server", "perdure version --json")(version)


def errors(
    code: Annotated[str | None, typer.Argument(metavar="[CODE]", help="Such as PD-2004; all when left out.")] = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Explain an error code: when it is given, and what would help. Without a code, list all."""
    from perdure.cli import error_pages
    from perdure.cli.catalog_shapes import ERROR

    out = Out.of(json, output)
    if code is None:
        out.many(error_pages.every(), ERROR)
    else:
        out.one(error_pages.one(code), ERROR)


def completion(shell: Annotated[Shell, typer.Argument(help="The shell to print the script for.")]) -> None:
    """Print a script that completes commands, options, and names of jobs and other things as they are now."""
    from typer.completion import shell_complete

    prepare_completion()
    root = typer.main.get_command(_app())
    shell_complete(root, {}, PROGRAM, COMPLETE, f"source_{shell}")


def metrics(project: given.Project = None) -> None:
    """Print the control plane's numbers in Prometheus' text form."""
    from perdure.cli import session

    with session.client(project) as client:
        print(client.system.metrics(), end="")


def version(
    server: Annotated[bool, typer.Option("--server", help="Also ask the API for its version.")] = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Print the version of the client, and with --server that of the control plane."""
    found = {"client": __version__}
    if server:
        from perdure.cli import session

        with session.client(None) as client:
            found |= {"server": client.system.version().version, "url": client.target.url}
    Out.of(json, output).one(found, VERSION)


def _versions(found: Mapping[str, str]) -> str:
    return "\n".join(f"{PROGRAM if name == 'client' else name} {value}" for name, value in found.items())


VERSION = Shape(columns=(), name=lambda found: found["client"], text=_versions)


def prepare_completion() -> None:
    """Teach the parser the shells' forms of asking. Only when one asks: looking for them takes time."""
    from typer.completion import get_completion_inspect_parameters

    os.environ.setdefault("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    get_completion_inspect_parameters()


def _app() -> typer.Typer:
    from perdure.cli.main import app

    return app
