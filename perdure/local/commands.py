"""The commands of the embedded stack: `perdure up`, `down`, `status`.

What they use is imported when one of them runs: it needs Linux, and the other commands do not.
"""

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.codes import Exit

if TYPE_CHECKING:
    from perdure.local.home import Home
    from perdure.local.ports import Ports
    from perdure.local.state import State

AsJson = Annotated[bool, typer.Option("--json", help="Print the status as one JSON document.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the `perdure` command line."""
    app.command("up")(up)
    app.command("down")(down)
    app.command("status")(status)


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
    as_json: AsJson = False,
) -> None:
    """Start the control plane on this machine: workflow engine, worker and API, all on the loopback interface.

    All state is in one folder: PERDURE_HOME, or ~/.perdure. Ctrl-C stops the control plane; running jobs go on, and the
    next `perdure up` takes them over.

    Example: perdure up --detach
    """
    from perdure.local import home, launch, ports

    place = home.locate(os.environ)
    flags = {"api": port_api, "temporal": port_temporal, "ui": port_ui, "metrics": port_metrics}
    wanted = ports.choose(flags, os.environ)
    launch.preflight(place, wanted)
    if detach:
        _up_detached(place, wanted, as_json)
    else:
        _up_here(place, wanted, as_json)


def down() -> None:
    """Stop the control plane of this machine, and wait until it has stopped. Running jobs go on.

    Example: perdure down
    """
    from perdure.local import home, launch

    place = home.locate(os.environ)
    stopped = launch.stop(place)
    told = "stopped; running jobs go on" if stopped else "nothing was running"
    print(f"{place.root}: {told}", file=sys.stderr, flush=True)


def status(as_json: AsJson = False) -> None:
    """Show the control plane's processes on this machine (not the jobs'). Exit code 0 when it runs, 3 when it does not.

    Example: perdure status --json
    """
    from perdure.local import home, report

    found = report.describe(home.locate(os.environ))
    _show(found, as_json)
    raise typer.Exit(Exit.OK if found["running"] else Exit.NOT_FOUND)


def _up_detached(place: "Home", wanted: "Ports", as_json: bool) -> None:
    from perdure.local import launch, report

    try:
        launch.run_detached(place, wanted, os.environ)
    except KeyboardInterrupt:
        print("It goes on starting in the background; see perdure status, perdure down.", file=sys.stderr, flush=True)
        raise
    _show(report.describe(place), as_json)


def _up_here(place: "Home", wanted: "Ports", as_json: bool) -> None:
    from rich.console import Console

    from perdure.local import launch, report, view

    with view.following(Console(stderr=True)) as follow:
        told = False

        def on_change(state: "State") -> None:
            nonlocal told
            follow(state)
            if as_json and not told and state.phase == "ready":
                told = True
                _show(report.describe(place), as_json)

        clean = launch.run_here(place, wanted, os.environ, on_change)
    raise typer.Exit(Exit.OK if clean else Exit.SERVER)


def _show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found), flush=True)
        return
    from perdure.cli import terminal
    from perdure.local import view

    console = terminal.console()
    console.print(f"{found['home']}: {found['phase']}", highlight=False, soft_wrap=True)
    if found["running"]:
        console.print(view.links(found["api"], found["ui"]))
    if found["processes"]:
        console.print(view.table(found["processes"]))
