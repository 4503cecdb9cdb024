"""How documents of the scheduler are shown, and what applying some would change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from perdure.cli.humane import count
from perdure.cli.output import Column, Shape
from perdure.cli.shapes import ago_now, text


def document_lines(each: Any) -> list[tuple[str, str]]:
    """Every field of the document, in its own order, and who changed it when."""
    fields = [(_words(name), _several(value)) for name, value in _spec(each).items()]
    return [
        ("name", each.name),
        *fields,
        ("generation", text(each.generation)),
        ("changed", f"{ago_now(each.updated_at)} by {each.updated_by}"),
        ("created", f"{ago_now(each.created_at)} by {each.created_by}"),
    ]


def _spec(each: Any) -> dict[str, Any]:
    spec: dict[str, Any] = each.document.get("spec", {})
    return spec


def _of(field: str) -> Callable[[Any], str]:
    """A cell with a field of the document's spec."""
    return lambda each: _plain(_spec(each).get(field))


def _bounds(word: str) -> Callable[[Any], str]:
    """A cell with one of the four numbers of each quota: `8 gpus, 4 h100`."""

    def cell(each: Any) -> str:
        quotas = _spec(each).get("quotas", {})
        named = [(name, quotas[name]) for name in ("cpus", "memory", "gpus") if name in quotas]
        named += quotas.get("flavors", {}).items()
        return ", ".join(f"{quota[word]} {name}" for name, quota in named if quota.get(word) is not None)

    return cell


def _nodes(each: Any) -> str:
    made = _spec(each).get("simulated")
    if made is not None:
        return f"{made['count']} simulated"
    return _inline(_spec(each).get("nodeSelector", {}))


def _levels(each: Any) -> str:
    return " > ".join(level["name"] for level in _spec(each).get("levels", []))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return ", ".join(map(str, value))
    if isinstance(value, dict | list):
        return _inline(value)
    return text(value)


def _inline(value: Any) -> str:
    """A value in one line: `guarantee 8, limit 16`."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_inline(each)}" for key, each in value.items())
    if isinstance(value, list):
        return "; ".join(map(_inline, value))
    return _plain(value)


def _several(value: Any) -> str:
    """A value of one line for each of its parts."""
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_inline(each)}" for key, each in value.items())
    if isinstance(value, list):
        return "\n".join(map(_inline, value))
    return _plain(value)


def _words(name: str) -> str:
    """`minRunTime` as people say it."""
    return re.sub(r"(?<=[a-z])([A-Z])", r" \1", name).lower().replace("gpu ", "GPU ")


def _shape(*columns: Column) -> Shape:
    return Shape(
        columns=(
            Column("NAME", lambda each: each.name),
            *columns,
            Column("CHANGED", lambda each: f"{ago_now(each.updated_at)} by {each.updated_by}", spare=True),
            Column("DESCRIPTION", lambda each: each.description, spare=True),
        ),
        name=lambda each: each.name,
        lines=document_lines,
    )


QUEUE = _shape(
    Column("PARENT", _of("parent")),
    Column("WEIGHT", lambda each: f"{_spec(each).get('weight', 1):g}"),
    Column("GUARANTEED", _bounds("guarantee")),
    Column("LIMIT", _bounds("limit")),
    Column("ORDER", _of("order"), spare=True),
    Column("STOP", _of("stop")),
    Column("DEFAULT", _of("default")),
)
FLAVOR = _shape(
    Column("GPU TYPE", _of("gpuType")),
    Column("MEMORY", _of("gpuMemory")),
    Column("ALSO KNOWN AS", _of("alsoKnownAs")),
)
PRIORITY_CLASS = _shape(
    Column("VALUE", _of("value")),
    Column("DEFAULT", _of("default")),
    Column("USABLE BY", _of("usableBy")),
    Column("PREEMPTIBLE", _of("preemptible")),
    Column("LONGEST WAIT", _of("longestQueueTime")),
)
TOPOLOGY = _shape(Column("LEVELS", _levels))
NODE_POOL = _shape(Column("NODES", _nodes), Column("TOPOLOGY", _of("topology")))


def change_lines(changes: Any) -> Iterator[str]:
    """Each document with what becomes of it, and below it what differs."""
    for item in changes.items:
        yield f"{item.outcome.value:9} {item.kind} {item.name}"
        if item.outcome.value != "replaced":
            continue
        for change in item.changes:
            yield from (f"  {change.path}", f"    - {_value(change.before)}", f"    + {_value(change.after)}")


def summary(changes: Any) -> str:
    """`1 created, 2 unchanged`."""
    outcomes = [item.outcome.value for item in changes.items]
    return ", ".join(f"{outcomes.count(word)} {word}" for word in dict.fromkeys(outcomes))


def _value(value: Any) -> str:
    return "(not there)" if value is None else json.dumps(value, ensure_ascii=False)


CHANGES = Shape(
    columns=(Column("DOCUMENTS", lambda changes: count(len(changes.items), "document", "documents")),),
    name=lambda changes: "\n".join(f"{item.kind}/{item.name}" for item in changes.items),
    text=lambda changes: "\n".join(change_lines(changes)),
)
