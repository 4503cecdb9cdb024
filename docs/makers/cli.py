"""The command line's reference, from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import typer

from definitions.errors import Exit
from docs.makers.markdown import code, fenced, page, table
from perdure.cli.main import app

PROGRAM = "perdure"
EXIT_MEANING: dict[Exit, str] = {
    Exit.OK: "done; with `--wait`: the job succeeded",
    Exit.JOB_FAILED: "with `--wait`: the job failed or was cancelled",
    Exit.USAGE: "the command line or a document is wrong",
    Exit.NOT_FOUND: "there is no such thing, or not for you; `status`: nothing runs",
    Exit.AUTH: "no key, or one that does not allow this",
    Exit.QUOTA: "a quota or budget refused it (nothing on this stage has one)",
    Exit.CONFLICT: "it contradicts what is there: a name that is taken, a phase that does not allow it",
    Exit.TIMEOUT: "the time to wait ran out; the job goes on",
    Exit.SERVER: "the API is not reachable or failed",
    Exit.INTERRUPTED: "interrupted with Ctrl-C; a job that was followed goes on",
}


def tree() -> list[tuple[tuple[str, ...], Any]]:
    """Every command with its path, groups before their members."""
    return list(_walk((), typer.main.get_command(app)))


def pages() -> dict[str, str]:
    commands = tree()
    plain = [(path, command) for path, command in commands if path and not _is_group(command)]
    overview = table(
        ["Command", "What it does"],
        ([f"[`{' '.join(path)}`](#{_anchor(path)})", command.get_short_help_str(200)] for path, command in plain),
    )
    exits = "## Exit codes\n\n" + table(["Code", "Meaning"], ([str(int(e)), EXIT_MEANING[e]] for e in Exit))
    general = _general(commands[0][1])
    return {"cli.md": page("Command line", general, overview, exits, *(_command(*each) for each in plain))}


def _walk(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if command.hidden:
        return
    yield path, command
    for name, member in getattr(command, "commands", {}).items():
        yield from _walk((*path, name), member)


def _general(root: Any) -> str:
    options = _options((), root)
    said = (
        "Data goes to standard output and everything else to standard error, so output can be piped. "
        "Nothing asks a question when there is no terminal: it fails and names the flag."
    )
    return f"{said}\n\nOptions before the command:\n\n{options}" if options else said


def _command(path: tuple[str, ...], command: Any) -> str:
    usage = command.get_usage(typer.Context(command, info_name=f"{PROGRAM} {' '.join(path)}"))
    parts = [
        f"## {' '.join(path)}",
        _help(command),
        fenced(usage.removeprefix("Usage: "), "text"),
        _options(path, command),
    ]
    return "\n\n".join(part for part in parts if part)


def _help(command: Any) -> str:
    """The help text, with its examples as a block."""
    text = (command.help or "").replace("\b\n", "").strip()
    prose, found, example = text.partition("Example:")
    if not found:
        return text
    lines = [f"$ {line.strip().removeprefix('$ ')}" for line in example.strip().splitlines() if line.strip()]
    return prose.strip() + "\n\n" + fenced("\n".join(lines), "console")


def _options(path: tuple[str, ...], command: Any) -> str:
    context = typer.Context(command, info_name=" ".join((PROGRAM, *path)))
    records = [param.get_help_record(context) for param in command.params if not getattr(param, "hidden", False)]
    rows = [[code(name), " ".join((text or "").split())] for name, text in filter(None, records) if name != "--help"]
    return table(["Argument or option", "Meaning"], rows) if rows else ""


def _is_group(command: Any) -> bool:
    return hasattr(command, "commands")


def _anchor(path: tuple[str, ...]) -> str:
    return "-".join(path)
