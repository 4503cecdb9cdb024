"""Translated documents, for people: jobs as YAML on standard output, and what became of each line beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perdure.cli.humane import count
from perdure.cli.output import Column, Shape


def told(found: Any, source: str) -> Iterator[str]:
    """One line per note, as compilers write them, then what keeps a job from being accepted, then the sum."""
    for item in found.items:
        for note in item.notes:
            yield f"{source}:{note.line}:{note.column}: {note.kind} {note.path}: {note.what}"
        for fault in item.faults:
            yield f"{item.name}: cannot be submitted as it stands: {fault}"
        yield _sum(item)


def _sum(item: Any) -> str:
    kinds = [str(note.kind) for note in item.notes]
    parts = [f"{kinds.count(kind)} {kind}" for kind in ("changed", "dropped", "needed") if kind in kinds]
    notes = ", ".join(parts) if parts else "nothing changed and nothing dropped"
    faults = f"; {count(len(item.faults), 'fault', 'faults')} to mend" if item.faults else ""
    return f"job {item.name}: {notes}{faults}"


def _text(found: Any) -> str:
    return "---\n".join(item.text for item in found.items)


IMPORTED = Shape(
    columns=(Column("JOBS", lambda found: ", ".join(item.name for item in found.items)),),
    name=lambda found: "\n".join(item.name for item in found.items),
    text=_text,
)
