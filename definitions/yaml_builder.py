"""Build document trees from a parser's events: one call per event, no recursion, everything bounded.

Faults that leave the rest readable are noted and the reading goes on; the others raise SpecError at once.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from definitions.spec_errors import SpecError, SpecIssue
from definitions.yaml_nodes import Mapping, Mark, Node, Scalar, Sequence
from definitions.yaml_scalars import Plain, doubt, resolve
from definitions.yaml_text import Source

DEEPEST = 50
HEAVIEST = 10_000  # nodes, aliases expanded
_CORE = "tag:yaml.org,2002:"
_CORE_SCALARS: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
}
_UNTAGGED = (None, "!")
_NO_ALIAS = "write the value out, or put it in double quotes if the * belongs to the text"


class _Slot(NamedTuple):
    """A key that waits for its value; the value of a key that cannot be used (None) is left out."""

    key: str | None
    mark: Mark


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is being read."""

    node: Sequence | Mapping
    anchor: str | None
    slot: _Slot | None = None


class Builder:
    """The tree of one document at a time. `weight` is counted over all documents of the text."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._weight = 0
        self.begin_document()

    def begin_document(self) -> None:
        self.root: Node | None = None
        self.issues: list[SpecIssue] = []
        self._anchors: dict[str, Node | None] = {}  # None: not complete, so an alias to it would never end
        self._open: list[_Frame] = []

    def scalar(self, word: str, mark: Mark, *, plain: bool, tag: str | None, anchor: str | None) -> None:
        self._count(1, mark)
        text = self._whole_characters(word, mark)
        node = Scalar(mark, text, plain, self._value(text, mark, plain, tag))
        if plain and (found := doubt(text)):
            self.note("PD-1010", mark, *(("this is read in two ways", "quote it") if self._source.quiet else found))
        if anchor:
            self._anchors[anchor] = node
        self._put(node, mark)

    def begin(self, node: Sequence | Mapping, *, tag: str | None, anchor: str | None) -> None:
        if len(self._open) >= DEEPEST:
            raise self.fatal(
                "PD-1005", node.mark, f"lists and mappings are nested more than {DEEPEST} deep", "flatten it"
            )
        if tag not in (*_UNTAGGED, f"{_CORE}{'seq' if isinstance(node, Sequence) else 'map'}"):
            self._refuse_tag(tag, node.mark)
        self._count(1, node.mark)
        if anchor:
            self._anchors[anchor] = None
        self._open.append(_Frame(node, anchor))

    def end(self) -> None:
        frame = self._open.pop()
        if frame.anchor:
            self._anchors[frame.anchor] = frame.node
        self._put(frame.node, frame.node.mark)

    def alias(self, name: str, mark: Mark) -> None:
        if name not in self._anchors:
            raise self.fatal("PD-1006", mark, f"nothing before it is anchored as &{name}", _NO_ALIAS)
        node = self._anchors[name]
        if node is None:
            raise self.fatal("PD-1006", mark, f"*{name} stands inside of what it repeats, which never ends", _NO_ALIAS)
        if len(self._open) + node.height > DEEPEST:
            what = f"with *{name} written out, the document is nested more than {DEEPEST} deep"
            raise self.fatal("PD-1005", mark, what, "flatten it")
        self._count(node.weight, mark)
        self._put(node, mark)

    def note(self, code: str, mark: Mark, what: str, fix: str) -> None:
        self.issues.append(self._source.issue(code, mark.line, mark.column, what, fix))

    def fatal(self, code: str, mark: Mark, what: str, fix: str) -> SpecError:
        return SpecError([*self.issues, self._source.issue(code, mark.line, mark.column, what, fix)])

    def _put(self, node: Node, mark: Mark) -> None:
        """Put a complete node where it belongs: as key or value into what is open, or at the root."""
        if not self._open:
            self.root = node
            return
        frame = self._open[-1]
        parent = frame.node
        if isinstance(parent, Mapping) and frame.slot is None:
            frame.slot = _Slot(self._key(parent, node, mark), mark)
            return
        parent.weight += node.weight
        parent.height = max(parent.height, node.height + 1)
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif frame.slot is not None and frame.slot.key is not None:
            parent.entries[frame.slot.key] = (frame.slot.mark, node)
        frame.slot = None

    def _key(self, parent: Mapping, node: Node, mark: Mark) -> str | None:
        """The key as text, or None, noted, when it cannot be used."""
        if fault := self._key_fault(parent, node):
            self.note(fault[0], mark, *fault[1:])
            return None
        return str(node.value) if isinstance(node, Scalar) else None

    def _key_fault(self, parent: Mapping, node: Node) -> tuple[str, str, str] | None:
        if not isinstance(node, Scalar):
            return "PD-1008", "a list or mapping is used as a key", "use text as the key"
        if node.plain and node.word == "<<":
            return "PD-1009", "<< merges another mapping only in YAML 1.1", "write the fields out"
        if not isinstance(node.value, str):
            return "PD-1008", f"the key {node.word or 'here'} is not text", f'write "{node.word}"'
        if node.value in parent.entries:
            first, _ = parent.entries[node.value]
            what = f"{node.value} is written twice: here, and on line {first.line}, column {first.column}"
            return "PD-1004", what, "remove one of the two"
        return None

    def _value(self, text: str, mark: Mark, plain: bool, tag: str | None) -> Plain:
        name = str(tag).removeprefix(_CORE)
        try:
            if plain:
                return resolve(text)
            if tag in (*_UNTAGGED, f"{_CORE}str"):
                return text
            if name not in _CORE_SCALARS:
                self._refuse_tag(tag, mark)
                return text
            value = resolve(text)
        except ValueError:
            self.note("PD-1106", mark, "the number has too many digits", "put it in double quotes to make it text")
            return text
        if not isinstance(value, _CORE_SCALARS[name]) or (name != "bool" and isinstance(value, bool)):
            self.note("PD-1007", mark, f"what follows the tag !!{name} is not of that type", "remove the tag")
        return value

    def _whole_characters(self, word: str, mark: Mark) -> str:
        """Join the two halves in which JSON escapes the characters beyond the first 65,536."""
        if not any("\ud800" <= character <= "\udfff" for character in word):
            return word
        try:
            return word.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self.note("PD-1001", mark, "an escape stands for half a character", "write both halves, or the character")
            return word.encode("utf-8", "replace").decode()

    def _refuse_tag(self, tag: Any, mark: Mark) -> None:
        text = str(tag)
        shown = f"!!{text.removeprefix(_CORE)}" if text.startswith(_CORE) else text
        self.note("PD-1007", mark, f"the tag {shown} is not allowed here", "remove the tag")

    def _count(self, weight: int, mark: Mark) -> None:
        self._weight += weight
        if self._weight > HEAVIEST:
            what = f"the text holds more than {HEAVIEST} values, aliases counted as often as they are used"
            raise self.fatal("PD-1002", mark, what, "move data into files that the job reads")
