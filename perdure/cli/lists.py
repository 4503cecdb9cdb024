"""Lists: one page, all pages, or as they change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pydantic import BaseModel

    from perdure.cli.output import Out, Shape
    from perdure.client import Client
    from perdure.client.call import Call

INTERVAL = 2.0  # seconds between two looks of --watch


class Listed(Protocol):
    """A page of any kind of thing."""

    @property
    def items(self) -> Sequence[BaseModel]: ...

    @property
    def next(self) -> str | None: ...


def show_list(
    client: Client,
    out: Out,
    shape: Shape,
    make: Callable[..., Call[Any]],
    *,
    limit: int | None,
    cursor: str | None,
    whole: bool,
) -> None:
    """Print one page, or with `whole` every page as one list."""
    from perdure.client.call import Items

    if whole:
        out.many(list(client.iterate(Items(pages=make(limit=limit or 500, cursor=cursor)))), shape)
        return
    page: Listed = client.call(make(limit=limit, cursor=cursor))
    out.many(page.items, shape, next=page.next)


def changes(look: Callable[[], Sequence[Any]], key: Callable[[Any], object]) -> Iterator[Any]:
    """Everything there is, then whatever has changed since, for ever. `key` tells one state of a thing from another."""
    known: set[object] = set()
    while True:
        seen = look()
        yield from (item for item in reversed(seen) if key(item) not in known)
        known = {key(item) for item in seen}
        time.sleep(INTERVAL)
