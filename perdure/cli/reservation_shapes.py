"""How reservations, their windows and their calendar are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from perdure.cli.humane import count
from perdure.cli.output import Column, Shape
from perdure.cli.queueing_shapes import NOT_YOURS
from perdure.cli.scheduling_shapes import document_lines
from perdure.cli.shapes import BAD, BUSY, GOOD, QUIET, ago_now, text

STYLES = {"active": GOOD, "lead": BUSY, "draining": BUSY, "ended": QUIET}
NONE = "."  # a day without a window
NAMED = 4  # jobs of a window that are named


def _style(phase: str) -> str:
    return STYLES.get(phase, "")


def amount(value: float | None, unit: str = "") -> str:
    """An amount as it is read; what is known only later is `?`."""
    return f"{'?' if value is None else f'{value:g}'}{f' {unit}' if unit else ''}"


def span(window: Any) -> str:
    """From when to when, in the reservation's own zone."""
    return "" if window is None else f"{window.shown_begin} to {window.shown_end}"


def plan_lines(plan: Any) -> Iterator[str]:
    """What a reservation would keep, window by window, and what that comes to."""
    yield f"{plan.name} keeps {plan.keeps} for queue {plan.queue}; local times are of {plan.time_zone}"
    for number, window in enumerate(plan.windows, 1):
        kept = (amount(window.nodes, "nodes"), amount(window.gpus, "GPUs"), amount(window.gpu_hours, "GPU-hours"))
        mark = "!" if window.clocks_change else " "
        yield f"{mark}{number:>4}  {span(window)}  {window.hours:g} h  {'  '.join(kept)}"
        yield from (f"       {note}" for note in window.notes)
    yield from (f"       none on {each.day}: {each.why}" for each in plan.left_out)
    yield _in_all(plan)
    yield f"price: {plan.price}"


def _in_all(plan: Any) -> str:
    windows = count(len(plan.windows), "window", "windows")
    sums = (f"{plan.hours:g} h", amount(plan.node_hours, "node-hours"), amount(plan.gpu_hours, "GPU-hours"))
    follow = f"; more follow after {plan.windows[-1].shown_begin[:10]}" if plan.more else ""
    return f"in all: {windows}, {', '.join(sums)}{follow}"


PLAN = Shape(
    columns=(Column("WINDOWS", lambda plan: text(len(plan.windows))),),
    name=lambda plan: plan.name,
    text=lambda plan: "\n".join(plan_lines(plan)),
)


def _lines(each: Any) -> list[tuple[str, str]]:
    name, *fields = document_lines(each)
    return [name, ("keeps", each.keeps), ("phase", each.phase), ("now or next", _now(each.window)), *fields]


def _now(window: Any) -> str:
    if window is None:
        return "nothing is to come"
    return f"{f'window {window.number}' if window.number else 'not booked yet'}, {span(window)}"


RESERVATION = Shape(
    columns=(
        Column("NAME", lambda each: each.name),
        Column("QUEUE", lambda each: each.queue),
        Column("KEEPS", lambda each: each.keeps),
        Column("PHASE", lambda each: each.phase, _style),
        Column("WINDOW", lambda each: text(each.window.number if each.window else None)),
        Column("FROM", lambda each: each.window.shown_begin if each.window else ""),
        Column("TO", lambda each: each.window.shown_end if each.window else ""),
        Column("POOL", lambda each: each.pool, spare=True),
        Column("TIME ZONE", lambda each: each.time_zone, spare=True),
        Column("CHANGED", lambda each: f"{ago_now(each.updated_at)} by {each.updated_by}", spare=True),
        Column("DESCRIPTION", lambda each: each.description, spare=True),
    ),
    name=lambda each: each.name,
    lines=_lines,
)


def _users(window: Any) -> str:
    """Who has some of it now, or had last."""
    now = [use for use in window.uses if use.until is None] or window.uses
    shown = [f"{use.name or NOT_YOURS}: {_used(use)}" for use in now[:NAMED]]
    more = len(now) - NAMED
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else [])])


def _used(use: Any) -> str:
    nodes = count(use.nodes, "node", "nodes")
    return f"{nodes}, {use.gpus:g} GPUs" if use.gpus else nodes


def _nodes(window: Any) -> str:
    return window.short or (",".join(window.node_names) if window.node_names else amount(window.nodes, "nodes"))


def _changed(window: Any) -> str:
    given_up = f"given up {ago_now(window.cancelled_at)}" if window.cancelled_at else ""
    longer = f"{window.extended} longer" if window.extended else ""
    return ", ".join(part for part in (longer, given_up, window.moved) if part)


WINDOW = Shape(
    columns=(
        Column("WINDOW", lambda each: text(each.number)),
        Column("PHASE", lambda each: each.phase, _style),
        Column("FROM", lambda each: each.shown_begin),
        Column("TO", lambda each: each.shown_end),
        Column("HOURS", lambda each: f"{each.hours:g}"),
        Column("NODES", _nodes, lambda text: BAD if text.startswith("needs") else ""),
        Column("GPUS", lambda each: amount(each.gpus)),
        Column("USED BY", _users),
        Column("NODE-H USED", lambda each: amount(each.used_node_hours)),
        Column("UNUSED", lambda each: amount(each.unused_node_hours)),
        Column("GPU-H USED", lambda each: amount(each.used_gpu_hours)),
        Column("UNUSED", lambda each: amount(each.unused_gpu_hours)),
        Column("CHANGED", _changed),
    ),
    name=lambda each: text(each.number),
)
OUTCOME = Shape(
    columns=(
        Column("RESERVATION", lambda each: each.reservation),
        Column("WINDOW", lambda each: text(each.window)),
        Column("ENDS", lambda each: each.shown_end),
        Column("MESSAGE", lambda each: each.message),
    ),
    name=lambda each: each.reservation,
)


def calendar_text(page: Any) -> str:
    """A grid of days and reservations: real hours on each day."""
    days = [date.fromisoformat(day) for day in page.days]
    names = [each.reservation for each in page.items]
    first = max((len(name) for name in ("RESERVATION", *names)), default=0)
    cells = [[f"{hours:g}" if hours else NONE for hours in each.hours_by_day] for each in page.items]
    width = max((len(cell) for row in cells for cell in row), default=2)
    width = max(width, 3)
    months = [f"{day:%b}" if not number or day.day == 1 else "" for number, day in enumerate(days)]
    heads = [("", months), (f"{page.time_zone}", [f"{day:%a}" for day in days])]
    heads.append(("RESERVATION", [str(day.day) for day in days]))
    first = max(first, len(page.time_zone))
    lines = [_row(head, row, first, width) for head, row in heads]
    for each, row in zip(page.items, cells, strict=True):
        lines.append(f"{_row(each.reservation, row, first, width)}  {each.keeps}, queue {each.queue}")
    return "\n".join([*lines, *([] if page.items else ["nothing is reserved"])])


def _row(head: str, cells: Sequence[str], first: int, width: int) -> str:
    return " ".join([head.ljust(first), *(cell.rjust(width) for cell in cells)]).rstrip()


CALENDAR = Shape(
    columns=(Column("RESERVATIONS", lambda page: text(len(page.items))),),
    name=lambda page: "\n".join(each.reservation for each in page.items),
    text=calendar_text,
)
