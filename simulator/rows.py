"""Rows of a CSV or JSON-lines file, each cell with its place, and every fault in them reported at once."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from definitions.errors import PerdureError
from definitions.quantities import QuantityError

CODE = "PD-4014"
SHOWN = 20  # faults; the rest are counted


class BadCell(ValueError):
    """`what` says what is wrong with a cell, `fix` what to write instead."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.what, self.fix = what, fix


@dataclass(frozen=True, slots=True)
class Column:
    """`read` turns a cell's text or JSON value into what is meant, or raises BadCell or QuantityError.

    An absent or empty cell is `default`; without one (`needed`) it is a fault.
    """

    name: str
    read: Callable[[object], Any]
    default: Any = None
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    cells: Mapping[str, object]
    columns: Mapping[str, int]  # where each cell begins, counted from 1


class Faults:
    """Faults of one file, up to the end of reading it."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.found: list[PerdureError] = []
        self.count = 0

    def add(self, line: int, column: int, what: str, fix: str) -> None:
        self.count += 1
        if len(self.found) < SHOWN:
            self.found.append(PerdureError(CODE, what, where=f"{self.shown}:{line}:{column}", remedy=fix))

    def settle(self) -> None:
        """Raise PD-4014 when there were any."""
        if self.count == 1:
            raise self.found[0]
        if self.count:
            more = f", the first {SHOWN} are shown" if self.count > SHOWN else ""
            raise PerdureError(CODE, f"{self.count} faults in {self.shown}{more}", where=self.shown, errors=self.found)


def read(path: Path, shown: str, columns: Sequence[Column], faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line and values of each good row; faults of the others are added. JSON lines when the name ends in .jsonl or
    .json, else CSV with a heading. Raises PD-4014 for a file that cannot be read at all."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise PerdureError(CODE, f"{shown} cannot be read: {why}", where=shown) from None
    lines = text.splitlines()
    rows = _json(lines, columns, faults) if path.suffix in (".json", ".jsonl") else _csv(lines, columns, faults)
    for row in rows:
        values = _values(row, columns, faults)
        if values is not None:
            yield row.line, values


def _values(row: Row, columns: Sequence[Column], faults: Faults) -> dict[str, Any] | None:
    before = faults.count
    values: dict[str, Any] = {}
    for column in columns:
        cell = row.cells.get(column.name)
        if cell is None or cell == "":
            values[column.name] = column.default
            if column.needed:
                at = row.columns.get(column.name, 1)
                faults.add(row.line, at, f"there is no {column.name}", f"every row needs {column.name}")
            continue
        try:
            values[column.name] = column.read(cell)
        except (BadCell, QuantityError) as error:
            faults.add(row.line, row.columns[column.name], f"{column.name}: {error.what}", error.fix)
    return values if faults.count == before else None


def _csv(lines: Sequence[str], columns: Sequence[Column], faults: Faults) -> Iterator[Row]:
    if not lines:
        faults.add(1, 1, "the file is empty", f"begin with a heading: {','.join(column.name for column in columns)}")
        return
    heading = [name.strip() for name in _cells(lines[0])[0]]
    if not _known(heading, 1, _cells(lines[0])[1], columns, faults):
        return
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells, places = _cells(line)
        if len(cells) != len(heading):
            what = f"{len(cells)} cells under a heading of {len(heading)}"
            faults.add(number, 1, what, "write one cell for each name of the heading, empty where there is nothing")
            continue
        pairs = zip(heading, cells, strict=True)
        yield Row(number, {name: cell.strip() for name, cell in pairs}, dict(zip(heading, places, strict=True)))


def _cells(line: str) -> tuple[list[str], list[int]]:
    """The cells of a line of CSV, and the column at which each begins."""
    cells = next(csv.reader([line]), [])
    places, quoted = [1], False
    for at, letter in enumerate(line):
        quoted ^= letter == '"'
        if letter == "," and not quoted:
            places.append(at + 2)
    return cells, places


def _json(lines: Sequence[str], columns: Sequence[Column], faults: Faults) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except json.JSONDecodeError as error:
            faults.add(number, error.colno, f"this is no JSON: {error.msg}", "write one JSON object on each line")
            continue
        if not isinstance(found, dict):
            faults.add(number, 1, "this is no JSON object", "write one JSON object on each line")
            continue
        places = {name: _place(line, name) for name in found}
        if _known(list(found), number, list(places.values()), columns, faults):
            yield Row(number, found, places)


def _place(line: str, name: str) -> int:
    found = re.search(re.escape(json.dumps(name)) + r"\s*:\s*", line)
    return found.end() + 1 if found else 1


def _known(names: list[str], line: int, places: list[int], columns: Sequence[Column], faults: Faults) -> bool:
    allowed = [column.name for column in columns]
    before = faults.count
    for at, name in enumerate(names):
        if name not in allowed:
            faults.add(line, places[at], f"{name!r} is no column here", f"there are {', '.join(allowed)}")
        elif name in names[:at]:
            faults.add(line, places[at], f"{name} is there twice", "keep one of them")
    for column in columns:
        if line == 1 and column.needed and column.name not in names:
            faults.add(line, 1, f"there is no column {column.name}", f"add it; needed are {_needed(columns)}")
    return faults.count == before


def _needed(columns: Sequence[Column]) -> str:
    return ", ".join(column.name for column in columns if column.needed)
