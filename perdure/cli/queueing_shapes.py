"""How jobs that wait, nodes and GPUs, queues' use and decisions are shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from perdure.cli.humane import count, lasting, size
from perdure.cli.output import Column, Shape
from perdure.cli.shapes import BAD, BUSY, GOOD, ago_now, local, text

NOT_YOURS = "(not yours)"
RANKS = 16  # places of a job that are shown line by line
FULL, EMPTY = "■", "□"
MOST_BOXES = 16


def job(each: Any) -> str:
    """A job by name, where it may be seen."""
    return each.name if each.yours else NOT_YOURS


def asks(each: Any) -> str:
    """What a job asks for: `4 nodes x 8 H100`."""
    return ", ".join(_ask(ask) for ask in each.asks)


def start(each: Any) -> str:
    """When a job starts, and how sure that is."""
    if each.start_at is None:
        return ""
    return f"{ago_now(each.start_at)} ({each.confidence})"


def amount(value: float | None, unit: str) -> str:
    """An amount as it is read; bytes in binary units."""
    if value is None:
        return ""
    return size(int(value)) if unit == "bytes" else f"{value:g}"


def places(nodes: Sequence[Any]) -> str:
    """Places by rank: node, and which of its GPUs."""
    lines = [_place(each) for each in nodes[:RANKS]]
    more = len(nodes) - RANKS
    return "\n".join([*lines, *([f"and {count(more, 'place', 'places')} more"] if more > 0 else [])])


def waiting_lines(each: Any) -> list[tuple[str, str]]:
    """What is known of a job of one's own that waits."""
    lacks = each.shortage
    decided = f"decision {each.decision} of pool {each.pool}" if each.decision else "not decided yet"
    ever = {True: "yes", False: "no, not with these queues and nodes", None: "not known"}[each.can_ever]
    return [
        ("queue", f"{each.queue}, position {each.position}" if each.position else each.queue),
        ("asks for", asks(each)),
        ("waits since", f"{ago_now(each.since)}{_too_long(each)}"),
        ("lacks", "" if lacks is None else _needs(lacks)),
        ("closest", each.domain),
        ("starts", f"{local(each.start_at)}, {start(each)}" if each.start_at else "no start is known yet"),
        ("can ever run", ever),
        ("would help", "\n".join(each.would_help)),
        ("decided by", f"{decided}{f', {ago_now(each.decided_at)}' if each.decided_at else ''}"),
    ]


def held_lines(held: Any) -> list[tuple[str, str]]:
    """The places that a job of one's own holds."""
    leaving = f"for {held.leaves_for or 'another job'}, as soon as it has saved" if held.leaving else ""
    since = f"{ago_now(held.since)}, by decision {held.decision} of pool {held.pool}" if held.since else ""
    return [("queue", held.queue), ("holds", places(held.nodes)), ("held since", since), ("has to leave", leaving)]


def _ask(ask: Any) -> str:
    if ask.gpus:
        each = f"{ask.gpus} {ask.gpu_type}" if ask.gpu_type else count(ask.gpus, "GPU", "GPUs")
    else:
        each = " ".join(part for part in (f"{ask.cpus:g} CPU" if ask.cpus else "", size(ask.memory or None)) if part)
    return f"{count(ask.count, 'node', 'nodes')}{f' x {each}' if each else ''}"


def _needs(lacks: Any) -> str:
    """The numbers of what is lacking, one below the other."""
    unit = "" if lacks.unit == "bytes" else f" {lacks.unit}"
    numbers = (("needs", lacks.needed), ("free", lacks.free), ("limit", lacks.limit))
    lines = [f"{name:<7}{amount(value, lacks.unit)}{unit}" for name, value in numbers if value is not None]
    return "\n".join([f"{lacks.resource}{f' at {lacks.at}' if lacks.at else ''}", *lines])


def _place(each: Any) -> str:
    devices = f": GPU {', '.join(map(str, each.devices))}" if each.devices else ""
    return f"rank {each.rank}: {each.node}{devices}{' (simulated)' if each.simulated else ''}"


def _too_long(each: Any) -> str:
    """By how much it has waited longer than its class says."""
    by = lasting(timedelta(seconds=each.overdue))
    return f", {by} longer than class {each.priority_class} allows" if each.overdue else ""


def _lacks(each: Any) -> str:
    return each.shortage.words if each.shortage is not None else text(each.cause)


def _priority(each: Any) -> str:
    return f"{each.priority_class} ({each.priority})" if each.priority_class else text(each.priority)


WAITING = Shape(
    columns=(
        Column("POSITION", lambda each: text(each.position)),
        Column("JOB", job),
        Column("QUEUE", lambda each: each.queue),
        Column("PRIORITY", _priority, spare=True),
        Column("ASKS", asks),
        Column("AGE", lambda each: lasting(datetime.now(UTC) - each.since)),
        Column("LACKS", _lacks),
        Column("STARTS", start),
        Column("POOL", lambda each: each.pool, spare=True),
        Column("REASON", lambda each: each.reason, spare=True),
    ),
    name=lambda each: each.name or text(each.position),
)


