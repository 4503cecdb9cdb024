"""Who waits and why, what there is, what queues use, and what was decided."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.completion import queues
from perdure.cli.output import Out
from perdure.cli.verb import command, group

if TYPE_CHECKING:
    from perdure.client import Client
    from perdure.client._models import CapacityPage

QueueArgument = Annotated[
    str | None, typer.Argument(metavar="[QUEUE]", help="Only this queue; all when left out.", autocompletion=queues)
]
LOCAL = "local"


def register(app: typer.Typer) -> None:
    """Add the commands; `queues usage` goes to the noun that is there (`register_usage`)."""
    command(app, "queue", "perdure queue", "perdure queue research", shows="WaitingJob")(queue)
    command(app, "capacity", "perdure capacity", "perdure capacity --pool north-1 --json gpus", shows="CapacityPage")(
        capacity
    )
    noun = group(app, "decisions", "What the scheduler decided, and from what.", "perdure decisions show local 1")
    command(noun, "list", "perdure decisions list north-1", shows="DecisionView")(list_decisions)
    command(noun, "show", "perdure decisions show local 1", shows="WholeDecision")(show_decision)


def register_usage(noun: typer.Typer) -> None:
    """Add the verb to `perdure queues`."""
    command(noun, "usage", "perdure queues usage research", shows="QueueUse")(usage)


def queue(
    queue: QueueArgument = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on: redraw on a terminal, else every job that changes.")
    ] = False,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List jobs that wait for places, in order: what they ask for, what is lacking, and when they start.

    Of jobs that are not yours you see where they stand in the order, and amounts.
    """
    from perdure.cli.lists import show_list
    from perdure.cli.queueing_shapes import WAITING
    from perdure.client.operations import queueing

    out, make = Out.of(json, output), partial(queueing.waiting, queue=queue)
    with session.client(project) as client:
        if watch:
            _watch(client, out, partial(make, limit=limit or 500))
        else:
            show_list(client, out, WAITING, make, limit=limit, cursor=cursor, whole=whole)


def capacity(
    pool: Annotated[str | None, typer.Option(metavar="NAME", help="Only nodes of this cluster.")] = None,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Show GPUs by type with what waiting jobs ask for, then nodes with what jobs hold of each.

    A pod needs its GPUs on one node, so it is told how the free ones lie.
    """
    from perdure.cli import tables
    from perdure.cli.queueing_shapes import CAPACITY, GPUS, NODES

    out = Out.of(json, output)
    with session.client(None) as client:
        page = _all_nodes(client, pool) if whole else client.capacity.list(pool=pool, limit=limit, cursor=cursor)
    if not out.is_table:
        out.one(page, CAPACITY)
        return
    if page.gpus:
        tables.rows(page.gpus, GPUS)
        print()
    out.many(page.items, NODES, next=page.next)


def usage(
    queue: QueueArgument = None,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Show what queues are guaranteed, use, borrow, lend and wait for, by resource."""
    from perdure.cli.lists import show_list
    from perdure.cli.queueing_shapes import USE
    from perdure.client.operations import queueing

    make = partial(queueing.usage, queue=queue)
    with session.client(None) as client:
        show_list(client, Out.of(json, output), USE, make, limit=limit, cursor=cursor, whole=whole)


def list_decisions(
    pool: Annotated[str, typer.Argument(metavar="[POOL]", help="A cluster, or local.")] = LOCAL,
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List decisions of a pool's scheduler, newest first."""
    from perdure.cli.lists import show_list
    from perdure.cli.queueing_shapes import DECISION
    from perdure.client.operations import queueing

    make = partial(queueing.list_decisions, pool=pool)
    with session.client(None) as client:
        show_list(client, Out.of(json, output), DECISION, make, limit=limit, cursor=cursor, whole=whole)


def show_decision(
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A cluster, or local.")],
    number: Annotated[int, typer.Argument(metavar="N", min=1, help="Number of the decision.")],
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Show a decision: from what it was made, who got places, who has to go and for whom, who waits and why."""
    from perdure.cli.queueing_shapes import DECISION

    with session.client(project) as client:
        Out.of(json, output).one(client.decisions.get(pool, number), DECISION)


def _watch(client: Client, out: Out, make: Any) -> None:
    """Redraw the list on a terminal; in a pipe tell every job that is new or of which something else is said."""
    import sys
    import time

    from perdure.cli import tables
    from perdure.cli.lists import INTERVAL, changes
    from perdure.cli.queueing_shapes import WAITING

    def look() -> list[Any]:
        return list(client.call(make()).items)

    if not (out.is_table and sys.stdout.isatty()):
        out.stream(changes(look, lambda each: each.model_dump_json()), WAITING)
        return
    while True:
        tables.screen(look(), WAITING, "nobody waits")
        time.sleep(INTERVAL)


def _all_nodes(client: Client, pool: str | None) -> CapacityPage:
    """Every page as one."""
    page = first = client.capacity.list(pool=pool, limit=500)
    nodes = list(first.items)
    while page.next:
        page = client.capacity.list(pool=pool, limit=500, cursor=page.next)
        nodes += page.items
    return first.model_copy(update={"items": nodes, "next": None})
