"""The reference of each kind, in Markdown, and help for single fields: both made from the models."""

from collections.abc import Iterator
from datetime import timedelta
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from definitions.documents import KINDS
from definitions.job import Job
from definitions.job_workload import EnvValue
from definitions.quantities import format_cpus, format_duration, format_size
from definitions.refusals import refusal_of, served_with
from definitions.spec_fields import SpecField, bounds_of, container_mark, core_of, fields_of, literals
from definitions.spec_types import Cpus, Label, Size
from definitions.yaml_writer import flow

_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
_HEAD = "| Field | Type | Default | Meaning |\n| --- | --- | --- | --- |"


def reference(kind: str) -> str:
    """Every field of a kind, one table per group of fields. `kind`: one of KINDS."""
    model = KINDS[kind]
    return "\n\n".join(_sections(model, "", refusable=model is Job)) + "\n"


def _sections(model: type[BaseModel], prefix: str, *, refusable: bool) -> Iterator[str]:
    fields = fields_of(model, prefix)
    title = f"## `{prefix.rstrip('.')}`\n\n" if prefix else ""
    said = f"{_first_paragraph(model)}\n\n" if prefix else ""
    yield f"{title}{said}{_HEAD}\n" + "\n".join(_row(field, refusable) for field in fields.values())
    for field in fields.values():
        if field.inner is not None and field.inner not in (EnvValue, Job):
            below = f"{field.path}{container_mark(field.info.annotation)}."
            yield from _sections(field.inner, below, refusable=refusable)


def _row(field: SpecField, refusable: bool) -> str:
    meaning = field.info.description or ""
    path = field.path.removeprefix("spec.")
    refused = refusal_of(path) if refusable else None
    if refusable and (named := served_with(path)):
        meaning += f" **Only with {' or '.join(f'`{word}`' for word in named)}.**"
    if refused is not None:
        meaning += f" **Refused here** ({refused.code}): needs {refused.subsystem}."
    elif field.info.examples and field.inner is None:
        meaning += f" Example: `{flow(field.info.examples[0])}`."
    cells = (f"`{field.alias}`", _type(field), _default(field), meaning)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _type(field: SpecField) -> str:
    bounds = [f"{_SIGNS[kind]} {_spelled(value, field.info)}" for kind, value in bounds_of(field.info).items()]
    return ", ".join([_type_of(field.info.annotation, field.info.metadata, field.path), *bounds])


def _type_of(annotation: Any, metadata: list[Any], path: str) -> str:
    if labels := _labels(annotation, metadata):
        return labels[-1]
    core = core_of(annotation)
    origin, args = get_origin(core), get_args(core)
    if words := literals(core):
        return " or ".join(f"`{word}`" for word in words)
    if origin in (tuple, dict):
        inner, below = (args[0], "[]") if origin is tuple else (args[1], ".*")
        return f"{'list' if origin is tuple else 'map'} of {_type_of(inner, [], path + below)}"
    if isinstance(core, type) and issubclass(core, Enum):
        return ", ".join(f"`{member.value}`" for member in core)
    if isinstance(core, type) and issubclass(core, BaseModel):
        return _fields_at(core, path)
    return "text" if getattr(core, "__name__", "") in ("str", "SecretStr") else "any value"


def _fields_at(model: type[BaseModel], path: str) -> str:
    if model is EnvValue:
        return "text, or `{secret: NAME}`"
    if model is Job:
        return "a Job document"
    anchor = "".join(character for character in path.lower() if character.isalnum())
    return f"[fields](#{anchor})"


def _default(field: SpecField) -> str:
    default = field.info.default
    if default is PydanticUndefined:
        return "**required**"
    if default is None or default in ((), {}) or isinstance(default, BaseModel):
        return ""
    return f"`{_spelled(default, field.info)}`"


def _spelled(value: Any, info: FieldInfo) -> str:
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, Enum):
        return str(value.value)
    labels = _labels(info.annotation, info.metadata)
    if isinstance(value, int) and not isinstance(value, bool) and value:
        if _labels(Size, [])[0] in labels:
            return format_size(value)
        if _labels(Cpus, [])[0] in labels:
            return format_cpus(value)
    return flow(list(value) if isinstance(value, tuple) else value)


def _labels(annotation: Any, metadata: list[Any]) -> list[str]:
    """What a type calls itself, the most special word last; types inside of a list or map do not count."""
    found: list[Any] = []
    for arg in (annotation, *(get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ())):
        if get_origin(arg) is Annotated:
            found += get_args(arg)[1:]
    return [entry.text for entry in [*found, *metadata] if isinstance(entry, Label)]


def _first_paragraph(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())