def _boxes(node: Any) -> str:
    """A box for each GPU, full ones first; of many GPUs the numbers say enough."""
    if not 0 < node.gpus <= MOST_BOXES:
        return ""
    used = min(node.gpus, -(-node.gpus_used // 1))
    return FULL * int(used) + EMPTY * int(node.gpus - used)


def _state(node: Any) -> str:
    states = ["ready" if node.ready else "not ready"]
    states += [] if node.schedulable else ["cordoned"]
    states += ["simulated"] if node.simulated else []
    return ", ".join(states)


def _state_style(text: str) -> str:
    return BAD if text.startswith("not") else BUSY if "cordoned" in text else GOOD


NODES = Shape(
    columns=(
        Column("NODE", lambda node: node.name),
        Column("POOL", lambda node: node.pool),
        Column("GPUS", _boxes),
        Column("TOTAL", lambda node: f"{node.gpus:g}"),
        Column("USED", lambda node: f"{node.gpus_used:g}"),
        Column("FREE", lambda node: f"{node.gpus_free:g}"),
        Column("TYPE", lambda node: node.gpu_type),
        Column("CPUS", lambda node: f"{node.cpus_used:g}/{node.cpus:g}", spare=True),
        Column("MEMORY", lambda node: f"{size(node.memory_used)}/{size(node.memory)}", spare=True),
        Column("STATE", _state, _state_style),
    ),
    name=lambda node: node.name,
)
GPUS = Shape(
    columns=(
        Column("GPU TYPE", lambda each: " or ".join(name or "unknown" for name in each.gpu_types)),
        Column("POOL", lambda each: each.pool),
        Column("TOTAL", lambda each: f"{each.total:g}"),
        Column("USED", lambda each: f"{each.used:g}"),
        Column("FREE", lambda each: f"{each.free:g}"),
        Column("OUT OF SERVICE", lambda each: f"{each.out_of_service:g}" if each.out_of_service else ""),
        Column("WANTED", lambda each: f"{each.demand:g}"),
        Column("BY JOBS", lambda each: f"{each.waiting:g}", spare=True),
        Column("SHORT OF", lambda each: f"{each.shortfall:g}" if each.shortfall else "", lambda text: BAD),
        Column("HOW THEY LIE", lambda each: each.words),
    ),
    name=lambda each: " ".join(each.gpu_types),
)
CAPACITY = Shape(
    columns=(Column("NODES", lambda page: text(len(page.items))),),
    name=lambda page: "\n".join(node.name for node in page.items),
)


def _lent(use: Any) -> str:
    return ", ".join(f"{amount(each.amount, use.unit)} to {each.queue}" for each in use.lent_to)


USE = Shape(
    columns=(
        Column("QUEUE", lambda use: use.queue),
        Column("RESOURCE", lambda use: use.resource),
        Column("GUARANTEED", lambda use: amount(use.guaranteed, use.unit)),
        Column("LIMIT", lambda use: amount(use.limit, use.unit)),
        Column("USED", lambda use: amount(use.used, use.unit)),
        Column("BORROWED", lambda use: amount(use.borrowed, use.unit) if use.borrowed else "", lambda text: BUSY),
        Column("LENT", lambda use: amount(use.lent, use.unit) if use.lent else ""),
        Column("LENT TO", _lent, spare=True),
        Column("WAITING", lambda use: amount(use.waiting, use.unit) if use.waiting else ""),
    ),
    name=lambda use: use.queue,
)


def _causes(decision: Any) -> str:
    return ", ".join(f"{number} {cause}" for cause, number in decision.causes.items())


def _placed(each: Any) -> str:
    what = f"{count(each.count, 'place', 'places')}, {each.gpus:g} GPUs of queue {each.queue}"
    where = "" if not each.places else f": {', '.join(place.node for place in each.places[:RANKS])}"
    return f"{job(each)}: {what}{where}{'; it had changed, and got nothing' if each.dropped else ''}"


def _displaced(each: Any) -> str:
    whom = f" for {each.leaves_for}" if each.leaves_for else ""
    why = f": {each.reason}" if each.reason else ""
    keeps = "" if each.keeps is None else f"; keeps {count(each.keeps, 'place', 'places')}"
    return f"{job(each)}{whom}{why}{keeps}{'; it had changed, and was told nothing' if each.dropped else ''}"


def _grown(each: Any) -> str:
    sizes = f"from {each.before} to {count(each.after, 'place', 'places')}"
    return f"{job(each)}: {sizes}{'; it had changed, and keeps its size' if each.dropped else ''}"


def _refused(each: Any) -> str:
    return f"{text(each.position)} {job(each)}: {each.reason or text(each.cause)}"


def _decision_lines(decision: Any) -> list[tuple[str, str]]:
    lines = [
        ("decision", f"{decision.number} of pool {decision.pool}"),
        ("made", f"{local(decision.at)} ({ago_now(decision.at)})"),
        ("from", f"{count(decision.nodes, 'node', 'nodes')}, {count(decision.running, 'running job', 'running jobs')}"),
        ("digest", decision.digest),
        ("token", text(decision.token)),
        ("placed", "\n".join(_placed(each) for each in decision.gangs_placed)),
        ("displaced", "\n".join(_displaced(each) for each in decision.gangs_displaced)),
        ("grown", "\n".join(_grown(each) for each in decision.gangs_grown or [])),
        ("waiting", f"{decision.waiting}{f': {_causes(decision)}' if decision.causes else ''}"),
        ("told anew", "\n".join(_refused(each) for each in decision.gangs_refused)),
    ]
    return [(name, value) for name, value in lines if value]


DECISION = Shape(
    columns=(
        Column("NUMBER", lambda each: text(each.number)),
        Column("POOL", lambda each: each.pool),
        Column("MADE", lambda each: ago_now(each.at)),
        Column("PLACED", lambda each: text(each.placed)),
        Column("DISPLACED", lambda each: text(each.displaced)),
        Column("WAITING", lambda each: text(each.waiting)),
        Column("CAUSES", _causes),
        Column("TOKEN", lambda each: text(each.token), spare=True),
        Column("DIGEST", lambda each: each.digest[:16], spare=True),
    ),
    name=lambda each: text(each.number),
    lines=_decision_lines,
)
