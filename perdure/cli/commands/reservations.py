"""Reservations: what is kept for a queue in windows of time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli import completion, session
from perdure.cli import options as given
from perdure.cli.commands.reservation_create import create
from perdure.cli.output import Out
from perdure.cli.verb import command, group

if TYPE_CHECKING:
    from perdure.client import Client
    from perdure.client._models import CalendarPage, ReservationView

PAST = timedelta(days=30)  # windows that have ended are shown for so long
ReservationName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of a reservation.", autocompletion=completion.reservations)
]
Window = Annotated[
    int | None, typer.Option("--window", metavar="N", min=1, help="Its number; else the one that is on or comes next.")
]


def register(app: typer.Typer) -> None:
    """Add the noun."""
    called = "perdure reservations"
    noun = group(app, "reservations", "Nodes or GPUs kept for a queue in windows of time.", f"{called} calendar")
    command(
        noun,
        "create",
        f"{called} create evening --queue research --nodes 4 --start 2030-03-04T18:00 --length 8h "
        "--time-zone Europe/Berlin --repeat weekly --on mon,wed --yes",
        f"{called} create -f evening.yaml --dry-run",
        shows="ReservationView",
    )(create)
    command(noun, "list", f"{called} list", shows="ReservationView")(list_)
    command(noun, "show", f"{called} show evening", shows="ReservationView")(show)
    command(noun, "windows", f"{called} windows evening --json number,phase", shows="WindowView")(windows)
    command(noun, "extend", f"{called} extend evening --by 2h", shows="WindowOutcome")(extend)
    command(noun, "cancel", f"{called} cancel evening --window 2 -y", shows="WindowOutcome")(cancel)
    command(noun, "delete", f"{called} delete evening -y")(delete)
    command(noun, "calendar", f"{called} calendar --from 2030-03-01 --days 14", shows="CalendarPage")(calendar)


def list_(
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List reservations by name, each with the window that is on or comes next."""
    from perdure.cli.lists import show_list
    from perdure.cli.reservation_shapes import RESERVATION
    from perdure.client.operations import reservations

    make = reservations.list_reservations
    with session.client(None) as client:
        show_list(client, Out.of(json, output), RESERVATION, make, limit=limit, cursor=cursor, whole=whole)


def show(name: ReservationName, json: given.Json = None, output: given.Output = None) -> None:
    """Show a reservation with its windows: where each stands, its nodes, who uses it, what was used and what not.

    Of windows that have ended it shows those of the last 30 days; `reservations windows` has all.
    """
    from perdure.cli import tables
    from perdure.cli.reservation_shapes import RESERVATION, WINDOW

    out = Out.of(json, output)
    with session.client(None) as client:
        view = client.reservations.get(name)
        page = client.reservations.windows(name, since=datetime.now(UTC) - PAST)
    if not out.is_table:
        windows = [window.model_dump(mode="json", by_alias=True) for window in page.items]
        out.one({**view.model_dump(mode="json", by_alias=True), "windows": windows}, RESERVATION)
        return
    out.one(view, RESERVATION)
    if page.items:
        print()
        tables.rows(page.items, WINDOW)


def windows(
    name: ReservationName,
    since: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Only those that had not ended then: 10d (ago), or a time.")
    ] = None,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List booked windows of a reservation in order."""
    from functools import partial

    from perdure.cli.lists import show_list
    from perdure.cli.reservation_shapes import WINDOW
    from perdure.client.operations import reservations

    make = partial(reservations.windows, name, since=session.since(since))
    with session.client(None) as client:
        show_list(client, Out.of(json, output), WINDOW, make, limit=limit, cursor=cursor, whole=whole)


def extend(
    name: ReservationName,
    by: Annotated[str | None, typer.Option(metavar="TIME", help="So much longer, such as 2h.")] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="New end in its local time: 2027-03-06T08:00.")
    ] = None,
    window: Window = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Make a window longer, as far as its reservation allows."""
    from perdure.cli.reservation_shapes import OUTCOME

    with session.client(None) as client:
        told = client.reservations.extend(name, by=by, until=until, window=window)
        Out.of(json, output).one(told, OUTCOME)


def cancel(
    name: ReservationName,
    window: Window = None,
    yes: given.Yes = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Give one window up: its nodes are free for others, and its jobs are told to go. Other windows stay.

    `perdure reservations delete` gives up all that is still to come.
    """
    from perdure.cli.reservation_shapes import OUTCOME

    with session.client(None) as client:
        if window is None:
            view = client.reservations.get(name)
            window, what = _present(view)
        else:
            what = f"window {window}"
        session.confirm(f"Give up {what} of reservation {name}?", yes)
        Out.of(json, output).one(client.reservations.cancel(name, window=window), OUTCOME)


def delete(name: ReservationName, yes: given.Yes = False) -> None:
    """Delete a reservation: all of its windows that are still to come are given up, and one that is on ends."""
    from perdure.cli.terminal import say

    session.confirm(f"Delete reservation {name} with all of its windows?", yes)
    with session.client(None) as client:
        client.reservations.delete(name)
    say(f"deleted reservation {name}")


def calendar(
    first: Annotated[str | None, typer.Option("--from", metavar="DAY", help="First day; today when left out.")] = None,
    days: Annotated[int, typer.Option(min=1, max=92, help="So many days.")] = 14,
    time_zone: Annotated[str, typer.Option(metavar="ZONE", help="Zone in which the days begin.")] = "UTC",
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Show which reservations have windows on which days: a grid with the real hours of each."""
    from perdure.cli.reservation_shapes import CALENDAR

    day = None if first is None else session.argument("--from", lambda: date.fromisoformat(first))
    asked: dict[str, Any] = {"first": day, "days": days, "time_zone": time_zone}
    with session.client(None) as client:
        page = _whole(client, asked) if whole else client.reservations.calendar(**asked, limit=limit, cursor=cursor)
    out = Out.of(json, output)
    out.one(page, CALENDAR)
    if page.next and out.is_table:
        from perdure.cli.terminal import say

        say(f"there is more: add --cursor {page.next}, or --all")


def _present(view: ReservationView) -> tuple[int | None, str]:
    """Number and words of the window that is on or comes next; nothing is known of one that is not booked."""
    if view.window is None or view.window.number is None:
        return None, "a window"
    return (
        view.window.number,
        f"window {view.window.number}, from {view.window.shown_begin} to {view.window.shown_end},",
    )


def _whole(client: Client, asked: dict[str, Any]) -> CalendarPage:
    """Every page as one."""
    page = first = client.reservations.calendar(**asked, limit=500)
    items = list(first.items)
    while page.next:
        page = client.reservations.calendar(**asked, limit=500, cursor=page.next)
        items += page.items
    return first.model_copy(update={"items": items, "next": None})
