"""Documents as callers have them: a model, a mapping, YAML text, or a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from perdure.codes import UNREADABLE_FILE
from perdure.errors import PerdureError

Document = BaseModel | Mapping[str, Any] | str | Path
"""A model or mapping is sent as JSON; text and files as YAML, so that faults are told with line and column."""

OF_SCHEDULER = frozenset({"Queue", "ResourceFlavor", "PriorityClass", "Topology", "NodePool", "Reservation"})
"""Kinds of which one file may hold several documents: they are applied together."""


def body_of(document: Document) -> dict[str, Any]:
    """The fields of a request body that carry a document."""
    if isinstance(document, Path):
        return {"text": read_text(document), "source": str(document)}
    if isinstance(document, str):
        return {"text": document}
    if isinstance(document, BaseModel):
        return {"document": document.model_dump(mode="json", exclude_unset=True)}
    return {"document": dict(document)}


def kind_of(file: Path) -> str:
    """The kind that a file's document says it is, as far as that can be read; empty when it cannot.

    Only chooses whom to ask: the API reads the file again, and strictly.
    """
    kinds = kinds_of(file)
    return kinds[0] if len(kinds) == 1 else ""


def kinds_of(file: Path) -> list[str]:
    """The kinds of all documents of a file; none when it is no YAML."""
    try:
        found = list(yaml.safe_load_all(read_text(file)))
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    kinds = [each.get("kind") for each in found if isinstance(each, dict)]
    return [kind for kind in kinds if isinstance(kind, str)]


def of_scheduler(file: Path) -> bool:
    """Whether a file is for the scheduler: any of its documents says so."""
    return not OF_SCHEDULER.isdisjoint(kinds_of(file))


def read_text(file: Path) -> str:
    """A file's text. Raises PerdureError PD-2909 when it cannot be had."""
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise PerdureError(UNREADABLE_FILE, f"{file}: {error.strerror}", where=str(file)) from error
    except UnicodeDecodeError as error:
        raise PerdureError(
            UNREADABLE_FILE, f"{file} is not text in UTF-8", where=f"{file}:byte {error.start}"
        ) from error
