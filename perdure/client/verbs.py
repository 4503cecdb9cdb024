"""Verbs exist once. `Verb(operation)` is a method of the synchronous client that returns the answer, and a method of
the asynchronous one that returns an awaitable of it; the types say which.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from perdure.client.call import Call, Items

if TYPE_CHECKING:
    from perdure.client.aio import AsyncClient
    from perdure.client.sync import Client

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", "Client", "AsyncClient")


class Group(Generic[C]):
    """Verbs about one kind of thing, bound to a client."""

    def __init__(self, client: C) -> None:
        self._client: C = client


class Thing(Generic[C]):
    """Verbs about one particular thing of a project."""

    def __init__(self, client: C, id: str, project: str | None) -> None:
        self._client: C = client
        self.id = id
        self.project = project


class Verb(Generic[P, T]):
    """An operation as a method of a group."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self.make = make

    @overload
    def __get__(self, group: Group[Client], owner: type) -> Callable[P, T]: ...

    @overload
    def __get__(self, group: Group[AsyncClient], owner: type) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, group: Group[Any], owner: type) -> Any:
        return _method(self.make, group._client.call)


class Iterate(Generic[P, T]):
    """Many things as a method of a group that returns an iterator."""

    def __init__(self, make: Callable[P, Items[T]]) -> None:
        self.make = make

    @overload
    def __get__(self, group: Group[Client], owner: type) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(self, group: Group[AsyncClient], owner: type) -> Callable[P, AsyncIterator[T]]: ...

    def __get__(self, group: Group[Any], owner: type) -> Any:
        return _method(self.make, group._client.iterate)


class OwnVerb(Generic[P, T]):
    """An operation as a method of a thing: its id and its project are filled in."""

    def __init__(self, make: Callable[Concatenate[str, P], Call[T]]) -> None:
        self.make = make

    @overload
    def __get__(self, thing: Thing[Client], owner: type) -> Callable[P, T]: ...

    @overload
    def __get__(self, thing: Thing[AsyncClient], owner: type) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, thing: Thing[Any], owner: type) -> Any:
        return _method(self.make, thing._client.call, thing)


class OwnIterate(Generic[P, T]):
    """Many things as a method of a thing that returns an iterator."""

    def __init__(self, make: Callable[Concatenate[str, P], Items[T]]) -> None:
        self.make = make

    @overload
    def __get__(self, thing: Thing[Client], owner: type) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(self, thing: Thing[AsyncClient], owner: type) -> Callable[P, AsyncIterator[T]]: ...

    def __get__(self, thing: Thing[Any], owner: type) -> Any:
        return _method(self.make, thing._client.iterate, thing)


def _method(make: Callable[..., Any], act: Callable[[Any], Any], thing: Thing[Any] | None = None) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        if thing is None:
            return act(make(*args, **kwargs))
        return act(make(thing.id, *args, **{"project": thing.project, **kwargs}))

    return update_wrapper(method, make)
