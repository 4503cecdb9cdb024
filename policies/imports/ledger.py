"""Reads a document so that nothing of it is lost in silence: what nobody asked for ends as a note of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from definitions.importing import ImportNote, NoteKind
from definitions.spec_errors import dotted
from definitions.spec_fields import Loc
from definitions.yaml_nodes import Mapping, Mark, Node, Sequence, data_of

NOTHING_LIKE_IT = "a job here has nothing like it"


class Ledger:
    """What was taken from a document, and what is to be said of the rest. `reasons`: why a field goes, by its name."""

    def __init__(self, reasons: dict[str, str]) -> None:
        self._reasons = reasons
        self._notes: list[ImportNote] = []
        self._settled: set[int] = set()

    def settle(self, item: Item) -> Any:
        """Take a value, whole."""
        self._settled.add(id(item.node))
        return data_of(item.node)

    def changed(self, item: Item, what: str) -> None:
        self._note(NoteKind.CHANGED, item, what)

    def dropped(self, item: Item, what: str) -> None:
        """Say why a field goes, with everything in it."""
        self._settled.add(id(item.node))
        self._note(NoteKind.DROPPED, item, what)

    def needed(self, item: Item, what: str) -> None:
        self._note(NoteKind.NEEDED, item, what)

    def notes(self, root: Item) -> tuple[ImportNote, ...]:
        """Everything to be said, by line; first of all what was never asked for is written down as dropped."""
        for item in self._leftovers(root):
            self.dropped(item, self._reasons.get(str(item.loc[-1]), NOTHING_LIKE_IT))
        return tuple(sorted(self._notes, key=lambda note: (note.line, note.column, note.path)))

    def _note(self, kind: NoteKind, item: Item, what: str) -> None:
        place = {"line": item.mark.line, "column": item.mark.column, "path": dotted(item.loc)}
        note = ImportNote(kind=kind, what=what, **place)
        said = ((other.line, other.column, other.what) for other in self._notes)  # an alias shows one line twice
        if (note.line, note.column, note.what) not in said:
            self._notes.append(note)

    def _leftovers(self, item: Item) -> Iterator[Item]:
        """The highest nodes of which nothing was taken. What holds nothing is not missed."""
        if id(item.node) in self._settled:
            return
        children = list(item.children())
        explained = item.loc and item.name in self._reasons
        if any(self._is_touched(c) or (not explained and c.name in self._reasons) for c in children):
            for child in children:
                yield from self._leftovers(child)
        elif item.loc and data_of(item.node) not in (None, {}, []):
            yield item

    def _is_touched(self, item: Item) -> bool:
        return id(item.node) in self._settled or any(self._is_touched(child) for child in item.children())


@dataclass(frozen=True)
class Item:
    """A node with its place. Absent fields are None, so that chains of `at` need no questions in between."""

    ledger: Ledger
    node: Node
    mark: Mark
    loc: Loc = ()

    def at(self, *keys: str) -> Item | None:
        """The field below; None when it, or anything above it, is not there."""
        here: Item = self
        for key in keys:
            if not isinstance(here.node, Mapping) or key not in here.node.entries:
                return None
            mark, node = here.node.entries[key]
            here = Item(self.ledger, node, mark, (*here.loc, key))
        return here

    def take(self, *keys: str) -> Any:
        """The field's value, taken; None when it is not there."""
        found = self.at(*keys)
        return None if found is None else self.ledger.settle(found)

    def children(self) -> Iterator[Item]:
        if isinstance(self.node, Mapping):
            for key, (mark, node) in self.node.entries.items():
                yield Item(self.ledger, node, mark, (*self.loc, key))
        elif isinstance(self.node, Sequence):
            for index, node in enumerate(self.node.items):
                yield Item(self.ledger, node, node.mark, (*self.loc, index))

    def each(self, *keys: str) -> list[Item]:
        """The entries of a list or mapping below; none when it is not there."""
        found = self.at(*keys)
        return [] if found is None else list(found.children())

    @property
    def name(self) -> str:
        return str(self.loc[-1])
