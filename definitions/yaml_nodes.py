"""A document as a tree whose every node knows its place."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from definitions.spec_fields import Loc
from definitions.yaml_scalars import Plain


class Mark(NamedTuple):
    """A place in a text; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    mark: Mark
    word: str  # as it stands in the text when plain, else what the quotes mean
    plain: bool
    value: Plain
    weight: int = 1
    height: int = 0


@dataclass(slots=True)
class Sequence:
    mark: Mark
    items: list["Node"] = field(default_factory=list)
    weight: int = 1  # nodes in it, aliases counted as often as they are used
    height: int = 1  # levels of lists and mappings, itself included


@dataclass(slots=True)
class Mapping:
    mark: Mark
    entries: dict[str, tuple[Mark, "Node"]] = field(default_factory=dict)  # by key: place of the key, and value
    weight: int = 1
    height: int = 1


Node = Scalar | Sequence | Mapping


def data_of(node: Node) -> Any:
    """Plain data: what a JSON parser would give. Safe to recurse: the loader has bounded the depth."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [data_of(item) for item in node.items]
    return {key: data_of(value) for key, (_, value) in node.entries.items()}


def locate(root: Node, loc: Loc, *, key: bool = False) -> tuple[Mark, Node | None]:
    """The place of a field, or of its key, and its node. What is not there is placed at the nearest key above it."""
    here, mark = root, root.mark
    for step in loc:
        if isinstance(here, Mapping) and step in here.entries:
            mark, here = here.entries[str(step)]
        elif isinstance(here, Sequence) and isinstance(step, int) and step < len(here.items):
            here = here.items[step]
            mark = here.mark
        else:
            return mark, None
    return (mark if key or not isinstance(here, Scalar) else here.mark), here
