"""Secrets: values that go in and never come out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command, group

FromFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Read the value from a file; else from a prompt or a pipe.")
]


def register(app: typer.Typer) -> None:
    """Add the noun."""
    text = "Values that jobs use by name. They go in and never come out."
    secrets = group(app, "secrets", text, "perdure secrets create hub-token --from-file token.txt")
    command(secrets, "create", 'printf %s "$TOKEN" | perdure secrets create hub-token', shows="SecretView")(create)
    command(secrets, "list", "perdure secrets list", shows="SecretView")(list_)
    command(secrets, "rotate", "perdure secrets rotate hub-token --from-file token.txt", shows="SecretView")(rotate)
    command(secrets, "delete", "perdure secrets delete hub-token -y")(delete)


def create(
    secret: Annotated[str, typer.Argument(metavar="SECRET", help="Name that jobs refer to.")],
    from_file: FromFile = None,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Keep a value, encrypted. It is read from a prompt, a pipe or a file, never from the command line."""
    from perdure.cli.catalog_shapes import SECRET
    from perdure.cli.secret_value import read

    value = read(secret, from_file)
    with session.client(project) as client:
        Out.of(json, output).one(client.secrets.create(secret, value), SECRET)


def list_(
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List the names of secrets, and when they last changed."""
    from perdure.cli.catalog_shapes import SECRET
    from perdure.cli.lists import show_list
    from perdure.client.operations import catalog

    with session.client(project) as client:
        out = Out.of(json, output)
        show_list(client, out, SECRET, catalog.list_secrets, limit=limit, cursor=cursor, whole=whole)


def rotate(
    secret: given.SecretName,
    from_file: FromFile = None,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Replace a secret's value. Attempts that start from now on get the new one."""
    from perdure.cli.catalog_shapes import SECRET
    from perdure.cli.secret_value import read

    value = read(secret, from_file)
    with session.client(project) as client:
        Out.of(json, output).one(client.secrets.rotate(secret, value), SECRET)


def delete(secret: given.SecretName, yes: given.Yes = False, project: given.Project = None) -> None:
    """Remove a secret. Jobs that name it can no longer start attempts."""
    from perdure.cli.terminal import say

    session.confirm(f"Delete secret {secret}?", yes)
    with session.client(project) as client:
        client.secrets.delete(secret)
    say(f"deleted secret {secret}")
