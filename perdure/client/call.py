"""One request to the API as data, and how its answer is read. Nothing here does I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any, Generic, ParamSpec, Protocol, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from perdure.codes import UNREADABLE_ANSWER, USAGE
from perdure.errors import PerdureError

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Reply:
    """What came back: status, headers (lower case) and the whole body."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """A request, by the name that the API gives the operation.

    `keyed`: it changes something, and carries an Idempotency-Key so that it may be repeated. `project` is filled in
    from the client's settings when it is None and `scoped`. `file` is sent as the body, read anew for every try.
    `into`: the body of a good answer is written to this file, and the reply has none.
    `answers`: statuses that are answers too, although they usually are refusals. `patience`: seconds without a byte
    after which the answer is given up; None for the client's own.
    """

    operation: str
    method: str
    path: str
    read: Callable[[Reply], T_co]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None
    file: Path | None = None
    into: Path | None = None
    content_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    project: str | None = None
    scoped: bool = True
    keyed: bool = False
    answers: frozenset[int] = frozenset()
    patience: float | None = None


class PageOf(Protocol[T_co]):
    """A page of a list: its items, and the cursor of the next one."""

    @property
    def items(self) -> Sequence[T_co]: ...

    @property
    def next(self) -> str | None: ...


@dataclass(frozen=True)
class Items(Generic[T]):
    """Many things, one after the other: over the pages of a list, or over a stream that may go on for long."""

    pages: Call[PageOf[T]] | None = None
    stream: Call[T] | None = None


def segment(name: str) -> str:
    """A name or id as one part of a path. Raises PerdureError PD-2901 for what would be none, or lead elsewhere."""
    if name in ("", ".", "..") or "/" in name:
        raise PerdureError(USAGE, f"{name!r} is neither a name nor an id", remedy="Give a name as a list shows it.")
    return quote(name, safe="")


def segments(path: str) -> str:
    """A path below another, part by part. Raises PerdureError PD-2901 as `segment` does."""
    return "/".join(segment(part) for part in path.split("/"))


def as_json(body: BaseModel | Mapping[str, Any]) -> bytes:
    """A body as JSON: of a model what was set, so that the API's own defaults hold for the rest."""
    plain = body.model_dump(mode="json", exclude_unset=True) if isinstance(body, BaseModel) else dict(body)
    return json.dumps(plain).encode()


def reading(model: type[M]) -> Callable[[Reply], M]:
    """Reads an answer as a model. Raises PerdureError PD-2902 when it is not one."""

    def read(reply: Reply) -> M:
        try:
            return model.model_validate_json(reply.content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the body"
            raise PerdureError(
                UNREADABLE_ANSWER, f"the answer is no {model.__name__}: {place}: {first['msg']}"
            ) from error

    return read


def paged(make: Callable[P, Call[PageOf[T]]]) -> Callable[P, Items[T]]:
    """The same operation, over all of its pages."""

    @wraps(make)
    def items(*args: P.args, **kwargs: P.kwargs) -> Items[T]:
        return Items(pages=make(*args, **kwargs))

    return items


def next_page(call: Call[T], cursor: str) -> Call[T]:
    """The same list, from where a page ended."""
    return replace(call, query={**call.query, "cursor": cursor})


def nothing(_: Reply) -> None:
    """Reads an answer that has no body."""


def query_items(query: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Query parameters as text: None is left out, a list is repeated, a time carries its zone."""
    items: list[tuple[str, str]] = []
    for name, value in query.items():
        several = value if isinstance(value, list | tuple) else [value]
        items += [(name, _text(each)) for each in several if each is not None]
    return items


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone().isoformat()
    return str(value.value) if isinstance(value, Enum) else str(value)
