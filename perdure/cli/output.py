"""Data on standard output, in the form that was asked for: one layer for every command.

A command says what a thing looks like (a `Shape`) and hands over models; nothing else prints data.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from perdure.codes import UNKNOWN_FIELD
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from pydantic import BaseModel

    Thing = BaseModel | Mapping[str, Any]

EVERYTHING = "*"  # what a bare --json stands for


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@dataclass(frozen=True)
class Column:
    """A column of a table, and how a cell is made. `style` colours a cell by its text.

    `spare`: a terminal that is too narrow for all columns goes without this one; the last one goes first.
    """

    heading: str
    cell: Callable[[Any], str]
    style: Callable[[str], str] | None = None
    spare: bool = False


@dataclass(frozen=True)
class Shape:
    """How one kind of thing is shown. A single one is shown by its `lines`, or as `text`; columns stand in for both."""

    columns: tuple[Column, ...]
    name: Callable[[Any], str]
    lines: Callable[[Any], list[tuple[str, str]]] | None = None
    text: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Out:
    """The form of a command's data. `fields` None is everything."""

    format: Format
    fields: tuple[str, ...] | None = None

    @classmethod
    def of(cls, json_fields: str | None, output: Format | None) -> Out:
        """From --json and -o. `--json` wins: it is the more particular wish."""
        if json_fields is None:
            return cls(output or Format.TABLE)
        wanted = None if json_fields == EVERYTHING else tuple(_names(json_fields))
        return cls(Format.JSON, wanted)

    @property
    def is_table(self) -> bool:
        return self.format is Format.TABLE

    def one(self, item: Thing, shape: Shape) -> None:
        """Print one thing."""
        match self.format:
            case Format.JSON:
                _write(json.dumps(self._picked(item), indent=2, ensure_ascii=False))
            case Format.YAML:
                _write(_yaml(self._picked(item)))
            case Format.NAME:
                _write(shape.name(item))
            case Format.TABLE if shape.text is not None:
                _write(shape.text(item).rstrip("\n"))
            case Format.TABLE:
                from perdure.cli import tables

                tables.properties(_lines(item, shape))

    def many(self, items: Sequence[Thing], shape: Shape, *, next: str | None = None) -> None:
        """Print a page of things. `next`: the cursor of the page after it."""
        match self.format:
            case Format.JSON:
                page = {"items": [self._picked(item) for item in items], "next": next}
                _write(json.dumps(page, indent=2, ensure_ascii=False))
            case Format.YAML:
                _write(_yaml({"items": [self._picked(item) for item in items], "next": next}))
            case Format.NAME:
                for item in items:
                    _write(shape.name(item))
            case Format.TABLE:
                from perdure.cli import tables

                tables.rows(items, shape)
        if next and self.format is not Format.JSON:
            print(f"there is more: add --cursor {next}, or --all", file=sys.stderr)

    def stream(self, items: Iterable[Thing], shape: Shape) -> None:
        """Print things as they come: one JSON document per line, one YAML document each, or one line each."""
        for item in items:
            match self.format:
                case Format.JSON:
                    _write(json.dumps(self._picked(item), ensure_ascii=False))
                case Format.YAML:
                    _write("---\n" + _yaml(self._picked(item)))
                case Format.NAME:
                    _write(shape.name(item))
                case Format.TABLE:
                    from perdure.cli import tables

                    tables.row(item, shape)

    def _picked(self, item: Thing) -> dict[str, Any]:
        """The thing as JSON, with the fields that were asked for; `progress.step` reaches into objects."""
        whole = dict(item) if isinstance(item, Mapping) else item.model_dump(mode="json", by_alias=True)
        if self.fields is None:
            return whole
        return {name: _field(whole, name) for name in self.fields}


def _names(fields: str) -> list[str]:
    """Field names between commas; one too many at the end is forgiven."""
    return [name.strip() for name in fields.strip().removesuffix(",").split(",")]


def _lines(item: Thing, shape: Shape) -> list[tuple[str, str]]:
    if shape.lines is not None:
        return shape.lines(item)
    return [(column.heading.lower(), column.cell(item)) for column in shape.columns]


def _field(whole: dict[str, Any], name: str) -> Any:
    at: Any = whole
    for number, part in enumerate(name.split(".")):
        if at is None and number:
            return None
        if not isinstance(at, dict) or part not in at:
            known = ", ".join(at) if isinstance(at, dict) else "none, it is a single value"
            remedy = f"Choose from: {known}."
            raise PerdureError(UNKNOWN_FIELD, f"there is no field {name!r}", where="--json", remedy=remedy)
        at = at[part]
    return at


def _yaml(data: Any) -> str:
    import yaml

    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120).rstrip("\n")


def _write(text: str) -> None:
    """Text as it is, never coloured; at once, since it may be read by a pipe that waits for it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
