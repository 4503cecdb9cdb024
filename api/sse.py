"""Server-sent events: entries as they come, a sign of life while idle, and an end that says so."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from api.deps import ApiDeps

STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(frozen=True)
class Entry:
    """One entry. `id` comes back as Last-Event-ID and continues after it."""

    id: str
    event: str
    data: BaseModel


@dataclass(frozen=True)
class Batch:
    """What is new. `last`: nothing more will ever come."""

    entries: Sequence[Entry]
    last: bool = False


Poll = Callable[[], Awaitable[Batch]]


def streaming(deps: ApiDeps, poll: Poll) -> StreamingResponse:
    """Answer with what `poll` gives, asked again and again; it keeps its own place.

    The stream ends with an `end` entry. One that closes without it (time limit, a server that stops) is to be opened
    again with the last id.
    """
    return StreamingResponse(_entries(deps, poll), media_type="text/event-stream", headers=HEADERS)


async def _entries(deps: ApiDeps, poll: Poll) -> AsyncIterator[bytes]:
    settings = deps.settings
    opened = told = deps.now()
    yield b"retry: 1000\n\n"
    while deps.now() - opened < settings.limits.stream:
        batch = await poll()
        for entry in batch.entries:
            yield _spell(entry.event, entry.data.model_dump_json(by_alias=True), entry.id)
        if batch.last:
            yield _spell("end", "{}")
            return
        if batch.entries:
            told = deps.now()
        elif deps.now() - told >= settings.heartbeat:
            told = deps.now()
            yield _spell("heartbeat", "{}")
        await deps.sleep(settings.poll.total_seconds())


def _spell(event: str, data: str, identity: str | None = None) -> bytes:
    """JSON holds no line break, so one data line is enough."""
    number = f"id: {identity}\n" if identity is not None else ""
    return f"{number}event: {event}\ndata: {data}\n\n".encode()
