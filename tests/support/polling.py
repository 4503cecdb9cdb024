"""Waiting for something to become true, with a deadline, instead of sleeping and hoping."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
FIRST_PAUSE = 0.01
LONGEST_PAUSE = 0.25


def eventually(predicate: Callable[[], T | None], deadline: float = 10.0, what: str = "") -> T:
    """The first truthy value of `predicate`, asked again and again for at most `deadline` seconds.

    Raises AssertionError naming `what` and the last answer. The predicate's own errors pass through.
    """
    ends = time.monotonic() + deadline
    pause = FIRST_PAUSE
    while not (value := predicate()):
        if time.monotonic() >= ends:
            raise AssertionError(_verdict(predicate, deadline, what, value))
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)
    return value


@overload
async def eventually_async(
    predicate: Callable[[], Awaitable[T | None]], deadline: float = ..., what: str = ...
) -> T: ...


@overload
async def eventually_async(predicate: Callable[[], T | None], deadline: float = ..., what: str = ...) -> T: ...


async def eventually_async(predicate: Callable[[], Any], deadline: float = 10.0, what: str = "") -> Any:
    """`eventually` for a running event loop; the predicate may be a coroutine function."""
    ends = asyncio.get_running_loop().time() + deadline
    pause = FIRST_PAUSE
    while True:
        answer = predicate()
        value = await answer if inspect.isawaitable(answer) else answer
        if value:
            return value
        if asyncio.get_running_loop().time() >= ends:
            raise AssertionError(_verdict(predicate, deadline, what, value))
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _verdict(predicate: Callable[..., object], deadline: float, what: str, value: object) -> str:
    name = what or getattr(predicate, "__qualname__", repr(predicate))
    return f"not within {deadline} s: {name} (last answer: {value!r})"
