"""Read YAML (and JSON, which is YAML) into trees that know their places.

Scalars follow the core schema of YAML 1.2. Everything that tools disagree about is refused: duplicate keys, merge
keys, tags, keys that are no text, unquoted words with two meanings. Size, depth and expanded aliases are bounded, and
the text is read event by event without recursion, so that no text can exhaust the process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from definitions.spec_errors import SpecIssue, raise_issues
from definitions.yaml_builder import Builder
from definitions.yaml_nodes import Mapping, Mark, Node, Scalar, Sequence, data_of
from definitions.yaml_syntax import advise
from definitions.yaml_text import Source


@dataclass(frozen=True)
class Document:
    """One document of a text. `issues`: faults that did not keep the rest of it from being read."""

    source: Source
    root: Node
    issues: tuple[SpecIssue, ...]

    @property
    def data(self) -> Any:
        return data_of(self.root)


def load(text: str | bytes, *, source: str) -> list[Document]:
    """Read every document of a text. Raises SpecError, and nothing else, with every fault found."""
    documents = read(text, source=source)
    raise_issues([issue for document in documents for issue in document.issues])
    return documents


def read(text: str | bytes, *, source: str) -> list[Document]:
    """Like `load`, but faults that leave the rest readable are kept beside each document.

    Empty documents are left out.
    """
    return list(_documents(Source(text, source)))


def _documents(source: Source) -> Iterator[Document]:
    builder = Builder(source)
    for event in _events(source, builder):
        mark = _mark(event.start_mark)
        match event:
            case yaml.DocumentStartEvent(version=version):
                builder.begin_document()
                if version and version != (1, 2):
                    builder.note("PD-1013", mark, "a %YAML line asks for another version", "remove the line")
            case yaml.ScalarEvent(value=word, style=style, tag=tag, anchor=anchor):
                builder.scalar(str(word), mark, plain=not style and tag is None, tag=tag, anchor=anchor)
            case yaml.AliasEvent(anchor=name):
                builder.alias(str(name), mark)
            case yaml.SequenceStartEvent(tag=tag, anchor=anchor):
                builder.begin(Sequence(mark), tag=tag, anchor=anchor)
            case yaml.MappingStartEvent(tag=tag, anchor=anchor):
                builder.begin(Mapping(mark), tag=tag, anchor=anchor)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                builder.end()
            case yaml.DocumentEndEvent() if builder.root is not None and not _is_empty(builder.root):
                yield Document(source, builder.root, tuple(builder.issues))


def _events(source: Source, builder: Builder) -> Iterator[yaml.Event]:
    """The parser's events; its errors become ours, with what was noted before."""
    last = Mark(1, 1)
    try:
        for event in yaml.parse(source.text, Loader=yaml.SafeLoader):
            last = _mark(event.end_mark)
            yield event
    except yaml.MarkedYAMLError as error:
        advice = advise(error.context, error.problem)
        began = error.context_mark if advice.at_context else None
        place = began or error.problem_mark or error.context_mark
        raise builder.fatal(advice.code, _mark(place) if place else last, advice.what, advice.fix) from None
    except (ValueError, OverflowError):  # the parser hands escapes beyond Unicode to chr()
        raise builder.fatal("PD-1003", last, "after this, an escape names no character", "correct the escape") from None


def _is_empty(root: Node) -> bool:
    return isinstance(root, Scalar) and root.plain and root.value is None


def _mark(mark: Any) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)
