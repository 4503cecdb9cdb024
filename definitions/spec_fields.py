"""Walk over the fields of a kind: for docs, for "did you mean", and for tests that hold every field to account."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

Loc = tuple[str | int, ...]


class SpecField(NamedTuple):
    """One field. `path` is its outside spelling from the top, `[]` for list entries and `*` for keys of a map."""

    path: str
    alias: str
    owner: type[BaseModel]
    info: FieldInfo
    inner: type[BaseModel] | None  # the model below it, directly or as entry of a list or map

    @property
    def is_leaf(self) -> bool:
        return self.inner is None


def fields_of(model: type[BaseModel], prefix: str = "") -> dict[str, SpecField]:
    """The fields of one model, by outside spelling."""
    found = {}
    for name, info in model.model_fields.items():
        alias = info.alias or name
        found[alias] = SpecField(f"{prefix}{alias}", alias, model, info, inner_model(info.annotation))
    return found


def walk(model: type[BaseModel], prefix: str = "") -> Iterator[SpecField]:
    """Every field at every depth, parents before their children."""
    for field in fields_of(model, prefix).values():
        yield field
        if field.inner is not None:
            yield from walk(field.inner, f"{field.path}{container_mark(field.info.annotation)}.")


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[SpecField]:
    """The fields that hold values rather than further fields."""
    return (field for field in walk(model, prefix) if field.is_leaf)


def field_at(model: type[BaseModel], loc: Loc) -> SpecField | None:
    """The field at a place in a document; None where none is declared."""
    owner = type_at(model, loc[:-1])
    if not isinstance(owner, type) or not issubclass(owner, BaseModel):
        return None
    return fields_of(owner).get(str(loc[-1]))


def type_at(model: type[BaseModel], loc: Loc) -> Any:
    """The type expected at a place in a document, optional and annotations removed; None where none is declared."""
    here: Any = model
    for step in loc:
        here = _step(core_of(here), step)
        if here is None:
            return None
    return core_of(here)


def bounds_of(info: FieldInfo) -> dict[str, Any]:
    """The least and greatest value that a field takes, by `ge`, `gt`, `le` and `lt`."""
    kinds = (Ge, Gt, Le, Lt)
    return {
        kind.__name__.lower(): getattr(entry, kind.__name__.lower())
        for entry in info.metadata
        for kind in kinds
        if isinstance(entry, kind)
    }


def inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model inside an annotation, through optional, list and map."""
    core = core_of(annotation)
    if isinstance(core, type) and issubclass(core, BaseModel):
        return core
    origin, args = get_origin(core), get_args(core)
    if origin is tuple:
        return inner_model(args[0])
    if origin is dict:
        return inner_model(args[1])
    return None


def container_mark(annotation: Any) -> str:
    origin = get_origin(core_of(annotation))
    return "[]" if origin is tuple else ".*" if origin is dict else ""


def core_of(annotation: Any) -> Any:
    """The type itself: without what is annotated on it, and without `| None`."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, UnionType):
            rest = [arg for arg in get_args(annotation) if arg is not NoneType]
            if len(rest) != 1:
                return annotation
            annotation = rest[0]
        else:
            return annotation


def literals(annotation: Any) -> tuple[str, ...]:
    """The words of a Literal, else nothing."""
    core = core_of(annotation)
    return get_args(core) if get_origin(core) is Literal else ()


def _step(core: Any, step: str | int) -> Any:
    if isinstance(core, type) and issubclass(core, BaseModel):
        field = fields_of(core).get(str(step))
        return None if field is None else field.info.annotation
    origin, args = get_origin(core), get_args(core)
    if origin is tuple and isinstance(step, int):
        return args[0]
    return args[1] if origin is dict else None
