"""The commands of the embedded stack: `perdure up`, `down`, `status`, and `serve` for one process alone.

What they use is imported when one of them runs: it needs Linux, and the other commands do not.
"""

import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli import options as given
from perdure.cli.output import Out, Shape
from perdure.cli.verb import command
from perdure.codes import Exit

if TYPE_CHECKING:
    from perdure.local.home import Home
    from perdure.local.ports import Ports
    from perdure.local.state import State


class Served(StrEnum):
    """Processes of a control plane that can be started alone."""

    API = "api"
    WORKER = "worker"
    CLUSTER_WORKER = "cluster-worker"
    MIGRATE = "migrate"
    CHECK_TABLES = "check-tables"
    NEW_KEY = "new-key"


STATUS = Shape(columns=(), name=lambda found: found["home"])


def register(app: typer.Typer) -> None:
    """Add the commands to the `perdure` command line."""
    command(app, "up", "perdure up --detach", "perdure up --detach --json api,ui")(up)
    command(app, "down", "perdure down")(down)
    command(app, "serve", "perdure serve api", "perdure serve worker")(serve)
    command(app, "status", "perdure status", "perdure status --json phase,processes")(status)


def up(
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return when all is ready, and leave it running.")
    ] = False,
    port_api: Annotated[int | None, typer.Option(help="Port of the API [env: PERDURE_API_PORT, else 8642].")] = None,
    port_temporal: Annotated[
        int | None, typer.Option(help="Port of the workflow engine [env: PERDURE_TEMPORAL_PORT, else 7233].")
    ] = None,
    port_ui: Annotated[
        int | None, typer.Option(help="Port of the engine's Web UI [env: PERDURE_UI_PORT, else 8233].")
    ] = None,
    port_metrics: Annotated[
        int | None, typer.Option(help="Port of the worker's metrics [env: PERDURE_METRICS_PORT, else 9642].")
    ] = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Start the control plane on this machine: workflow engine, worker and API, all on the loopback interface.

    All state is in one folder: PERDURE_HOME, or ~/.perdure. Ctrl-C stops the control plane; running jobs go on, and the
    next `perdure up` takes them over.
    """
    from perdure.local import home, launch, ports

    place = home.locate(os.environ)
    flags = {"api": port_api, "temporal": port_temporal, "ui": port_ui, "metrics": port_metrics}
    wanted = ports.choose(flags, os.environ)
    launch.preflight(place, wanted)
    out = Out.of(json, output)
    if detach:
        _up_detached(place, wanted, out)
    else:
        _up_here(place, wanted, out)


def down() -> None:
    """Stop the control plane of this machine, and wait until it has stopped. Running jobs go on."""
    from perdure.local import home, launch

    place = home.locate(os.environ)
    stopped = launch.stop(place)
    told = "stopped; running jobs go on" if stopped else "nothing was running"
    print(f"{place.root}: {told}", file=sys.stderr, flush=True)


def serve(
    process: Annotated[
        Served,
        typer.Argument(
            help="Which one; `migrate` prepares the database, `check-tables` says whether that is done, `new-key` "
            "prints an API key, and these end.",
        ),
    ],
) -> None:
    """Be one process of a control plane whose engine and database others look after. What containers run.

    Settings come from the environment; PERDURE_TEMPORAL_ADDRESS and PERDURE_DATABASE_URL must be among them. It ends
    at SIGTERM, after what is under way.
    """
    from perdure.local import home, launch

    launch.become(process.value, home.locate(os.environ), os.environ)


def status(json: given.Json = None, output: given.Output = None) -> None:
    """Show the control plane's processes on this machine, not the jobs'. Exit code 0 when it runs, 3 when not."""
    from perdure.local import home, report

    found = report.describe(home.locate(os.environ))
    out = Out.of(json, output)
    if out.is_table:
        _table(found)
    else:
        out.one(found, STATUS)
    raise typer.Exit(Exit.OK if found["running"] else Exit.NOT_FOUND)


def _up_detached(place: "Home", wanted: "Ports", out: Out) -> None:
    from perdure.local import launch, report

    try:
        launch.run_detached(place, wanted, os.environ)
    except KeyboardInterrupt:
        print("It goes on starting in the background; see perdure status, perdure down.", file=sys.stderr, flush=True)
        raise
    _ready(report.describe(place), out)


def _up_here(place: "Home", wanted: "Ports", out: Out) -> None:
    from rich.console import Console

    from perdure.local import launch, report, view

    with view.following(Console(stderr=True)) as follow:
        told = False

        def on_change(state: "State") -> None:
            nonlocal told
            follow(state)
            if not out.is_table and not told and state.phase == "ready":
                told = True
                _ready(report.describe(place), out)

        clean = launch.run_here(place, wanted, os.environ, on_change)
    raise typer.Exit(Exit.OK if clean else Exit.SERVER)


def _ready(found: dict[str, Any], out: Out) -> None:
    """Say where the control plane is; as one line where it is JSON, since `up` goes on after it."""
    if out.is_table:
        _table(found)
    else:
        out.stream([found], STATUS)


def _table(found: dict[str, Any]) -> None:
    from perdure.cli import terminal
    from perdure.local import view

    console = terminal.console()
    console.print(f"{found['home']}: {found['phase']}", highlight=False, soft_wrap=True)
    if found["running"]:
        console.print(view.links(found["api"], found["ui"]))
    if found["processes"]:
        console.print(view.table(found["processes"]))
