"""What people see of the embedded stack: a table that renews itself on a terminal, lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from perdure.local.state import Phase, State

COLOURS = {"ready": "green", "starting": "yellow", "waiting": "yellow", "degraded": "yellow", "gone": "red"}


@contextmanager
def following(console: Console) -> Iterator[Callable[[State], None]]:
    """A function that shows each new state, for as long as the block runs."""
    if not console.is_terminal:
        yield lambda state: console.print(_line(state), soft_wrap=True, highlight=False)
        return
    # No refreshing thread: the supervisor starts processes, and is single-threaded for that.
    with Live(console=console, auto_refresh=False) as live:
        yield lambda state: live.update(_screen(state), refresh=True)


def table(processes: list[dict[str, Any]]) -> Table:
    """The control plane's processes, as `perdure status` shows them."""
    columns = ("process", "state", "pid", "restarts", "since")
    drawn = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for process in processes:
        state = str(process["state"])
        pid = str(process["pid"] or "-")
        drawn.add_row(
            process["name"], Text(state, COLOURS.get(state, "")), pid, str(process["restarts"]), process["since"]
        )
    return drawn


def links(api: str, ui: str | None) -> Text:
    return Text(f"API      {api} (documentation: {api}/docs)" + (f"\nWeb UI   {ui}" if ui else ""))


def _screen(state: State) -> RenderableType:
    rows = [
        {
            "name": part.name,
            "state": str(part.state),
            "pid": part.process.pid if part.process else None,
            "restarts": part.restarts,
            "since": part.since,
        }
        for part in state.processes
    ]
    head = Text.assemble("Perdure is ", (str(state.phase), COLOURS.get(state.phase, "")))
    if state.phase in (Phase.READY, Phase.DEGRADED):
        foot = Text("Ctrl-C stops the control plane; jobs go on.", "dim")
        return Group(head, links(state.ports.api_url, state.ui_url), table(rows), foot)
    return Group(head, table(rows))


def _line(state: State) -> str:
    parts = ", ".join(f"{part.name} {part.state}" for part in state.processes)
    ui = f", Web UI {state.ui_url}" if state.ui_url else ""
    where = f" at {state.ports.api_url}{ui}" if state.phase is Phase.READY else ""
    return f"{state.since} {state.phase}{where}: {parts}"
