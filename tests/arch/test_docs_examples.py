"""Examples in the documentation are right: documents are accepted, JSON is JSON, Python compiles, commands exist."""

import ast
import json
import re
import shlex
from typing import Any

import pytest
import typer

from definitions.documents import parse
from perdure.cli.main import app
from perdure.cli.verb import Verb, settled
from tests.arch.docs_source import Block, blocks
from tests.arch.source import ROOT

# Other programs that pages call. What they are given is not ours to check.
OTHER_PROGRAMS = {"cat", "curl", "printf", "source"}


def listed(language: str) -> list[Any]:
    return [pytest.param(block, id=block.where) for block in blocks(language)]


@pytest.mark.parametrize("block", listed("yaml"))
def test_a_document_in_the_docs_is_accepted(block: Block) -> None:
    if "apiVersion: perdure/" in block.body:
        assert parse(block.body, source=block.where)


@pytest.mark.parametrize("block", listed("json"))
def test_json_in_the_docs_is_json(block: Block) -> None:
    assert json.loads(block.body) is not None


@pytest.mark.parametrize("block", listed("python"))
def test_python_in_the_docs_compiles(block: Block) -> None:
    assert ast.parse(block.body, filename=block.where).body


@pytest.mark.parametrize("block", listed("console"))
def test_a_command_in_the_docs_exists_with_its_options(block: Block) -> None:
    found = commands(block.body)
    assert found, f"{block.where}: a console block shows commands, on lines that begin with $"
    for words in found:
        check(words)


def commands(body: str) -> list[list[str]]:
    """The words of each command in a console block; a line that ends with a backslash goes on."""
    joined = body.replace("\\\n", " ")
    lines = [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
    split = [part for line in lines for part in re.split(r"\s(?:&&|\|)\s", line)]
    return [without_assignments(shlex.split(part, comments=True)) for part in split]


def without_assignments(words: list[str]) -> list[str]:
    while words and re.fullmatch(r"[A-Za-z_]+=.*", words[0]):
        words = words[1:]
    return words


def check(words: list[str]) -> None:
    """Fail when a command names a target, command or option that is not there."""
    program, *arguments = words
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
        assert [name for name in arguments if "=" not in name and name not in targets] == []
    elif program == "perdure":
        check_perdure(arguments)
    else:
        assert program in OTHER_PROGRAMS, f"{program}: neither ours nor known"


def check_perdure(arguments: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    context = typer.Context(command, info_name="perdure")
    while True:
        if isinstance(command, Verb):
            arguments = settled(arguments, command.shows)
        _, rest, _ = command.make_parser(context).parse_args(args=list(arguments))
        members = getattr(command, "commands", None)
        if members is None or not rest:
            return
        name, *arguments = rest
        assert name in members, f"{context.command_path} has no command {name}"
        command = members[name]
        context = typer.Context(command, parent=context, info_name=name)
