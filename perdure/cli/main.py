"""The `perdure` command: what it is made of, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

import typer

from perdure.cli import failure
from perdure.cli.commands import (
    artifacts,
    clusters,
    doctor,
    documents,
    history,
    imports,
    jobs,
    logs,
    misc,
    nodes,
    operate,
    queueing,
    reservations,
    run_job,
    schedules,
    scheduling_documents,
    secrets,
    sessions,
    simulate,
    templates,
)
from perdure.cli.verb import exemplified, group
from perdure.errors import PerdureError
from perdure.local import commands as local

PROGRAM = "perdure"
COMPLETE = "_PERDURE_COMPLETE"

app = typer.Typer(
    name=PROGRAM,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=exemplified(
        "Run jobs that survive anything. Data goes to standard output, everything else to standard error.",
        "perdure up --detach",
        "perdure run --follow -- python train.py",
        "perdure jobs list",
        "perdure jobs logs --help",
    ),
)
for part in (local, run_job, documents):
    part.register(app)
verbs = group(
    app,
    "jobs",
    "Jobs: what they do, why, and what they left.",
    "perdure jobs list --phase Running",
    "perdure jobs show digits",
    "perdure jobs logs digits -f",
)
for part in (jobs, history, logs, artifacts, operate, sessions):
    part.register(verbs)
for part in (templates, secrets, schedules, scheduling_documents, reservations, queueing, clusters, nodes):
    part.register(app)
for part in (imports, simulate, doctor, misc):
    part.register(app)


def run() -> NoReturn:
    """What the installed program calls."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Carry out one command line. Returns the exit code; every error has been told by then."""
    try:
        if COMPLETE in os.environ:
            misc.prepare_completion()
        status = _root().main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
        return status if isinstance(status, int) else 0
    except PerdureError as error:
        return failure.tell(error)
    except typer.TyperException as error:
        return failure.usage(error)
    except (KeyboardInterrupt, typer.Abort):
        return failure.interrupted()
    except BrokenPipeError:
        # Who read our data has seen enough. Nothing more may be written, not even when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return failure.fault(error)


@cache
def _root() -> Any:
    """The parser of all commands, built once."""
    return typer.main.get_command(app)
