"""`perdure reservations create`: a reservation from options or from a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out


class AtEnd(StrEnum):
    """What becomes of jobs at the end; a test holds these and the API's together."""

    SUSPEND = "suspend"
    KEEP = "keep"
    CANCEL = "cancel"


def create(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Its name, if no file has it.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="The document, in place of options.")
    ] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Queue that owns it and is charged.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="So many whole nodes.")] = None,
    gpus: Annotated[int | None, typer.Option(min=1, help="So many GPUs, on whole nodes.")] = None,
    node: Annotated[list[str] | None, typer.Option(metavar="NAME", help="This node; repeatable.")] = None,
    flavor: Annotated[str | None, typer.Option(metavar="NAME", help="Flavor of the nodes or GPUs.")] = None,
    cluster: given.OnCluster = None,
    pool: Annotated[str | None, typer.Option(metavar="NAME", help="NodePool that it is taken from.")] = None,
    start: Annotated[
        str | None, typer.Option(metavar="TIME", help="First start in local time: 2027-03-05T22:00.")
    ] = None,
    end: Annotated[str | None, typer.Option(metavar="TIME", help="First end in local time.")] = None,
    length: Annotated[str | None, typer.Option(metavar="TIME", help="Real time from start to end: 8h.")] = None,
    time_zone: Annotated[str | None, typer.Option(metavar="ZONE", help="Of local times: Europe/Berlin.")] = None,
    repeat: Annotated[
        str | None, typer.Option(metavar="daily|weekly|monthly[:N]", help="How it comes again; :2 is every second.")
    ] = None,
    on: Annotated[list[str] | None, typer.Option(metavar="DAYS", help="On these days: mon,wed or -1fri.")] = None,
    times: Annotated[int | None, typer.Option(min=1, help="So often in all.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Last local time at which it may begin.")] = None,
    lead: Annotated[
        str | None, typer.Option(metavar="TIME", help="Nodes are watched so long before each start.")
    ] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Start nothing there in the lead time.")] = False,
    at_end: Annotated[AtEnd | None, typer.Option(help="What becomes of jobs at the end.", show_choices=True)] = None,
    grace: Annotated[str | None, typer.Option(metavar="TIME", help="For jobs to save and stop, after the end.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="QUEUE", help="Jobs of this queue may use it too; repeatable.")
    ] = None,
    extendable: Annotated[str | None, typer.Option(metavar="TIME", help="A window may become so much longer.")] = None,
    extend_notice: Annotated[
        str | None, typer.Option(metavar="TIME", help="That must be asked for so long before the end.")
    ] = None,
    extends_itself: Annotated[
        bool, typer.Option("--extends-itself", help="It becomes longer while its jobs run.")
    ] = False,
    cancel_notice: Annotated[
        str | None, typer.Option(metavar="TIME", help="Charged until so long after it was given up.")
    ] = None,
    free_idle: Annotated[bool, typer.Option("--free-idle", help="Time that nobody used is not charged.")] = False,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")] = None,
    weeks: Annotated[int, typer.Option(min=1, max=52, help="Windows of so many weeks are shown first.")] = 4,
    dry_run: given.DryRun = False,
    yes: given.Yes = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Reserve nodes or GPUs. Every window of the next weeks is shown first, with real hours, what it keeps and what
    clocks do to it; then it asks.

    Local times are meant in the zone that is given.
    """
    from perdure.cli import reserving
    from perdure.cli.reservation_document import Wanted

    wanted = Wanted(
        queue=queue,
        nodes=nodes,
        gpus=gpus,
        node=tuple(node or ()),
        flavor=flavor,
        cluster=cluster,
        pool=pool,
        start=start,
        end=end,
        length=length,
        time_zone=time_zone,
        repeat=repeat,
        on=tuple(on or ()),
        times=times,
        until=until,
        lead=lead,
        drain=drain or None,
        at_end=at_end.value if at_end else None,
        grace=grace,
        allow=tuple(allow or ()),
        extendable=extendable,
        extend_notice=extend_notice,
        extends_itself=extends_itself or None,
        cancel_notice=cancel_notice,
        charge_idle=False if free_idle else None,
        description=description,
    )
    document = reserving.document_of(name, file, wanted)
    with session.client(None) as client:
        reserving.create(client, document, Out.of(json, output), weeks=weeks, dry_run=dry_run, yes=yes)
